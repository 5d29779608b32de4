"""Adjacent repeats: a text that says the same words twice in a row, "of the capital of the capital".

People hardly ever write that (113 of 196,423 English sentences of Tatoeba), small models do.  Words that stand side by
side in a context stay so, whatever its labels become; hence a context that repeats itself can be left out as soon as it
does.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from syntagma.levels import is_label
from syntagma.search.constraints.base import Constraint
from syntagma.search.hypothesis import Hypothesis, IdTuple
from syntagma.text.vocabulary import Vocabulary
from syntagma.text.words import Word

LONGEST = 40
"""Words, or pieces of words, that may be said twice."""


class RepeatConstraint(Constraint):
    """Leaves out contexts that say the same words twice in a row."""

    reason = "repeats itself"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._known: dict[IdTuple, bool] = {}

    def keep(self, hypothesis: Hypothesis) -> bool:
        """Whether no words stand twice in a row."""
        ids = hypothesis.ids
        if ids not in self._known:
            self._known[ids] = repeats(ids, self.vocabulary)
        return not self._known[ids]


def repeats(ids: Sequence[int], vocabulary: Vocabulary) -> bool:
    """Whether the words of a context stand twice in a row anywhere.

    >>> from syntagma.text import split
    >>> from syntagma.text.subwords import Subwords
    >>> subwords = Subwords.train([split("We saw the capital of it.").words], size=300)
    >>> texts = "the capital of the capital of it", "the man, the boy", "the banana", "Why, why?", "a lot - - -"
    >>> [repeats(subwords.encode(text), subwords) for text in texts]
    [True, False, False, False, False]
    """
    if not _twice(ids):  # what repeats words repeats ids, and that is soon seen
        return False
    tokens = [token.text if isinstance(token, Word) else token for token in vocabulary.decode_tokens(ids)]
    for label, words in groupby(tokens, key=is_label):
        if not label and any(any(map(str.isalnum, "".join(run))) for run in _twice(list(words))):
            return True
    return False


def _twice(items: Sequence[Any]) -> list[Sequence[Any]]:
    """Find what stands in a sequence twice in a row.

    >>> _twice("abcbcd"), _twice("abc"), _twice("abad")
    (['bc'], [], [])
    """
    repeats = []
    for size in range(1, min(LONGEST, len(items) // 2) + 1):
        run = 0
        for place in range(len(items) - size):
            run = run + 1 if items[place] == items[place + size] else 0
            if run >= size:
                repeats.append(items[place - size + 1 : place + 1])
    return repeats
