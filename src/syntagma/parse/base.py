"""What every parser is, and how one is found by its name.

A parser takes sentences that are already split into words and gives a tree each, in the same order and over the same
words.  The names that `load_parser` knows:

| name | parser |
|---|---|
| `parser-en`, or `neural` | the bundled neural parser; any other bundled name likewise |
| a folder | the neural parser in that folder |
| `owner/name` | the neural parser of that name on the Hugging Face hub |
| `brackets:FILE` | a file of trees that is aligned with the text |
| `benepar`, `benepar:MODEL` | the Berkeley parser, by default its model `benepar_en3` |
| `stanza`, `stanza:LANGUAGE` | the parser of Stanza, by default for `en` |
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from syntagma.errors import ConfigError, InputError, Place
from syntagma.tree import Tree

DEFAULT = "parser-en"


@runtime_checkable
class Parser(Protocol):
    """Words in, trees out."""

    @property
    def name(self) -> str:
        """What the parser is called."""

    @property
    def version(self) -> str:
        """Which version of it this is; a corpus records it."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of constituents that it produces; empty where only its input says."""

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        """A tree with the root `TOP` for each sentence, in order; its words are the sentence's."""


class SentenceError(InputError):
    """A sentence that cannot be parsed; `number` says which of those that were handed in, counting from 0."""

    def __init__(self, what: str, number: int, remedy: str) -> None:
        super().__init__(what, Place(line=number + 1), remedy)
        self.number = number


def bundled_folder(name: str) -> Path | None:
    """Where the package keeps the model of that name, None where it has none."""
    import syntagma

    folder = Path(syntagma.__file__).parent / "bundled" / name
    return folder if (folder / "config.json").is_file() else None


def load_parser(name: str = DEFAULT) -> Parser:
    """The parser of that name; this file's head lists the names."""
    kind, _, rest = name.partition(":")
    if kind == "brackets":
        from syntagma.parse.brackets import BracketsParser

        if not rest:
            raise ConfigError("the parser 'brackets' lacks its file", remedy="name it as brackets:FILE")
        return BracketsParser(rest)
    if kind == "benepar":
        from syntagma.parse.benepar import BeneparParser

        return BeneparParser(rest or "benepar_en3")
    if kind == "stanza":
        from syntagma.parse.stanza import StanzaParser

        return StanzaParser(rest or "en")
    folder = _folder(DEFAULT if name == "neural" else name)
    from syntagma.parse.neural import NeuralParser

    return NeuralParser.load(folder)


def _folder(name: str) -> Path:
    found = bundled_folder(name) if re.fullmatch(r"[\w.-]+", name) else None
    if found is not None:
        return found
    if Path(name).is_dir():
        return Path(name)
    if re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        return _from_hub(name)
    what = f"there is no parser {name!r}"
    raise ConfigError(what, remedy=f"use {DEFAULT}, a model folder, brackets:FILE, benepar or stanza")


def _from_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        files = ["config.json", "model.safetensors", "tokenizer.json", "README.md"]
        return Path(snapshot_download(name, allow_patterns=files))
    except Exception as error:  # no network, no such name, no access: the library has an error for each
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        what = f"{name!r} is no folder here, and it cannot be fetched from the hub ({reason})"
        raise ConfigError(what, remedy="check the name, or give a folder") from None
