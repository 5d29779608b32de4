"""Words into what the encoder reads: WordPiece ids, where each word begins and ends, and how it is capitalised."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from syntagma.errors import ConfigError, Place

PIECES_A_WORD = 8
"""Of a longer word only the first and the last pieces are read."""

_SAME = {"``": '"', "''": '"', "“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "`": "'", "-LRB-": "(", "-RRB-": ")"}
_SAME |= {"-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EncodedSentence:
    """A sentence as the encoder reads it: piece ids with the two marks around them, and the words' places among them.

    `first` and `last` hold, for the opening mark, each word and the closing mark, the index of its first and last
    piece.
    """

    pieces: list[int]
    shapes: list[int]
    first: list[int]
    last: list[int]


def shape_of(word: str) -> int:
    """How a word is capitalised: 0 not at all, 1 its first letter, 2 wholly, 3 otherwise.

    >>> [shape_of(word) for word in ("the", "The", "I", "USA", "iPhone", "42")]
    [0, 1, 1, 2, 3, 0]
    """
    if word == word.lower():
        return 0
    letters = [letter for letter in word if letter.isalpha()]
    if len(letters) > 1 and all(letter.isupper() for letter in letters):
        return 2
    return 1 if letters[0].isupper() and not any(letter.isupper() for letter in letters[1:]) else 3


_IDEOGRAPHS = (
    r"[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f]"
)
_ASCII_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_LONGEST_WORD = 100


class WordPieces:
    """The pieces of BERT's uncased vocabularies: the longest from the left, in lower case and without accents."""

    def __init__(self, text: str) -> None:
        """`text` is a `tokenizer.json`."""
        self.text = text
        values = json.loads(text)
        model, normal = values["model"], values["normalizer"]
        kinds = model["type"], normal["type"], values["pre_tokenizer"]["type"]
        if kinds != ("WordPiece", "BertNormalizer", "BertPreTokenizer") or not normal["lowercase"]:
            raise ValueError("it is no uncased BERT's")
        self.ids: dict[str, int] = model["vocab"]
        self._unknown = self.ids[model["unk_token"]]
        self._longest = max(map(len, self.ids))

    def __call__(self, text: str) -> list[int]:
        """The ids of a text."""
        return [number for word in _bert_words(text) for number in self._pieces(word)]

    def _pieces(self, word: str) -> list[int]:
        ids, start = [], 0
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        while start < len(word):
            mark = "##" if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                number = self.ids.get(mark + word[start:end])
                if number is not None:
                    break
            else:
                return [self._unknown]
            ids.append(number)
            start = end
        return ids


def _bert_words(text: str) -> Iterator[str]:
    """A text's words as BERT splits and spells them.

    >>> list(_bert_words("Café's\\u200b 東京"))
    ['cafe', "'", 's', '東', '京']
    """
    clean = "".join(" " if letter.isspace() else letter for letter in text if _is_read(letter))
    spaced = re.sub(_IDEOGRAPHS, r" \g<0> ", clean)
    plain = "".join(
        letter.lower() for letter in unicodedata.normalize("NFD", spaced) if unicodedata.category(letter) != "Mn"
    )
    apart = "".join(f" {letter} " if _is_punctuation(letter) else letter for letter in plain)
    yield from apart.split()


def _is_read(letter: str) -> bool:
    return letter in "\t\n\r" or (letter != "\ufffd" and unicodedata.category(letter) not in ("Cc", "Cf", "Co"))


def _is_punctuation(letter: str) -> bool:
    return letter in _ASCII_PUNCTUATION or unicodedata.category(letter).startswith("P")


class Pieces:
    """Splits words into pieces, remembering the words it has seen."""

    def __init__(self, tokenizer: WordPieces) -> None:
        self.tokenizer = tokenizer
        self.start, self.end, self.pad, self.unknown = (
            tokenizer.ids[mark] for mark in ("[CLS]", "[SEP]", "[PAD]", "[UNK]")
        )
        self._known: dict[str, tuple[list[int], int]] = {}

    @classmethod
    def load(cls, file: str | Path) -> Pieces:
        """From a `tokenizer.json`."""
        try:
            return cls(WordPieces(Path(file).read_text(encoding="utf-8")))
        except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
            raise ConfigError(f"it cannot be read ({error})", Place(str(file)), "give a whole model folder") from None

    def word(self, word: str) -> tuple[list[int], int]:
        """The piece ids of a word, at least one, and its shape."""
        known = self._known.get(word)
        if known is None:
            plain = _SAME.get(word) or word.replace("’", "'")
            ids = self.tokenizer(plain) or [self.unknown]
            if len(ids) > PIECES_A_WORD:
                ids = ids[: PIECES_A_WORD // 2] + ids[-PIECES_A_WORD // 2 :]
            known = ids, shape_of(word)
            if len(self._known) >= 200_000:
                self._known.clear()
            self._known[word] = known
        return known

    def encode(self, words: Sequence[str], limit: int) -> EncodedSentence:
        """A sentence in at most `limit` pieces: where it has more, every word keeps its first ones only."""
        split = [self.word(word) for word in words]
        most = PIECES_A_WORD
        while sum(min(len(ids), most) for ids, _ in split) + 2 > limit and most > 1:
            most -= 1
        pieces, shapes, first, last = [self.start], [0], [0], [0]
        for ids, shape in split:
            ids = ids[:most]
            first.append(len(pieces))
            pieces.extend(ids)
            shapes.extend([shape] * len(ids))
            last.append(len(pieces) - 1)
        first.append(len(pieces))
        last.append(len(pieces))
        return EncodedSentence([*pieces, self.end], [*shapes, 0], first, last)


def pad(rows: Sequence[Sequence[int]], filler: int) -> Ids:
    """Rows of ids as one array (rows, longest), filled up on the right."""
    width = max(map(len, rows))
    table = np.full((len(rows), width), filler, dtype=np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table
