from __future__ import annotations

import pytest

from search_models import random_generator
from syntagma.search import Steering
from syntagma.search.constraints.ngrams import repeats_ngram
from syntagma.search.hypothesis import Infill
from syntagma.text import Subwords, split

SUBWORDS = Subwords.train([split("When the phone rang, I was about to leave the house.").words] * 3, size=330)


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("When the phone rang, I left when the phone rang.", 3, True),
        ("When the phone rang, I left when the phone rang.", 4, True),
        ("When the phone rang, I left when the phone rang.", 5, False),
        ("The phone rang, I heard the phone.", 3, False),
        ("The phone rang, I heard the phone.", 2, True),
        ("the . the . the .", 2, True),  # punctuation does not keep words apart
    ],
)
def test_words_in_a_row_that_stand_twice(text: str, size: int, expected: bool) -> None:
    assert repeats_ngram(SUBWORDS.encode(text), size, SUBWORDS) == expected


def test_a_label_keeps_words_apart() -> None:
    first, second, label = SUBWORDS.encode("the phone rang"), SUBWORDS.encode("the phone"), SUBWORDS.label_id("NP")
    assert not repeats_ngram([*first, *second, label, *SUBWORDS.encode("rang")], 3, SUBWORDS)
    assert repeats_ngram([*first, label, *first], 3, SUBWORDS)


@pytest.mark.parametrize(
    ("source", "kept"),
    [("the phone rang", ["the phone rang"]), ("the phone rang and the phone rang", None)],
    ids=["it is left out", "the source does it too"],
)
@pytest.mark.parametrize("size", [0, 3])
def test_the_search_leaves_it_out(source: str, kept: list[str] | None, size: int) -> None:
    generator = random_generator(SUBWORDS, 5)
    request = generator.request(0, source, Steering(), generator.defaults.changed({"no_repeat_ngram_size": size}))
    (task,) = request.next_tasks()
    texts = ["the phone rang , the phone rang", "the phone rang"]
    infills = [(request.config.part, *SUBWORDS.encode(text)) for text in texts]
    request.complete(task, [Infill(infill, -0.1 * rank, -0.1 * rank) for rank, infill in enumerate(infills)])
    request.advance()
    expected = texts if kept is None or size == 0 else kept
    assert [SUBWORDS.decode(hypothesis.ids) for hypothesis in request.beam] == expected
