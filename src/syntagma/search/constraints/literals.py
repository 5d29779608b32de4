"""Literals: numbers, names and addresses of a source, which a paraphrase must keep to the letter.

They become required words of the request (`LexicalConstraint`), so a search that loses one goes again with it; and a
text with a number that the source does not have is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from syntagma.search.constraints.base import Constraint
from syntagma.search.constraints.lexical import LexicalConstraint
from syntagma.search.hypothesis import Hypothesis, IdTuple
from syntagma.text.sentences import sentences
from syntagma.text.vocabulary import Vocabulary

_ADDRESS = re.compile(r"(https?://|www\.)\S+|\S+@\S+\.\w+|\S*\w/\w\S*|\S*[\\_]\S*")
_NUMBER = re.compile(r"\d+")
_SPELLED = re.compile(
    r"\b(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|sixty|"
    r"seventy|eighty|ninety|hundreds?|thousands?|millions?|billions?|dozens?|half|once|twice|first|second|third|\w+th)\b",
    re.IGNORECASE,
)
_EDGES = "\"'“”‘’()[]{}<>,;:!?…`*"
_PRONOUN = re.compile(r"I(['’]\w+)?")


def literals(text: str) -> list[str]:
    """The numbers, names and addresses of a text, each once.

    A name is a word with a capital that does not begin a sentence; a heading, most of whose words have one, has none.

    >>> literals("On Monday Mr. Li paid $12.50 at http://shop.example/a?b=1, not 3 euros. Then I left.")
    ['Monday', 'Li', '$12.50', 'http://shop.example/a?b=1', '3']
    >>> literals("How To Cook Rice In Ten Minutes"), literals("The U.S. economy grew.")
    ([], ['U.S.'])
    """
    candidates = (literal for sentence in sentences(text) for literal in _literals(sentence))
    return [literal for literal in dict.fromkeys(candidates) if LexicalConstraint(texts=[literal]).met_by(text)]


def _literals(sentence: str) -> Iterator[str]:
    words = [word.strip(_EDGES) for word in sentence.strip().removesuffix(".").split()]
    words = [word.removesuffix("'s").removesuffix("’s") for word in words]
    names = [word for word in words[1:] if word[:1].isupper() and len(word) > 1 and not _PRONOUN.fullmatch(word)]
    known = frozenset(names if len(names) < 3 or len(names) <= len(words) / 2 else ())
    for word in words:
        if word in known or any(map(str.isdigit, word)) or _ADDRESS.fullmatch(word):
            yield word


class NumberConstraint(Constraint):
    """Leaves out contexts with a number in digits that the source does not have, unless it spells numbers out."""

    reason = "has a number that the source does not have"

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.numbers = frozenset(_NUMBER.findall(text))
        self.spelled = bool(_SPELLED.search(text))
        self.vocabulary = vocabulary
        self._known: dict[IdTuple, bool] = {}

    def keep(self, hypothesis: Hypothesis) -> bool:
        """Whether all its numbers are the source's."""
        ids = hypothesis.ids
        if self.spelled or any(self.vocabulary.is_label(token) for token in ids):  # a number may still be growing
            return True
        if ids not in self._known:
            self._known[ids] = self.numbers.issuperset(_NUMBER.findall(self.vocabulary.decode(ids)))
        return self._known[ids]
