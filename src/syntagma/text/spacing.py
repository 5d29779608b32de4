"""Spacing for words that come without it: how tokenised text would have been typed.

>>> join(respace("He said , `` I ca n't go ( yet ) . ''".split()))
"He said, `` I can't go (yet).''"
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from syntagma.text.words import Word, join

__all__ = ["join", "respace"]

_CLITICS = [mark + clitic for mark in "'’" for clitic in ("s", "m", "d", "ll", "re", "ve")]
_NO_SPACE_BEFORE = frozenset([*".,;:!?)]}%'”’", "...", "''", "?!", "!?", "n't", "n’t", *_CLITICS])
_NO_SPACE_AFTER = frozenset("([{$£€#“‘„¿¡")
_JOINED_PAIRS = frozenset({("can", "not"), ("gon", "na"), ("wan", "na"), ("got", "ta"), ("gim", "me"), ("lem", "me")})


def respace(words: Sequence[str]) -> tuple[Word, ...]:
    """The words with the white space that a writer would have put before each; straight quotes are paired up."""
    spaced: list[Word] = []
    glue = True  # nothing stands before the first word
    quoted = False
    for before, word in zip(["", *words], words, strict=False):
        space = "" if glue or _leans(before, word) else " "
        glue = word in _NO_SPACE_AFTER
        if word == '"':
            space = "" if quoted else space
            glue = not quoted
            quoted = not quoted
        spaced.append(Word(word, space))
    return tuple(spaced)


def _leans(before: str, word: str) -> bool:
    if word == "na":
        return before.lower() in ("gon", "wan")
    return word.lower() in _NO_SPACE_BEFORE or (before.lower(), word.lower()) in _JOINED_PAIRS


def spaced_text(words: Iterable[str]) -> str:
    """Tokenised words as a writer would have typed them."""
    return join(respace(list(words)))
