"""Parts of an infill that the user has written: the search writes them and nothing else there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from syntagma.network.config import ModelConfig
from syntagma.search.constraints.base import Allowed, Constraint
from syntagma.search.constraints.grammar import PART
from syntagma.search.hypothesis import IdTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syntagma.search.task import InfillTask


class _Pinned(NamedTuple):
    """The pins of an infill, which part is open, what of it is still to write, and whether it is pinned."""

    pins: Mapping[int, IdTuple]
    part: int
    forced: IdTuple
    pinned: bool


class PinConstraint(Constraint):
    """The pins of each hypothesis, whatever else holds."""

    def __init__(self, config: ModelConfig) -> None:
        self.config = config

    def begin(self, task: InfillTask) -> _Pinned | None:
        """Before the first part; None where nothing is pinned."""
        return _Pinned(task.hypothesis.pins, 0, (), False) if task.hypothesis.pins else None

    def mask(self, state: _Pinned, allowed: Allowed) -> None:
        """In a pinned part only the user's next token may come, then what closes the part."""
        if state.forced:
            allowed.only = state.forced[0]
        elif state.pinned:
            allowed.only = self.config.part if allowed.state.closing == PART else self.config.end

    def advance(self, state: _Pinned, token: int) -> _Pinned:
        """One token further, or in the next part."""
        if token == self.config.part:
            forced = state.pins.get(state.part + 1, ())
            return _Pinned(state.pins, state.part + 1, forced, bool(forced))
        return state._replace(forced=state.forced[1:]) if state.forced else state
