from __future__ import annotations

import pytest

from serve_models import growing_generator
from syntagma.errors import ConfigError


def test_what_lacks_a_required_label_is_left() -> None:
    growth = growing_generator().grow("I ate an apple.")
    growth.replace(0, "<NP> ate .").require(labels=["PP"]).step()
    assert growth.beam
    assert all("<PP>" in entry.context for entry in growth.beam)
    assert any("<PP>" not in entry.context for entry in growth.lost)
    growth.undo().require(labels=["VP"]).forbid(labels=["VP"])
    with pytest.raises(ConfigError, match="no output meets the constraints"):
        growth.step()


def test_a_required_label_is_required_of_the_next_infill_only() -> None:
    growth = growing_generator().grow("I ate an apple.")
    growth.replace(0, "<NP> ate .").require(labels=["PP"])
    best = growth.finish()[0]
    assert best.tree is not None
    assert "(PP " in str(best.tree)
