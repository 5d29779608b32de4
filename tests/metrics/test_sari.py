"""SARI in EASSE's convention.

The pinned figures are what EASSE gives for the same sentences.  On its TurkCorpus test set this implementation gives
41.381013 for the outputs of ACCESS, as EASSE's own tests say, and 26.29 for the sources themselves.
"""

from __future__ import annotations

from typing import Literal

import pytest

from syntagma.metrics.base import Segment
from syntagma.metrics.sari import Sari

SOURCE = "About 95 species are currently accepted ."
REFERENCES = (
    "About 95 species are currently known .",
    "About 95 species are now accepted .",
    "95 species are now accepted .",
)
BAD, BETTER = "About 95 you now get in .", "About 95 species are now agreed ."


def sari(*segments: tuple[str, tuple[str, ...], str], deletion: Literal["f1", "precision"] = "f1") -> float:
    return Sari(deletion).corpus([Segment(*one) for one in segments])[0].value


@pytest.mark.parametrize(
    ("output", "f1", "precision"),
    [
        (BAD, 31.3502, 26.9536),
        (BETTER, 63.2374, 61.7097),
        (REFERENCES[1], 76.9635, 78.2914),
        (SOURCE, 21.8732, 21.8732),
    ],
)
def test_the_figures_of_the_published_implementation(output: str, f1: float, precision: float) -> None:
    one = (output, REFERENCES, SOURCE)
    assert sari(one) == pytest.approx(f1, abs=1e-4)
    assert sari(one, deletion="precision") == pytest.approx(precision, abs=1e-4)


def test_counts_are_summed_over_the_corpus() -> None:
    """One addition, right, among two that were wanted: precision 1, recall 1/2; the mean of segments would be 1/2."""
    done = ("a b", ("a b",), "a")
    missed = ("c", ("c d",), "c")
    added, kept, deleted = (2 / 3 + 2 / 3) / 4, 1 / 4, 0.0
    assert sari(done, missed) == pytest.approx(100 * (added + kept + deleted) / 3)


def test_what_was_never_done_scores_nothing() -> None:
    """A perfect copy of a perfect source adds and deletes nothing: a third of the figure is all there is to have."""
    text = "he left the house ."
    assert sari((text, (text,), text)) == pytest.approx(100 / 3)
    assert sari(("he left .", ("he left .",), text)) > sari((text, ("he left .",), text))


def test_words_are_cut_and_lowered_as_in_published_results() -> None:
    assert sari(("About 95 Species are now agreed.", REFERENCES, SOURCE)) == pytest.approx(
        sari((BETTER, REFERENCES, SOURCE))
    )
    assert Sari().signature().startswith("SARI|convention:EASSE|level:corpus|case:lc|tok:13a|order:4|deletion:f1|")
