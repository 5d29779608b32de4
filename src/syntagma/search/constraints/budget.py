"""Words that are said more often than the source says them: "In winter, nails grow faster than in winter".

A model that fills constituents side by side may put a word of the source into two of them.  People who paraphrase
hardly ever do: of 92,000 written pairs 0.7% say a word of four letters or more, and no function word, more often than
their source.  So a word has the budget that the source gives it, and once it is spent its piece is masked; a word of
several pieces is found when the context competes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from syntagma.search.constraints.base import Allowed, Constraint
from syntagma.search.constraints.lexical import continuing_pieces, spellings
from syntagma.search.hypothesis import Hypothesis, IdTuple
from syntagma.text.vocabulary import Vocabulary
from syntagma.text.words import Word, split

if TYPE_CHECKING:
    from syntagma.search.task import InfillTask

SHORTEST = 4
"""Shorter words may be said as often as one likes."""
_FUNCTION_WORDS = """
about after also among because been before being both could does each every from have into less many more most much must
only other over same should some such than that their them there they this those until were what when where whether
which while will with would your
"""
FREE = frozenset(_FUNCTION_WORDS.split())
"""And so may these."""


class Written(NamedTuple):
    """How often each word stands in the context and in the infill so far, the pieces of the word under way, and the
    ids that are spent."""

    counts: dict[str, int]
    pending: IdTuple
    spent: frozenset[int]


class WordBudgetConstraint(Constraint):
    """Rules out content words that the source, or a single mention, leaves no room for."""

    reason = "says a word too often"

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._budget = Counter(word.text.lower() for word in split(text).words)
        self._continuing = continuing_pieces(vocabulary)
        self._words: dict[IdTuple, str] = {}
        self._ids: dict[str, frozenset[int]] = {}
        self._known: dict[IdTuple, bool] = {}

    def begin(self, task: InfillTask) -> Written:
        """The words of the context."""
        return self.after(task.hypothesis.ids)

    def after(self, ids: Sequence[int]) -> Written:
        """The words that stand there already."""
        counts = self._counted(ids)
        spent = [self._single(word) for word, count in counts.items() if count >= self._room(word)]
        return Written(dict(counts), (), frozenset().union(*spent))

    def mask(self, state: Written, allowed: Allowed) -> None:
        """Deny words that are spent."""
        if state.spent:
            allowed.denied = [*(allowed.denied or ()), *state.spent]

    def advance(self, state: Written, token: int) -> Written:
        """Count the word before a token that does not go on with it."""
        if token in self._continuing:
            return state._replace(pending=(*state.pending, token))
        word = self._word(state.pending)
        counts, spent = state.counts, state.spent
        if word:
            counts = {**counts, word: counts.get(word, 0) + 1}
            if counts[word] >= self._room(word):
                spent |= self._single(word)
        return Written(counts, (token,) if self.vocabulary.is_word(token) else (), spent)

    def keep(self, hypothesis: Hypothesis) -> bool:
        """Whether no word is said too often."""
        ids = hypothesis.ids
        if ids not in self._known:
            self._known[ids] = all(count <= self._room(word) for word, count in self._counted(ids).items())
        return self._known[ids]

    def _counted(self, ids: Sequence[int]) -> Counter[str]:
        words = (token.text.lower() for token in self.vocabulary.decode_tokens(ids) if isinstance(token, Word))
        return Counter(word for word in words if _counts(word))

    def _room(self, word: str) -> int:
        return max(1, self._budget[word])

    def _word(self, pieces: IdTuple) -> str:
        """The word that pieces make, nothing where it has no budget."""
        if pieces and pieces not in self._words:
            word = self.vocabulary.decode(pieces).strip().lower()
            self._words[pieces] = word if _counts(word) else ""
        return self._words[pieces] if pieces else ""

    def _single(self, word: str) -> frozenset[int]:
        """The ids that are a word by themselves."""
        if word not in self._ids:
            self._ids[word] = frozenset(ids[0] for ids in spellings(word, self.vocabulary) if len(ids) == 1)
        return self._ids[word]


def _counts(word: str) -> bool:
    """Whether a word has a budget.

    >>> [_counts(word) for word in ("winter", "that", "the", "1999")]
    [True, False, False, False]
    """
    return len(word) >= SHORTEST and word.isalpha() and word not in FREE
