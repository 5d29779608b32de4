"""Under hard control, texts that a parser too gives the template's shape come first."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from search_models import TEXTS, random_model
from syntagma.runtime.folder import torch_runtime
from syntagma.search import Generator, SearchOptions
from syntagma.text import Subwords, split
from syntagma.tree import Tree, read_tree

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
TEMPLATE = "(S (NP) (VP))"


class OneAgrees:
    """A parser that finds the template's shape in the text at one place of the list alone."""

    def __init__(self, place: int) -> None:
        self.place = place

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        shapes = ["(TOP (S (NP (X a)) (VP (X b))))" if n == self.place else "(TOP (NP (X a)))" for n in range(9)]
        return [read_tree(shape) for shape in shapes[: len(sentences)]]


@pytest.mark.parametrize("place", [0, 2])
def test_what_the_parser_agrees_with_comes_first(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("syntagma.search.outcome.exemplar_parser", lambda: OneAgrees(place))
    generator = Generator(torch_runtime(random_model(SUBWORDS)), SUBWORDS, SearchOptions(max_depth=3, max_tokens=8))
    plain = [one.text for one in generator(TEXTS[0], nbest=4, template=TEMPLATE, control="hard")]
    checked = generator(TEXTS[0], nbest=4, template=TEMPLATE, control="hard", check_template=True)
    assert len(plain) == 4
    assert [one.text for one in checked] == [plain[place], *plain[:place], *plain[place + 1 :]]
    soft = generator(TEXTS[0], nbest=4, template=TEMPLATE, check_template=True)
    assert [one.text for one in soft] == [one.text for one in generator(TEXTS[0], nbest=4, template=TEMPLATE)]
