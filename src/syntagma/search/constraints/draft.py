"""Drafts that compete: hypotheses of their plans write the levels of a text that the model has written in one go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from syntagma.search.constraints.base import Allowed, Constraint, KnownInfill
from syntagma.search.constraints.grammar import LABELS, WORDS, InfillGrammar

if TYPE_CHECKING:
    from syntagma.search.task import InfillTask


class DraftConstraint(Constraint):
    """The infills of each draft, for the plans from `first` on; where another constraint forbids a token, it is lost.

    So it must be the last one.
    """

    def __init__(self, drafts: Sequence[Sequence[KnownInfill]], first: int, grammar: InfillGrammar) -> None:
        self.drafts, self.first, self.grammar = drafts, first, grammar

    def begin(self, task: InfillTask) -> KnownInfill | None:
        """The rest of the infill; None in the plans before."""
        number, level = task.hypothesis.plan - self.first, task.hypothesis.depth - 1
        if number < 0:
            return None
        infills = self.drafts[number]
        return infills[level] if level < len(infills) else KnownInfill((), ())

    def known(self, state: KnownInfill) -> KnownInfill:
        """The draft's own infill."""
        return state

    def mask(self, state: KnownInfill, allowed: Allowed) -> None:
        """Nothing but the next token of the draft."""
        if state.tokens and self._permits(allowed, state.tokens[0]):
            allowed.only = state.tokens[0]
        else:
            allowed.kinds = 0

    def advance(self, state: KnownInfill, token: int) -> KnownInfill:
        """One token further."""
        return KnownInfill(state.tokens[1:], state.scores[1:])

    def _permits(self, allowed: Allowed, token: int) -> bool:
        """Whether the other constraints let a token come."""
        kind = self.grammar.kind(token)
        if not allowed.kinds & kind or token in (allowed.denied or ()):
            return False
        if kind == LABELS:
            return allowed.labels is None or token in allowed.labels
        return kind != WORDS or bool((allowed.words.ids == token).any())
