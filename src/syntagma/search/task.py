"""A context whose infill is to be found, and what its search is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from syntagma.search.constraints.base import Constraint, KnownInfill
from syntagma.search.constraints.grammar import AnyState
from syntagma.search.hypothesis import Hypothesis, IdTuple

if TYPE_CHECKING:
    from syntagma.search.request import SearchRequest


class InfillTask:
    """One context whose infill is to be found."""

    def __init__(
        self, request: SearchRequest, hypothesis: Hypothesis, parts: int = 0, labels: bool = False, tokens: int = 0
    ) -> None:
        self.request, self.hypothesis = request, hypothesis
        self.parts, self.labels = parts, labels
        self.tokens = tokens
        """The most tokens of its infill."""
        begun = [(constraint, constraint.begin(self)) for constraint in request.constraints]
        self.constraints: tuple[Constraint, ...] = tuple(constraint for constraint, state in begun if state is not None)
        self.first_states: tuple[Any, ...] = tuple(state for _, state in begun if state is not None)
        self.ends = any(type(constraint).may_end is not Constraint.may_end for constraint in self.constraints)
        """Whether a constraint may forbid its end."""
        known = (constraint.known(state) for constraint, state in zip(self.constraints, self.first_states, strict=True))
        self.known: KnownInfill | None = next((infill for infill in known if infill is not None), None)
        """Its infill, where it has no choice."""
        self.reserve = 2 + sum(constraint.reserve for constraint in self.constraints)
        """Tokens that its infill may have beyond its most, so that constraints can be met."""
        self.grown: list[Hypothesis] | None = None
        """The contexts that its infills grow, once it is done."""
        self.promised: dict[IdTuple, Hypothesis] = {}
        """The contexts of infills that nothing can displace any more, while it is under way."""


class PartialInfill(NamedTuple):
    """Tokens, the sum of their log-probabilities, where they stand in the grammar, what each constraint knows of them,
    the sum before each `<c>`, and which row of the runtime's state they go on from."""

    tokens: IdTuple
    score: float
    state: AnyState
    states: tuple[Any, ...]
    part_starts: tuple[float, ...]
    row: int


class Continuation(NamedTuple):
    """One way to go on: the cost (minus the score) of a partial infill, by its number, with `token` after it."""

    cost: float
    partial: int
    token: int
