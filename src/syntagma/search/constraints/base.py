"""The one base class of constraints.

A constraint sees a search at four moments: before each token of an infill (`mask`), after it (`advance`), where the
infill would end (`may_end`), and when the context that it grows competes for the beam (`keep`).  It keeps what it must
know of a partial infill in a value of its own, which beams share and never change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from syntagma.runtime.base import WordSet

if TYPE_CHECKING:
    from syntagma.search.constraints.grammar import AnyState
    from syntagma.search.hypothesis import Hypothesis
    from syntagma.search.task import InfillTask


class Allowed:
    """The tokens that may follow one partial infill; constraints narrow them one after the other.

    `kinds` are `TokenKind`s, `labels` the ids of labels (None: all), `words` a set of text ids, `denied` single ids,
    `asked` ids whose scores must be heard; `only` is the one token that may come, whatever else holds.
    """

    __slots__ = ("asked", "denied", "kinds", "labels", "only", "state", "words")

    def __init__(self, kinds: int, words: WordSet, state: AnyState) -> None:
        self.kinds = kinds
        self.words = words
        self.state = state
        self.labels: frozenset[int] | None = None
        self.denied: list[int] | None = None
        self.asked: list[int] | None = None
        self.only: int | None = None


class KnownInfill(NamedTuple):
    """The tokens of an infill with its end, and the log-probability of each."""

    tokens: tuple[int, ...]
    scores: tuple[float, ...]


class Constraint:
    """A constraint of one request on all its infills."""

    strict: bool = False
    """Whether what `keep` refuses is left out even where nothing else is there."""
    weight: int = 2
    """How bad a context is that `keep` refuses, where there are only such."""
    slow: bool = False
    """Whether a token under it may take much longer than one without."""
    reason: str = "refused"
    """What is wrong with a context that `keep` refuses, in a word or two."""
    reserve: int = 0
    """Tokens that an infill may need beyond its most."""

    def begin(self, task: InfillTask) -> Any:
        """The state before the first token of an infill; None where this constraint has no say in it."""
        return None

    def mask(self, state: Any, allowed: Allowed) -> None:
        """Narrow what may come next."""

    def advance(self, state: Any, token: int) -> Any:
        """The state after one more token."""
        return state

    def may_end(self, state: Any) -> bool:
        """Whether the infill may end here."""
        return True

    def known(self, state: Any) -> KnownInfill | None:
        """The whole infill, where none but this one may be written."""
        return None

    def keep(self, hypothesis: Hypothesis) -> bool:
        """Whether a context may compete for the beam."""
        return True
