"""Known words only: no words that a model makes up from pieces, such as `seatburgers`.

A word that is begun goes on only towards a word of the model's list, or of the source, and ends only where it is one.
That holds wherever a word grows: inside a part, where a part joins what stands before it without a space, where it
runs into what stands after it, and across levels.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from syntagma.network.config import ModelConfig
from syntagma.runtime.base import BoolArray, IdArray, WordSet
from syntagma.search.constraints.base import Allowed, Constraint
from syntagma.search.constraints.characters import half_character
from syntagma.search.constraints.grammar import LABELS, WORDS, InfillGrammar
from syntagma.text.lexicon import Lexicon, letter_runs, open_run, words_of
from syntagma.text.subwords import Subwords

if TYPE_CHECKING:
    from syntagma.search.task import InfillTask

_LETTERS = re.compile(rb"(?:[a-z]|[\x80-\xbf]|[\xc3-\xdf])*")
_MOST_REMEMBERED = 4096
_USUAL_LENGTH = 6
"""Letters that the rest of a word has."""

Ids = Sequence[int] | IdArray


class Begun(NamedTuple):
    """The end of the text so far: the letters of a word, or the beginning of another sign, or neither; or an open
    label (`unknown`), of which nobody knows what it will become."""

    run: bytes = b""
    sign: bytes = b""
    unknown: bool = False


class LexiconTable:
    """Which pieces may follow what, for one model and its lexicon; all its requests share it."""

    def __init__(self, lexicon: Lexicon, subwords: Subwords, grammar: InfillGrammar) -> None:
        self.lexicon = lexicon
        self.config = grammar.config
        self.pieces = list(map(bytes.lower, map(subwords.piece, range(subwords.size))))
        self._inside = _Pieces(list)  # pieces of letters alone
        self._after_space = _Pieces(list)  # the same after a space
        self._closing = _Pieces(list)  # others, such as `n't`, by their first letters
        self._continuing: list[int] = []  # those that begin inside a character
        for token in grammar.words.ids.tolist():
            piece = self.pieces[token]
            if piece.isalpha():
                self._inside[piece].append(token)
            elif piece[:1] == b" " and piece[1:].isalpha():
                self._after_space[piece[1:]].append(token)
            else:
                self._add_other(piece, token)
        self.between_words = np.array(self.first_pieces(lexicon) + self._closing.get(b"", []), np.int64)
        self._sets: dict[Begun, WordSet] = {}
        self._signs: dict[bytes, list[int]] = {}
        self._after: dict[tuple[Begun, int], Begun] = {}

    def _add_other(self, piece: bytes, token: int) -> None:
        """Put in a piece that is not of ASCII letters alone."""
        if b"\x80" <= piece[:1] <= b"\xbf":
            self._continuing.append(token)
        letters = _letters(piece)
        rest = piece[len(letters) :]
        if not rest:
            self._inside[piece].append(token)
        elif rest[:1] == b" " and not letters and _letters(piece[1:]) == piece[1:] != b"":
            self._after_space[piece[1:]].append(token)
        elif half_character(rest) is not None and self._may_begin(rest):
            self._closing[letters].append(token)

    def _may_begin(self, rest: bytes) -> bool:
        """Whether all that begins in some bytes begins a word."""
        return all(map(self.lexicon.begins, letter_runs(rest)))

    def first_pieces(self, lexicon: Lexicon) -> list[int]:
        """The pieces that begin a word of a lexicon after a space."""
        return self._after_space.along(lexicon, b"")

    def completing(self, run: bytes, lexicon: Lexicon) -> list[int]:
        """The pieces of letters that go on with a word that has begun so, towards words of a lexicon."""
        return self._inside.along(lexicon, run)

    def following(self, run: bytes, lexicon: Lexicon) -> list[int]:
        """The same, and those that end such a word and go on with something else."""
        ends = (tokens for end, tokens in self._closing.items() if end and lexicon.knows(run + end))
        return [*self.completing(run, lexicon), *chain.from_iterable(ends)]

    def continuing(self, sign: bytes) -> list[int]:
        """The pieces that go on with a sign that is begun."""
        if sign not in self._signs:
            self._signs[sign] = [
                token
                for token in self._continuing
                if half_character(sign + self.pieces[token]) is not None and self._may_begin(self.pieces[token])
            ]
        return self._signs[sign]

    def set_after(self, begun: Begun) -> WordSet:
        """The pieces that may follow by the model's own lexicon."""
        if begun not in self._sets:
            if len(self._sets) >= _MOST_REMEMBERED:
                self._sets.clear()
            self._sets[begun] = self.word_set(*self.ids_after(begun))
        return self._sets[begun]

    def word_set(self, *ids: Ids) -> WordSet:
        """All those ids, each once."""
        return WordSet(np.flatnonzero(self._are_in(*ids)))

    def with_more(self, words: WordSet, *ids: Ids) -> WordSet:
        """A set with more ids: the same one where it has them already, so that requests share it."""
        before, both = self._are_in(words.ids), self._are_in(words.ids, *ids)
        return words if np.array_equal(before, both) else WordSet(np.flatnonzero(both))

    def _are_in(self, *ids: Ids) -> BoolArray:
        """Which pieces are among ids."""
        member = np.zeros(len(self.pieces), np.bool_)
        for these in ids:
            member[np.asarray(these, np.int64)] = True
        return member

    def ids_after(self, begun: Begun) -> list[Ids]:
        """The same as ids, some of them perhaps twice."""
        if begun.sign:
            return [self.continuing(begun.sign)]
        if begun.unknown:
            return [self.between_words]
        continuations: list[Ids] = [self.following(begun.run, self.lexicon)]
        return [*continuations, self.between_words] if not begun.run or self.lexicon.knows(begun.run) else continuations

    def advance(self, begun: Begun, token: int) -> Begun:
        """The end of a text after one more piece."""
        key = begun, token
        after = self._after.get(key)
        if after is None:
            after = self._after[key] = self.end_of(begun, self.pieces[token])
        return after

    @staticmethod
    def end_of(begun: Begun, text: bytes) -> Begun:
        """The end of a text after some more."""
        if not text:
            return begun
        whole = begun.run + begun.sign + text.lower()
        run, sign = open_run(whole), half_character(whole)
        return Begun(run, b"" if run else sign or b"")


class _Spelled(NamedTuple):
    """Where a partial infill stands: what the text ends in, which part is open, and of all parts the text after them,
    up to the next label (None: nothing, and the text ends there)."""

    begun: Begun
    part: int
    after: Sequence[bytes | None]


class LexiconConstraint(Constraint):
    """Known words only, in one request: those of its texts are as good as the model's own."""

    reserve = 32

    def __init__(self, table: LexiconTable, *texts: str) -> None:
        self.table = table
        self.config: ModelConfig = table.config
        self.own = Lexicon({word for text in texts for word in words_of(text) if not table.lexicon.knows(word)})
        self._labels = frozenset(self.config.labels)
        self._first = table.first_pieces(self.own)
        self._sets: dict[Begun, WordSet] = {}
        self._ends: dict[bytes, WordSet] = {}

    def knows(self, word: bytes) -> bool:
        """Whether this is a word."""
        return self.table.lexicon.knows(word) or self.own.knows(word)

    # -- a partial infill

    def begin(self, task: InfillTask) -> _Spelled:
        """Before the first part: what stands before it, and after each."""
        gaps: list[bytes] = [b""]
        for token in task.hypothesis.context.ids if task.parts else ():
            if token in self._labels:
                gaps.append(b"")
            else:
                gaps[-1] += self.table.pieces[token]
        after = [*gaps[1:-1], gaps[-1] or None] if task.parts else [None]
        return _Spelled(self._as_given(self.table.end_of(Begun(), gaps[0])), 0, after)

    def _as_given(self, begun: Begun) -> Begun:
        """The state in which a part begins: what the user has written stands, so an unknown word does not go on."""
        return Begun(unknown=True) if begun.run and not self.knows(begun.run) else begun

    def advance(self, state: _Spelled, token: int) -> _Spelled:
        """One token further."""
        if token == self.config.part:
            if state.part == 0:
                return state._replace(part=1)
            between = state.after[state.part - 1] if state.part <= len(state.after) else b""
            begun = self._as_given(self.table.end_of(state.begun, between or b""))
            return _Spelled(begun, state.part + 1, state.after)
        if token in self._labels:
            return state._replace(begun=Begun(unknown=True)) if self.config.guided else state
        return state._replace(begun=self.table.advance(state.begun, token))

    def mask(self, state: _Spelled, allowed: Allowed) -> None:
        """Pieces that make no word up; a part ends, and a label comes, only where no word is half written.

        When a part's tokens run out in the middle of a word, the word is finished first, which takes a few more.
        """
        begun, kinds = state.begun, allowed.kinds
        if allowed.state.written < 0:
            return
        if begun.sign or (begun.run and not self.knows(begun.run)):
            kinds &= ~LABELS
        if kinds & allowed.state.closing and not self._may_close(state):
            kinds &= ~allowed.state.closing
        if kinds:
            allowed.kinds, allowed.words = kinds, self.set_after(begun)
        elif begun.sign or begun.run:
            allowed.kinds, allowed.words = WORDS, self._finishing(begun)
        else:
            allowed.kinds = 0

    def _may_close(self, state: _Spelled) -> bool:
        """Whether the word that a part ends in, with what stands right after it, is none that is made up."""
        begun, after = state.begun, state.after[state.part - 1] if 0 < state.part <= len(state.after) else None
        if begun.sign:
            return False
        return not begun.run or self.knows(begun.run + _letters(after or b""))

    def set_after(self, begun: Begun) -> WordSet:
        """The pieces that may follow."""
        if not len(self.own):
            return self.table.set_after(begun)
        if begun not in self._sets:
            self._sets[begun] = self.table.with_more(self.table.set_after(begun), *self._own_ids_after(begun))
        return self._sets[begun]

    def _own_ids_after(self, begun: Begun) -> list[Ids]:
        """The pieces that may follow because of the words of this request's texts."""
        if begun.sign:
            return []
        if begun.unknown or not begun.run:
            return [self._first] if begun.unknown else [self._first, self.table.following(b"", self.own)]
        ids: list[Ids] = [self.table.following(begun.run, self.own)]
        ids += [self.table.between_words] if self.own.knows(begun.run) else []
        return [*ids, self._first] if self.knows(begun.run) else ids

    def _finishing(self, begun: Begun) -> WordSet:
        """The pieces that bring a word, or a sign, nearer its end."""
        key = begun.sign or begun.run
        if key not in self._ends:
            lexicons = (self.table.lexicon, self.own)
            ids = [self.table.completing(begun.run, lexicon) for lexicon in lexicons]
            self._ends[key] = self.table.word_set(*([self.table.continuing(begun.sign)] if begun.sign else ids))
        return self._ends[key]


def _letters(piece: bytes) -> bytes:
    """The letters that a piece begins with."""
    match = _LETTERS.match(piece)
    return match.group() if match else b""


class _Pieces(defaultdict[bytes, list[int]]):
    """The ids of pieces by their letters."""

    def along(self, lexicon: Lexicon, begun: bytes) -> list[int]:
        """The pieces by which words of a lexicon that have begun so may go on.

        They are found from the words, each beginning of what is left of them, or where there are many words from the
        pieces, one by one.
        """
        first, last = lexicon.span(begun)
        if (last - first) * _USUAL_LENGTH < len(self):
            size = len(begun)
            words = lexicon.beginning_with(begun)
            ends = self.keys() & {word[size:end] for word in words for end in range(size + 1, len(word) + 1)}
        else:
            ends = lexicon.beginnings(begun, self)
        return [token for letters in ends for token in self[letters]]
