"""Raw text into words that remember the white space before them, and back, byte for byte.

Words are cut as in the Penn Treebank, so that a parser trained on it sees what it knows: punctuation stands alone,
`can't` is `ca` and `n't`, `Mr.` keeps its dot.  The cut only ever splits: nothing is changed, so joining is exact for
any text.  Quotes stay as they were typed.  German and Romanian are served by the same rules; text that is already
tokenised is left as it is, because a token of the Treebank is hardly ever cut further.

>>> [word.text for word in split('He can\\'t say "no," Mr. Li.').words]
['He', 'ca', "n't", 'say', '"', 'no', ',', '"', 'Mr.', 'Li', '.']
>>> str(split("ca|n't  stop ")), split(" a ").tail
("ca|n't  stop ", ' ')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Word(NamedTuple):
    """A word and the white space that stood before it."""

    text: str
    space: str = " "


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of a text, and the white space after the last."""

    words: tuple[Word, ...]
    tail: str = ""

    def __str__(self) -> str:
        return join(self.words) + self.tail

    def texts(self) -> tuple[str, ...]:
        """The words without their spacing."""
        return tuple(word.text for word in self.words)


def join(words: Iterable[Word]) -> str:
    """The words as text, each after its white space."""
    return "".join(word.space + word.text for word in words)


# Characters that stand alone wherever they are; a word is a run of the others.  Combining marks are no punctuation, so
# they stay with their letter in every script.
_ALONE = re.escape("\"“”„«»‹›()[]{}<>;$€£¥%。、，！？；：「」『』（）《》〈〉【】؟،؛।¿¡—–―…!?,:'’‘‚`")
_INNER = rf"[^\s{_ALONE}.]"  # what a word is made of; full stops are judged one by one

_PIECE = re.compile(
    rf"""
    (?P<space>\s+)
  | (?P<whole>
        (?:https?://|www\.)[^\s<>"“”]*[^\s<>"“”.,;:!?'’)\]]     # an address
      | [^\s{_ALONE}]{{1,64}}@[^\s{_ALONE}]{{1,250}}\.[^\s{_ALONE}.]+  # an e-mail address
      | ``|''|\.\.+|-{{2,}}|[!?]{{2,}}|…+|[—–―]+                # quotes of the Treebank, dots, dashes, ?!
      | (?<!\S)['’](?i:s|m|d|ll|re|ve|em|til|cause|bout|tis|twas|n['’]?|\d\ds?)(?![^\s{_ALONE}])
    )
  | (?P<word>
        (?:\.(?=\d))?{_INNER}
        (?: {_INNER}
          | ['’](?={_INNER})                       # o'clock, don't
          | (?<=\d)[,:.](?=\d)                     # 1,000.5 and 10:30
          | (?<![a-zà-ÿ])\.(?={_INNER})            # U.S.A; a small letter may end a sentence ...
          | (?<=[a-zà-ÿ])\.(?=[a-z0-9à-ÿ])         # ... unless a small letter follows, as in e.g. and example.com,
          | (?:(?<=\b[a-z])|(?<=\bPh))\.(?=[A-Z])  # ... or the letter is alone, as in z.B.
        )*
    )
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)

_CLITIC = re.compile(
    r"(?i)(.+)(n['’]t)$|(.+)(['’](?:s|m|d|ll|re|ve))$"
    r"|(can)(not)$|(gon|wan)(na)$|(got)(ta)$|(gim|lem)(me)$|(d['’])(ye)$|(more)(['’]n)$"
)
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]$|Ph\.D$|[A-Z]$")
_END_OF_TEXT = re.compile(r"[\s\"”’')\]]*\Z")
_ABBREVIATIONS = frozenset(
    re.findall(
        r"\w+",
        """
        mr mrs ms dr prof st jr sr rev gen col sgt capt lt gov sen rep hon pres mt vs etc inc corp co ltd dept univ assn
        bros no nos vol vols fig figs ed eds pp approx est jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed
        thu fri sat sun ave blvd rd ft cf al messrs pty calif fla mass conn pa ill mich colo ga miss ore nev va tenn
        ariz wash minn md mo la ind wis bzw ca nr usw str hr tel dvs dl dna
        """,
    )
)


def split(text: str) -> Sentence:
    """The words of `text`; `str()` of the result is `text` again."""
    words: list[Word] = []
    space = ""
    for piece, is_space in _pieces(text):
        if is_space:
            space = piece
        else:
            words.append(Word(piece, space))
            space = ""
    return Sentence(tuple(words), space)


def split_tokens(text: str) -> Sentence:
    """The words of text whose words are already apart: cut at white space only."""
    words = re.findall(r"(\s*)(\S+)", text)
    return Sentence(tuple(Word(word, space) for space, word in words), text[len(text.rstrip()) :] if words else text)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Words and stretches of white space in order, each with whether it is white space."""
    position, size = 0, len(text)
    while position < size:
        match = _PIECE.match(text, position)
        assert match is not None  # the last alternative takes any character
        piece, kind = match.group(), match.lastgroup
        position = match.end()
        if kind != "word":
            yield piece, kind == "space"
            continue
        if (
            position < size
            and text[position] == "."
            and not text.startswith("..", position)
            and _keeps_dot(piece, text, position + 1)
        ):
            piece += "."
            position += 1
        for part in _clitics(piece):
            yield part, False


def _keeps_dot(word: str, text: str, after: int) -> bool:
    """Whether the full stop after `word` belongs to it rather than to the sentence."""
    if _ACRONYM.match(word):
        return len(word) > 1 or not _ends_text(text, after)
    return word.lower() in _ABBREVIATIONS and not _ends_text(text, after)


def _ends_text(text: str, after: int) -> bool:
    return _END_OF_TEXT.match(text, after) is not None


def _clitics(word: str) -> list[str]:
    """The word and what leans on it: `mustn't've` -> `must`, `n't`, `'ve`."""
    cut: list[str] = []
    while ("'" in word or "’" in word or len(word) < 7) and (match := _CLITIC.match(word)):
        word, last = (part for part in match.groups() if part)
        cut.append(last)
    return [word, *reversed(cut)]
