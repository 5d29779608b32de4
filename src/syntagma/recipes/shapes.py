"""The shapes of sentences as templates, and the sentence of a pool that is nearest in shape to another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from syntagma.metrics.parsing import Parses, TreeMaker, load, words_of
from syntagma.metrics.trees import upper
from syntagma.template import Template, TemplateError
from syntagma.tree import Tree
from syntagma.tree.edit import normalised_edit_distance

_POOL = 2000
"""Sentences of a pool that are looked at, evenly spread."""


class ShapeReader:
    """Parses each sentence once; the parser is loaded when it is first needed."""

    def __init__(self, parser: str) -> None:
        self.name = parser
        self._trees: dict[str, Tree | None] = {}

    @cached_property
    def _parser(self) -> Parses:
        return load(self.name)

    def trees(self, sentences: Sequence[str]) -> list[Tree | None]:
        """The parse of each sentence; None where it has no words or the parser refuses it."""
        new = [text for text in dict.fromkeys(sentences) if text not in self._trees]
        wordy = [text for text in new if words_of(text)]
        maker = TreeMaker(self._parser, ()) if wordy else None
        parsed = maker.parse_all([words_of(text) for text in wordy]) if maker else []
        self._trees.update(dict.fromkeys(new))
        self._trees.update(zip(wordy, parsed, strict=True))
        return [self._trees[text] for text in sentences]

    def templates(self, sentences: Sequence[str], depth: int | None, labels: Sequence[str]) -> list[str]:
        """The shape of each sentence; nothing where it has no constituent that guides."""
        return [_template(tree, depth, labels) for tree in self.trees(sentences)]

    def nearest(self, references: Sequence[str], sources: Sequence[str], pool: Sequence[str]) -> list[str]:
        """For each reference the sentence of the pool nearest to it in shape, neither it nor its source itself."""
        pool = pool[:: max(1, len(pool) // _POOL)]
        shapes = [(text, upper(tree)) for text, tree in zip(pool, self.trees(pool), strict=True) if tree is not None]
        nearest = []
        for reference, tree, source in zip(references, self.trees(references), sources, strict=True):
            usable = [shape for shape in shapes if shape[0] not in (reference, source)]
            nearest.append("" if tree is None else _nearest(upper(tree), usable))
        return nearest


def _nearest(shape: Tree, pool: Sequence[tuple[str, Tree]]) -> str:
    """The text of the nearest shape; sizes bound a distance from below, so most of the pool is never compared."""
    size = _size(shape)
    best, least = "", 2.0
    for bound, text, other in sorted(
        ((abs(_size(other) - size) / (_size(other) + size), text, other) for text, other in pool),
        key=lambda candidate: candidate[:2],
    ):
        if bound >= least:
            break
        distance = normalised_edit_distance(shape, other)
        if distance < least:
            best, least = text, distance
    return best


def _size(tree: Tree) -> int:
    return sum(item[0] == "(" for item in tree.walk)


def _template(tree: Tree | None, depth: int | None, labels: Sequence[str]) -> str:
    if tree is None:
        return ""
    try:
        return str(Template.from_tree(tree, depth, labels))
    except TemplateError:  # a text without any constituent that guides
        return ""
