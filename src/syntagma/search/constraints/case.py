"""The first letter: a text whose source begins with a capital begins with one, too."""

from __future__ import annotations

from syntagma.search.constraints.base import Constraint
from syntagma.search.hypothesis import Hypothesis
from syntagma.text.vocabulary import Vocabulary


class CaseConstraint(Constraint):
    """Leaves out contexts that begin with a small letter."""

    reason = "begins with a small letter"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._known: dict[int, bool] = {}

    def keep(self, hypothesis: Hypothesis) -> bool:
        """Whether a context does not begin with a word in small letters."""
        return not hypothesis.ids or self.may_begin(hypothesis.ids[0])

    def may_begin(self, first: int) -> bool:
        """Whether a context may begin with that token."""
        if first not in self._known:
            word = self.vocabulary.is_word(first)
            self._known[first] = not (word and self.vocabulary.decode([first]).strip()[:1].islower())
        return self._known[first]
