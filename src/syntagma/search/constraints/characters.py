"""Whole characters: a text of bytes never ends, and never goes on, in the middle of one.

Pieces of byte-level subwords may be halves of a character (of an emoji, of another script).  What is written so far
decides which pieces may follow; no part ends in half a character.
"""

from __future__ import annotations

import codecs
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from syntagma.runtime.base import WordSet
from syntagma.search.constraints.base import Allowed, Constraint
from syntagma.search.constraints.grammar import WORDS, InfillGrammar
from syntagma.search.hypothesis import Hypothesis, IdTuple
from syntagma.text.subwords import Subwords
from syntagma.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from syntagma.search.task import InfillTask


def half_character(data: bytes) -> bytes | None:
    """The beginning of a character that bytes end in, empty where they end in a whole one; None where they are no text.

    >>> half_character("né".encode()), half_character("né".encode()[:-1]), half_character(b"n\\xa9")
    (b'', b'\\xc3', None)
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(data)
    except UnicodeDecodeError:
        return None
    begun = decoder.getstate()[0]
    return begun if not begun or any(map(_is_text, (begun + rest for rest in _RESTS))) else None


_RESTS = [byte * size for byte in (b"\x80", b"\xbf") for size in (1, 2, 3)]
"""One of these makes any beginning of a character a whole one."""


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class CharacterConstraint(Constraint):
    """Keeps characters whole, for one model with subwords of bytes; all its requests share it."""

    reserve = 3

    def __init__(self, grammar: InfillGrammar, subwords: Subwords) -> None:
        self.words = grammar.words
        self._pieces = [subwords.piece(token) for token in range(subwords.size)]
        self._sets: dict[bytes, WordSet] = {}
        self._following: dict[tuple[bytes, int], bytes] = {}

    def begin(self, task: InfillTask) -> bytes:
        """Nothing is begun."""
        return b""

    def mask(self, state: bytes, allowed: Allowed) -> None:
        """Only what goes on with the character, if one is begun; else only what begins one.

        Where tokens have run out, nothing begins that takes more than one.
        """
        allowed.words = self._whole if not state and allowed.state.must_close else self.set_after(state)
        if state:
            allowed.kinds = WORDS

    @cached_property
    def _whole(self) -> WordSet:
        """The pieces that are characters by themselves."""
        tokens = self.words.ids.tolist()
        return WordSet(np.array([token for token in tokens if half_character(self._pieces[token]) == b""], np.int64))

    def set_after(self, begun: bytes) -> WordSet:
        """The pieces that may follow the beginning of a character, or a whole one."""
        if begun not in self._sets:
            pieces = ((token, self._pieces[token]) for token in self.words.ids.tolist())
            fitting = [token for token, piece in pieces if piece and half_character(begun + piece) is not None]
            self._sets[begun] = WordSet(np.array(fitting, np.int64))
        return self._sets[begun]

    def advance(self, state: bytes, token: int) -> bytes:
        """The state after one more piece."""
        key = state, token
        if key not in self._following:
            self._following[key] = half_character(state + self._pieces[token]) or b""
        return self._following[key]


class ReadableConstraint(Constraint):
    """Leaves out finished texts with replacement characters, where pieces are not bytes that could be masked."""

    reason = "cannot be read"
    weight = 4

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._known: dict[IdTuple, bool] = {}

    def keep(self, hypothesis: Hypothesis) -> bool:
        """Whether every character can be read."""
        ids = hypothesis.ids
        if ids not in self._known:
            self._known[ids] = "\N{REPLACEMENT CHARACTER}" not in self.vocabulary.decode(ids)
        return self._known[ids]
