"""Searches of a model whose probabilities are written down: what each rule of the search does can be read off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from search_models import TEXTS, ScriptedRuntime
from syntagma.search import Generator, SearchOptions
from syntagma.text import Subwords, split
from syntagma.text.subwords import END

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
PIECES = [SUBWORDS.piece(token) for token in range(SUBWORDS.size)]
A, B, C, D = (PIECES.index(letter) for letter in (b"a", b"b", b"c", b"d"))


def search(script: dict[str, dict[int, float]], **options: Any) -> list[tuple[str, float]]:
    """Texts and scores; what the script does not name is out of the question."""

    def likely(before: tuple[int, ...]) -> Any:
        scores = np.full(SUBWORDS.size, -50.0)
        written = b"".join(PIECES[token] for token in before[1:]).decode()
        for token, score in script.get(written, {END: -9.0}).items():
            scores[token] = score
        return scores

    runtime = ScriptedRuntime(SUBWORDS, likely)
    settings = SearchOptions.from_dict({"beam": 2, "max_depth": 1, "max_tokens": 9, "alpha": 0.0} | options)
    return [(output.text, round(output.score, 3)) for output in Generator(runtime, SUBWORDS, settings)(TEXTS[0])]


COMPETING = {
    "": {A: -0.1, B: -0.2},
    "a": {END: -1.0, C: -0.5},
    "b": {END: -3.0, D: -1.0},
    "ac": {END: -5.0},
    "bd": {END: -0.1},
}
"""After two tokens: `ac` -0.6, `a` done -1.1, `bd` -1.2.  So `a` takes the second place of the beam from `bd`."""


@pytest.mark.parametrize("bounds", [True, False])
def test_with_sums_what_is_finished_competes_with_what_is_not(bounds: bool) -> None:
    assert search(COMPETING, score="sum", bounds=bounds) == [("a", -1.1), ("ac", -5.6)]


def test_with_means_what_is_finished_leaves_the_competition() -> None:
    assert search(COMPETING, score="mean") == [("bd", -0.325), ("a", -0.367)]


PRUNED = {"": {A: -0.1, B: -1.2, C: -1.4}, "a": {END: -2.0}, "b": {END: -0.1}, "c": {END: -0.1}}


@pytest.mark.parametrize(
    ("prune", "texts"), [(0, ["b", "c", "a"]), (1.35, ["b", "c", "a"]), (1.25, ["b", "a"]), (1.05, ["a"])]
)
def test_what_is_worse_than_the_best_by_more_than_the_margin_is_pruned(prune: float, texts: list[str]) -> None:
    assert [text for text, _ in search(PRUNED, beam=3, prune=prune)] == texts
