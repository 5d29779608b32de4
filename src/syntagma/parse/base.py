"""The interface of every parser, and parsers by name.

A parser takes sentences that are already split into words and gives a tree each, in the same order and over the same
words.  The names that `load_parser` knows:

| name | parser |
|---|---|
| `parser-en`, or `neural` | the bundled neural parser; any other bundled name likewise |
| a folder | the neural parser in that folder |
| `A+B`, of names as above | several neural parsers, the mean of whose scores decides |
| `owner/name` | the neural parser of that name on the Hugging Face hub |
| `brackets:FILE` | a file of trees that is aligned with the text |
| `benepar`, `benepar:MODEL` | the Berkeley parser, by default its model `benepar_en3` |
| `stanza`, `stanza:LANGUAGE` | the parser of Stanza, by default for `en` |
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from syntagma.errors import ConfigError, InputError, MissingExtra, Place
from syntagma.hub import find_folder
from syntagma.runtime.device import find_device
from syntagma.tree import Tree

DEFAULT = "parser-en"


@runtime_checkable
class ParserBackend(Protocol):
    """Words in, trees out."""

    @property
    def name(self) -> str:
        """The parser's name."""

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


def load_parser(
    name: str = DEFAULT, threads: int = 1, device: str = "cpu", precision: str | None = None
) -> ParserBackend:
    """The parser of that name; this file's head lists the names.

    `threads` is how many a graph runs on; torch has a setting of its own.  `device` and `precision` are those of
    `syntagma.runtime.device`, for neural parsers of ours.
    """
    kind, _, argument = name.partition(":")
    if kind == "brackets":
        from syntagma.parse.brackets import BracketsParser

        if not argument:
            raise ConfigError("the parser 'brackets' lacks its file", remedy="name it as brackets:FILE")
        return BracketsParser(argument)
    if kind == "benepar":
        from syntagma.parse.benepar import BeneparParser

        return BeneparParser(argument or "benepar_en3")
    if kind == "stanza":
        from syntagma.parse.stanza import StanzaParser

        return StanzaParser(argument or "en")
    folders = neural_folders(name)
    if len(folders) == 1:
        from syntagma.parse.neural import NeuralParser

        return NeuralParser.load(folders[0][1], threads, device, precision)
    try:
        from syntagma.parse.ensemble import load_trainable
    except ImportError:
        raise MissingExtra("torch", "train", "several parsers as one") from None
    return load_trainable(name).to(find_device(device), precision)


def is_neural(name: str) -> bool:
    """Whether a name means neural parsers of ours."""
    return name.partition(":")[0] not in ("brackets", "benepar", "stanza")


def neural_folders(name: str) -> list[tuple[str, Path]]:
    """The neural parsers that a name means: the name and the folder of each."""
    names = [name] if Path(name).is_dir() else name.split("+")
    return [(member, find_folder(DEFAULT if member == "neural" else member, "parser", "network")) for member in names]
