"""Coinages: words that a model makes up from pieces, such as `seatburgers`, where it does not know the right one.

A model with a list of its words can be told not to.  Then a word that it has begun goes on only towards a word of the
list, or of the source, and ends only where it is one: masks again, as for the grammar of infills.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from syntagma.text.lexicon import Lexicon, letter_runs, open_run, words_of
from syntagma.text.subwords import Subwords

_LETTERS = re.compile(rb"(?:[a-z]|[\x80-\xbf]|[\xc3-\xdf])*")
_HALF_A_SIGN = re.compile(rb"(?:\xc2|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf7][\x80-\xbf]{0,2})\Z")
_MOST_REMEMBERED = 4096


class Coinage:
    """What may follow what, for one model and its lexicon."""

    def __init__(self, lexicon: Lexicon, subwords: Subwords) -> None:
        self.lexicon = lexicon
        self.size = subwords.size
        self._pieces = [subwords.piece(at).lower() for at in range(subwords.size)]
        self._inside: dict[bytes, list[int]] = defaultdict(list)  # pieces of letters alone
        self._after_space: dict[bytes, list[int]] = defaultdict(list)  # the same after a space
        self._closing: dict[bytes, list[int]] = defaultdict(list)  # others, such as `n't`, by their first letters
        for at, piece in enumerate(self._pieces):
            if (letters := _letters(piece)) == piece and piece:
                self._inside[piece].append(at)
            elif not letters and (word := piece[1:]) and piece[:1] == b" " and _letters(word) == word:
                self._after_space[word].append(at)
            elif all(next(lexicon.beginning_with(run), None) for run in letter_runs(piece[len(letters) :])):
                self._closing[letters].append(at)
        self.between_words = self.first_pieces(lexicon) + self._closing[b""]
        self.inside_signs = [at for at, piece in enumerate(self._pieces) if b"\x80" <= piece[:1] <= b"\xbf"]
        self._masks: dict[bytes, Tensor] = {}

    def beside(self, *texts: str) -> Spelling:
        """For one search, in which the words of these texts are as good as the model's own."""
        own = {word for text in texts for word in words_of(text) if not self.lexicon.knows(word)}
        return Spelling(self, Lexicon(own))

    def begun(self, tokens: Sequence[int]) -> bytes | None:
        """The letters of the word that tokens end in, empty between words; None in the middle of another sign."""
        tail = b""
        for token in reversed(tokens):
            tail = self._pieces[token] + tail
            if not self._pieces[token] or tail.startswith(b" "):
                break
        return None if _HALF_A_SIGN.search(tail) else open_run(tail)

    def first_pieces(self, lexicon: Lexicon) -> list[int]:
        """The pieces that begin a word of a lexicon after a space."""
        return [at for start in _starts(lexicon, b"") for at in self._after_space.get(start, ())]

    def following(self, begun: bytes, lexicon: Lexicon) -> list[int]:
        """The pieces that go on with a word that has begun so, or end it, towards words of a lexicon."""
        found = [at for start in _starts(lexicon, begun) for at in self._inside.get(start, ())]
        ends = {word[len(begun) :] for word in lexicon.beginning_with(begun)} - {b""}
        return found + [at for end in ends for at in self._closing.get(end, ())]

    def mask(self, begun: bytes) -> Tensor:
        """What coins a word after these letters [V], by the model's own lexicon."""
        if begun not in self._masks:
            if len(self._masks) >= _MOST_REMEMBERED:
                self._masks.clear()
            self._masks[begun] = torch.ones(self.size, dtype=torch.bool)
            self.allow(self._masks[begun], self.following(begun, self.lexicon))
            if not begun or self.lexicon.knows(begun):
                self.allow(self._masks[begun], self.between_words)
        return self._masks[begun]

    @staticmethod
    def allow(mask: Tensor, tokens: Iterable[int]) -> None:
        """Take tokens out of a mask."""
        mask[torch.tensor([*tokens], dtype=torch.long)] = False


class Spelling:
    """What may follow what in one search: with the words of its source beside those of the model."""

    def __init__(self, coinage: Coinage, own: Lexicon) -> None:
        self._coinage = coinage
        self._own = own
        self._first = coinage.first_pieces(own)
        self._masks: dict[bytes | None, Tensor] = {}

    def coined(self, tokens: Sequence[int]) -> Tensor:
        """What coins a word after these tokens: a mask [V]."""
        begun = self._coinage.begun(tokens)
        if begun not in self._masks:
            self._masks[begun] = self._mask(begun or b"")
            if begun is None:
                self._masks[None] = self._masks[None].clone()
                self._coinage.allow(self._masks[None], self._coinage.inside_signs)
        return self._masks[begun]

    def _mask(self, begun: bytes) -> Tensor:
        mask = self._coinage.mask(begun)
        if not len(self._own):
            return mask
        mask = mask.clone()
        self._coinage.allow(mask, self._coinage.following(begun, self._own))
        if self._own.knows(begun):
            self._coinage.allow(mask, self._coinage.between_words)
        if not begun or self._own.knows(begun) or self._coinage.lexicon.knows(begun):
            self._coinage.allow(mask, self._first)
        return mask


def _letters(piece: bytes) -> bytes:
    """The letters that a piece begins with."""
    match = _LETTERS.match(piece)
    return match.group() if match else b""


def _starts(lexicon: Lexicon, begun: bytes) -> set[bytes]:
    """All ways in which words that have begun so may go on, up to any letter."""
    size = len(begun)
    return {word[size:end] for word in lexicon.beginning_with(begun) for end in range(size + 1, len(word) + 1)}
