from __future__ import annotations

import pytest

from search_models import random_generator
from syntagma.search import Steering
from syntagma.search.hypothesis import Infill
from syntagma.text import Subwords, split

SUBWORDS = Subwords.train([split("The phone rang. the phone Rang").words] * 9, size=300)


@pytest.mark.parametrize(
    ("source", "kept"),
    [("The phone rang", ["The phone rang", "rang"]), ("the phone rang", None), ('"The phone', None)],
)
def test_a_text_begins_with_a_capital_where_its_source_does(source: str, kept: list[str] | None) -> None:
    generator = random_generator(SUBWORDS, 5)
    request = generator.request(0, source, Steering(), generator.defaults.changed({"keep_capital": True}))
    (task,) = request.next_tasks()
    label, part = SUBWORDS.label_id("NP"), request.config.part
    texts = [SUBWORDS.encode("the phone rang"), SUBWORDS.encode("The phone rang"), [label, *SUBWORDS.encode("rang")]]
    scores = [-0.1 * rank for rank in range(3)]
    request.complete(task, [Infill((part, *ids), score, score) for ids, score in zip(texts, scores, strict=True)])
    request.advance()
    expected = ["the phone rang", "The phone rang", "rang"] if kept is None else kept
    assert [SUBWORDS.decode(hypothesis.ids) for hypothesis in request.beam] == expected
