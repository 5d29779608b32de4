"""`syntagma.Parser`: raw text to trees in one call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

from syntagma.errors import InputError
from syntagma.parse import base
from syntagma.text import split, split_tokens
from syntagma.tree import Tree


class Parser:
    """A parser of raw text: `Parser.from_pretrained()("I nod.")`.  It is itself a `base.ParserBackend`."""

    def __init__(self, backend: base.ParserBackend) -> None:
        self.backend = backend

    @classmethod
    def from_pretrained(cls, name: str = base.DEFAULT, *, device: str = "cpu", precision: str | None = None) -> Parser:
        """The parser of that name; `syntagma.parse.base` lists the names."""
        return cls(base.load_parser(name, device=device, precision=precision))

    @property
    def name(self) -> str:
        """The parser's name."""
        return self.backend.name

    @property
    def version(self) -> str:
        """Which version of it this is."""
        return self.backend.version

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of constituents that it produces."""
        return self.backend.labels

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        """The trees of sentences that are already split into words."""
        return self.backend.parse(sentences)

    @overload
    def __call__(self, text: str, *, tokenized: bool = False) -> Tree: ...  # type: ignore[overload-overlap]

    @overload
    def __call__(self, text: Iterable[str], *, tokenized: bool = False) -> list[Tree]: ...

    def __call__(self, text: str | Iterable[str], *, tokenized: bool = False) -> Tree | list[Tree]:
        """The tree of a sentence, or the trees of several; with `tokenized`, words are what white space parts."""
        if isinstance(text, str):
            return self._parse([text], tokenized)[0]
        return self._parse(list(text), tokenized)

    def _parse(self, texts: list[str], tokenized: bool) -> list[Tree]:
        cut = split_tokens if tokenized else split
        sentences = [cut(text).texts() for text in texts]
        for number, words in enumerate(sentences, 1):
            if not words:
                raise InputError(f"sentence {number} is empty", remedy="leave empty sentences out")
        return self.backend.parse(sentences)

    def __repr__(self) -> str:
        return f"Parser({self.name!r}, version {self.version!r})"
