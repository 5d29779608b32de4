from __future__ import annotations

import pytest

from syntagma.metrics.base import Segment
from syntagma.metrics.sari import Sari

SOURCE = "About 95 species are currently accepted ."
REFERENCES = (
    "About 95 species are currently known .",
    "About 95 species are now accepted .",
    "95 species are now accepted .",
)


def sari(output: str, references: tuple[str, ...] = REFERENCES, source: str = SOURCE) -> float:
    return Sari().corpus([Segment(output, references, source)])[0].value


def test_the_example_of_the_metric_s_authors() -> None:
    """The figure that the usual implementation documents for this example."""
    assert sari("About 95 you now get in .") == pytest.approx(26.9536, abs=1e-3)


def test_better_outputs_score_higher() -> None:
    assert sari("About 95 you now get in .") < sari(SOURCE) < sari("About 95 species are now accepted .")
    assert sari("He left .", ("He left .",), "He left .") == pytest.approx(100)
    assert (
        sari("He left .", ("He went .",), "He departed .") < sari("He went .", ("He went .",), "He departed .") == 100
    )
