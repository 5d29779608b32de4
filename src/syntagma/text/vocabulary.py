"""The interface of every vocabulary, and loading of any `tokenizer.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from syntagma.errors import InputError, LabelError, Place
from syntagma.levels import TOP, Token
from syntagma.text.words import Sentence, Word


class Vocabulary(Protocol):
    """Text to ids and back, and the ids of labels, which no text reaches."""

    size: int
    labels: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """The same for equal vocabularies."""

    def encode(self, text: str | Sentence) -> list[int]:
        """The ids of a text as a source."""

    def encode_target(self, text: str | Sentence) -> list[int]:
        """The ids of a text as a target."""

    def encode_words(self, words: Sequence[Word]) -> list[tuple[int, ...]]:
        """The ids of each word of a text."""

    def decode(self, ids: Iterable[int]) -> str:
        """The text that ids spell, without labels."""

    def label_id(self, label: str) -> int:
        """The id of a label, `T` included."""

    def is_label(self, token_id: int) -> bool:
        """Whether an id is an open label."""

    def is_word(self, token_id: int) -> bool:
        """Whether an id is a piece of a word: no control token, no label, no mere white space."""

    def encode_tokens(self, tokens: Iterable[Token]) -> list[int]:
        """The ids of a context or infill."""

    def decode_tokens(self, ids: Iterable[int]) -> list[Token]:
        """The context or infill that ids spell."""

    def save(self, path: str | Path) -> None:
        """Write `tokenizer.json`."""


def find_label(ids: Mapping[str, int], label: str) -> int:
    """The id of a label among those of a vocabulary, `T` included."""
    try:
        return ids[label]
    except KeyError:
        known = ", ".join(name for name in ids if name != TOP.name)
        raise LabelError(f"{label!r} is not a label of this vocabulary", remedy=f"use one of {known}") from None


def load_vocabulary(path: str | Path) -> Vocabulary:
    """The vocabulary in a `tokenizer.json`: ours, a converted one, or a pretrained model's."""
    from syntagma.text import authors, pretrained
    from syntagma.text.subwords import Subwords

    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"it cannot be opened ({error.strerror})", Place(str(path)), "check the path") from None
    except ValueError:
        raise InputError("this is not a tokenizer.json", Place(str(path)), "restore that file") from None
    kind = values.get("kind") if isinstance(values, dict) else None
    if kind == authors.KIND:
        return authors.AuthorsSubwords.from_values(values)
    if kind == pretrained.KIND:
        return pretrained.PretrainedVocabulary.from_values(values)
    return Subwords.load(path)
