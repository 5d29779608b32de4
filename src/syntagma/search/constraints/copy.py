"""Copies: a text that says the source again is no paraphrase."""

from __future__ import annotations

from syntagma.search.constraints.base import Constraint
from syntagma.search.hypothesis import Hypothesis, IdTuple
from syntagma.text.vocabulary import Vocabulary


def core(text: str) -> str:
    """A text without what does not make it another: case, punctuation and spacing.

    >>> core("He's here!") == core("he s here."), core("?!")
    (True, '?!')
    """
    letters = "".join(character for character in text.casefold() if character.isalnum())
    return letters or text


class CopyConstraint(Constraint):
    """Leaves out finished texts that are the source again, but for case and punctuation."""

    reason = "copies the source"
    weight = 1

    def __init__(self, source: IdTuple, text: str, vocabulary: Vocabulary, strict: bool = False) -> None:
        self.source, self.vocabulary, self.strict = source, vocabulary, strict
        self._core = core(text)
        self._known: dict[IdTuple, bool] = {}

    def copies(self, hypothesis: Hypothesis) -> bool:
        """Whether a hypothesis is the source again."""
        ids = hypothesis.ids
        if ids not in self._known:
            self._known[ids] = ids == self.source or self._says_the_same(ids)
        return self._known[ids]

    def _says_the_same(self, ids: IdTuple) -> bool:
        if any(self.vocabulary.is_label(token) for token in ids):
            return False
        return core(self.vocabulary.decode(ids)) == self._core

    def keep(self, hypothesis: Hypothesis) -> bool:
        """Whether it says something else."""
        return not self.copies(hypothesis)
