"""Repeated n-grams: a text that says the same words at two places, "When the phone rang, I left when the phone rang".

A model that has moved a phrase to the front may write it once more where it stood before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

from syntagma.levels import is_label
from syntagma.search.constraints.base import Constraint
from syntagma.search.hypothesis import Hypothesis, IdTuple
from syntagma.text.vocabulary import Vocabulary
from syntagma.text.words import Word


class NgramConstraint(Constraint):
    """Leaves out contexts in which `size` words in a row stand twice."""

    reason = "says the same words at two places"

    def __init__(self, size: int, vocabulary: Vocabulary) -> None:
        self.size, self.vocabulary = size, vocabulary
        self._known: dict[IdTuple, bool] = {}

    def keep(self, hypothesis: Hypothesis) -> bool:
        """Whether no n-gram stands twice."""
        ids = hypothesis.ids
        if ids not in self._known:
            self._known[ids] = repeats_ngram(ids, self.size, self.vocabulary)
        return not self._known[ids]


def repeats_ngram(ids: Sequence[int], size: int, vocabulary: Vocabulary) -> bool:
    """Whether `size` words in a row, whatever their case, stand twice in a context; labels keep words apart.

    >>> from syntagma.text import split
    >>> from syntagma.text.subwords import Subwords
    >>> subwords = Subwords.train([split("When it rang I left the old house.").words], size=300)
    >>> texts = "When it rang, I left when it rang.", "When it rang, I left it when I left."
    >>> [repeats_ngram(subwords.encode(text), 3, subwords) for text in texts]
    [True, False]
    """
    pairs = list(pairwise(ids))
    if size > 2 and len(set(pairs)) == len(pairs):  # n-grams that differ in the first letter's case share a pair of ids
        return False
    seen: set[tuple[str, ...]] = set()
    for label, run in groupby(vocabulary.decode_tokens(ids), key=is_label):
        words = [] if label else [token.text.lower() for token in run if isinstance(token, Word)]
        words = [word for word in words if word[-1:].isalnum()]
        for ngram in zip(*(words[start:] for start in range(size)), strict=False):
            if ngram in seen:
                return True
            seen.add(ngram)
    return False
