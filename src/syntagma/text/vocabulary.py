"""The interface of every vocabulary, and loading of any `tokenizer.json`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from syntagma.errors import InputError, LabelError, Place
from syntagma.levels import PART, TOP, Label, Token
from syntagma.text.words import Sentence, Word

AUTHORS_KIND: Final = "subword-nmt"
PRETRAINED_KIND: Final = "pretrained"
PIECES_KIND: Final = "sentencepieces"
"""The marks of a `tokenizer.json` that `authors`, `pretrained` or `sentencepieces` made."""


class Vocabulary(Protocol):
    """Text to ids and back, and the ids of labels, which no text reaches."""

    size: int
    labels: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """A hash, the same for equal vocabularies."""

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


def ids_of(
    tokens: Iterable[Token], label_id: Callable[[str], int], part: int, word_ids: Callable[[Word], Iterable[int]]
) -> list[int]:
    """The ids of a context or infill whose words are given as `Word`s or as tuples of ids."""
    ids: list[int] = []
    for token in tokens:
        if isinstance(token, Label):
            ids.append(label_id(token.name))
        elif token is PART:
            ids.append(part)
        else:
            ids.extend(word_ids(token) if isinstance(token, Word) else token)
    return ids


def tokens_of(
    ids: Iterable[int],
    is_text: Callable[[int], bool],
    labels: Mapping[int, Label],
    part: int,
    words: Callable[[list[int]], Iterable[Word]],
) -> list[Token]:
    """Ids as labels, `PART`, and the words of each stretch of text between them."""
    tokens: list[Token] = []
    for run, control in text_runs(ids, is_text):
        tokens.extend(words(run) if run else ())
        if control == part:
            tokens.append(PART)
        elif control is not None and control in labels:
            tokens.append(labels[control])
    return tokens


def text_runs(ids: Iterable[int], is_text: Callable[[int], bool]) -> Iterator[tuple[list[int], int | None]]:
    """Stretches of text ids, each with the control token or label after it; None at the end."""
    run: list[int] = []
    for token_id in ids:
        if is_text(token_id):
            run.append(token_id)
        else:
            yield run, token_id
            run = []
    yield run, None


def load_vocabulary(path: str | Path) -> Vocabulary:
    """The vocabulary in a `tokenizer.json`: ours, a converted one, or a pretrained model's."""
    from syntagma.text.subwords import Subwords

    try:
        text = Path(path).read_text(encoding="utf-8")
        values = json.loads(text)
    except OSError as error:
        raise InputError(f"it cannot be opened ({error.strerror})", Place(str(path)), "check the path") from None
    except ValueError:
        raise InputError("this is not a tokenizer.json", Place(str(path)), "restore that file") from None
    kind = values.get("kind") if isinstance(values, dict) else None
    if kind == AUTHORS_KIND:
        from syntagma.text.authors import AuthorsSubwords

        return AuthorsSubwords.from_values(values)
    if kind == PRETRAINED_KIND:
        from syntagma.text.pretrained import PretrainedVocabulary

        return PretrainedVocabulary.from_values(values)
    return Subwords.load(path, text, values)
