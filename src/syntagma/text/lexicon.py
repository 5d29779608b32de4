"""The words that a model knows: those of the texts that it has learnt to write.

Byte-pair encoding can spell anything, so a model that does not know a word may make one up from pieces: `seatburgers`.
A lexicon tells such coinages from words.  A word is a run of letters here, whatever its case: `don't` is `don` and `t`,
`rock-music` is `rock` and `music`; digits and signs are free.  Words are kept as bytes, because a piece may end in the
middle of a letter.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from pathlib import Path

from syntagma.files import atomic_write, open_binary, read_lines
from syntagma.text.words import split

_RUN = re.compile(rb"(?:[a-z]|[\xc3-\xdf](?:[\x80-\xbf]|\Z))+")
"""Letters of one or two bytes, the last perhaps not whole; longer ones, such as Chinese characters, are free."""
_OPEN_RUN = re.compile(_RUN.pattern + rb"\Z")


class Lexicon:
    """A set of words; letters other than ASCII's in every case that they may have.

    >>> lexicon = Lexicon.of(["We cannot see it.", "Seeing is believing."])
    >>> lexicon.knows(b"see"), lexicon.knows(b"seei"), list(lexicon.beginning_with(b"see"))
    (True, False, [b'see', b'seeing'])
    """

    def __init__(self, words: Iterable[bytes]) -> None:
        self._words = frozenset(words)
        self._sorted = sorted(self._words)

    def __len__(self) -> int:
        return len(self._words)

    @staticmethod
    def of(texts: Iterable[str]) -> Lexicon:
        """The words of texts."""
        return Lexicon({word for text in texts for word in words_of(text)})

    @staticmethod
    def load(path: str | Path) -> Lexicon:
        """The words of a file, one a line."""
        with open_binary(path) as stream:
            data = stream.read()
        try:
            data.decode()
        except UnicodeDecodeError:
            return Lexicon(map(str.encode, read_lines(path)))  # which says where, or unpacks it
        return Lexicon(data.removeprefix(BOM_UTF8).split())

    def save(self, path: str | Path) -> None:
        """Write a file with one word a line, in order."""
        with atomic_write(path) as stream:
            stream.writelines(word.decode() + "\n" for word in self._sorted)

    def knows(self, word: bytes) -> bool:
        """Whether this is a word."""
        return word in self._words

    def beginning_with(self, start: bytes) -> Iterator[bytes]:
        """The words that begin with a prefix."""
        for number in range(*self.span(start)):
            yield self._sorted[number]

    def begins(self, start: bytes) -> bool:
        """Whether a word begins with a prefix."""
        number = bisect_left(self._sorted, start)
        return number < len(self._sorted) and self._sorted[number].startswith(start)

    def beginnings(self, start: bytes, ends: Iterable[bytes]) -> set[bytes]:
        """Those of `ends` that, put behind `start`, begin a word.

        >>> sorted(Lexicon([b"seen", b"sea"]).beginnings(b"se", [b"a", b"e", b"el"]))
        [b'a', b'e']
        """
        low, high = self.span(start)
        words = [word.removeprefix(start) for word in self._sorted[low:high]]
        words.append(b"")  # which nothing is a beginning of
        return {end for end in ends if words[bisect_left(words, end, 0, high - low)].startswith(end)}

    def span(self, start: bytes) -> tuple[int, int]:
        """The range, in the order of all words, of those that begin with a prefix."""
        low = bisect_left(self._sorted, start)
        return low, bisect_left(self._sorted, start + b"\xff", low)  # a byte that no word has


def words_of(text: str) -> set[bytes]:
    """The words of a text, as they stand there and as it is cut into the words of a tree.

    >>> sorted(words_of("We cannot."))
    [b'can', b'cannot', b'not', b'we']
    """
    parts = {form for part in (text, *split(text).texts()) for form in (part, part.lower(), part.capitalize())}
    return {run for part in parts for run in letter_runs(part.encode(errors="replace"))}


def letter_runs(text: bytes) -> list[bytes]:
    """The runs of letters of a text, ASCII letters in lower case.

    >>> letter_runs(b"I don't. 3rd")
    [b'i', b'don', b't', b'rd']
    """
    return _RUN.findall(text.lower())


def open_run(text: bytes) -> bytes:
    """The run of letters that a text ends in.

    >>> open_run(b"a Boston"), open_run(b"a Boston.")
    (b'boston', b'')
    """
    match = _OPEN_RUN.search(text.lower())
    return match.group() if match else b""
