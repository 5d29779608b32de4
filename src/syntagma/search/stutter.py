"""Stutter: a text that says the same words twice in a row, "of the capital of the capital".

People hardly ever write that (113 of 196,423 English sentences of Tatoeba), small models do.  Words that stand side by
side in a context stay so, whatever its labels become; hence a context that stutters can be left out as soon as it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from syntagma.levels import is_label
from syntagma.search.output import words_as_text
from syntagma.text.vocabulary import Vocabulary

LONGEST = 40
"""Words, or pieces of words, that may be said twice."""


def stutters(ids: Sequence[int], vocabulary: Vocabulary) -> bool:
    """Whether the words of a context stand twice in a row anywhere.

    >>> from syntagma.text import split
    >>> from syntagma.text.subwords import Subwords
    >>> subwords = Subwords.train([split("We saw the capital of it.").words], size=300)
    >>> texts = "the capital of the capital of it", "the man, the boy", "the banana", "Why, why?", "a lot - - -"
    >>> [stutters(subwords.encode(text), subwords) for text in texts]
    [True, False, False, False, False]
    """
    if not _said_twice(ids):  # what repeats words repeats ids, and that is soon seen
        return False
    for label, words in groupby(words_as_text(vocabulary.decode_tokens(ids)), key=is_label):
        if not label and any(any(map(str.isalnum, "".join(said))) for said in _said_twice(list(words))):
            return True
    return False


def _said_twice(items: Sequence[Any]) -> list[Sequence[Any]]:
    """What stands in a sequence twice in a row.

    >>> _said_twice("abcbcd"), _said_twice("abc")
    (['bc'], [])
    """
    found = []
    for size in range(1, min(LONGEST, len(items) // 2) + 1):
        run = 0
        for at in range(len(items) - size):
            run = run + 1 if items[at] == items[at + size] else 0
            if run >= size:
                found.append(items[at - size + 1 : at + 1])
    return found
