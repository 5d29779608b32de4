"""Required words (`must`): a pass without them first, and a second one only where that is not enough.

What the first pass finds and what holds the words competes in any case.  In the second there are places in the beam for
hypotheses that hold more of them, and infills may not grow much longer than without.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from syntagma.search.competition import distinct
from syntagma.search.constraints.lexical import LexicalConstraint
from syntagma.search.hypothesis import Hypothesis, IdTuple

if TYPE_CHECKING:
    from syntagma.search.request import SearchRequest

_SPARE_TOKENS = 4
"""Tokens that an infill with required words may have beside those words and what one without them had."""


class RequiredWords:
    """Which pass a request is in, and what it has found so far."""

    def __init__(self, request: SearchRequest, lexical: LexicalConstraint) -> None:
        self._request = request
        self.lexical = lexical
        self.first_pass = bool(lexical.required)
        """Whether the words are left out of account now."""
        self.free_beam: list[Hypothesis] = []
        """The hypotheses of the first pass."""
        self._qualified: dict[IdTuple, Hypothesis] = {}

    @property
    def now(self) -> LexicalConstraint:
        """The constraints that infills are searched under in this pass."""
        return self.lexical.without_required() if self.first_pass else self.lexical

    def qualifies(self, hypothesis: Hypothesis) -> bool:
        """Whether a finished hypothesis holds all required words."""
        decode = self._request.decode
        if decode is not None and self.lexical.texts:
            return self.lexical.met_by(decode(hypothesis.context.ids))
        return self._spelled(hypothesis)

    def held_by(self, hypothesis: Hypothesis) -> bool:
        """Whether a hypothesis holds all required words, if need be as parts of longer ones."""
        return self._spelled(hypothesis) or self.qualifies(hypothesis)

    def _spelled(self, hypothesis: Hypothesis) -> bool:
        return len(self.lexical.words_in(hypothesis.ids)) == len(self.lexical.required)

    def remember(self, finished: Iterable[Hypothesis]) -> None:
        """Keep finished hypotheses of the second pass that hold all words, should the beam lose them."""
        if self.lexical.required and not self.first_pass:
            self._qualified.update(
                (hypothesis.ids, hypothesis) for hypothesis in finished if self.qualifies(hypothesis)
            )

    def end_first_pass(self, beam: list[Hypothesis], wanted: int) -> list[Hypothesis]:
        """Of what the first pass found, the texts that hold the words, if they are as many as wanted."""
        self.first_pass, self.free_beam = False, beam
        fitting = [hypothesis for hypothesis in beam if self.qualifies(hypothesis)]
        return fitting if len(fitting) >= wanted else []

    @property
    def longest(self) -> int | None:
        """How long an infill may be in the second pass."""
        if self.first_pass or not self.free_beam:
            return None
        longest = max((len(ancestor.infill) for end in self.free_beam for ancestor in end.history()), default=0)
        return longest + sum(max(map(len, spelled)) for spelled in self.lexical.required) + _SPARE_TOKENS

    def settle(self, beam: list[Hypothesis], most: int) -> list[Hypothesis]:
        """At the end: what was found without required words competes with what was found with them."""
        if not self.free_beam or not self.lexical.required:
            return beam
        fitting = [hypothesis for hypothesis in self.free_beam if self.qualifies(hypothesis)]
        candidates = distinct([*beam, *fitting, *self._qualified.values()])
        candidates = [hypothesis for hypothesis in candidates if self.qualifies(hypothesis)] or candidates
        candidates.sort(key=lambda hypothesis: -hypothesis.log_probability / max(1, len(hypothesis.ids)))
        return candidates[:most]
