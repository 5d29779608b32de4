"""Trees for segments that come without them, by a parser of `syntagma.parse`.

This is the one place where metrics meet the parser, and only when a figure needs it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol, TypeAlias

from syntagma.errors import SyntagmaError
from syntagma.metrics.base import Candidate, Segment
from syntagma.tree import Tree

PARSED_FIELDS = {"hyp_tree": "hyp", "src_tree": "src", "ref_trees": "refs", "nbest_trees": "nbest"}
"""The fields that a parser fills, each with the field whose text it parses."""

_KEPT_TREES = 8192
Words: TypeAlias = tuple[str, ...]


class Parses(Protocol):
    """The interface of a parser: sentences as lists of words in, trees out, in order."""

    def parse(self, sentences: Sequence[Sequence[str]], /) -> Iterable[Tree]:
        """A tree for each sentence."""
        ...


class TreeMaker:
    """Fills the tree fields of segments; each sentence is parsed once as long as it is remembered.

    A text that comes with an induced tree is parsed in that tree's words, so that the two can be compared.  One that
    the parser refuses, such as one of a thousand words, has no tree; `refused` holds one reason for each.
    """

    def __init__(self, parser: Parses, fields: Collection[str]) -> None:
        self._parser = parser
        self._fields = frozenset(fields)
        self._known: dict[Words, Tree | None] = {}
        self.refused: list[str] = []

    def __call__(self, segments: Sequence[Segment]) -> Sequence[Segment]:
        """The segments with the trees that were asked for; a text without words has none."""
        wanted = [self._wanted(segment) for segment in segments]
        self._parse({words for fields in wanted for sentences in fields.values() for words in sentences})
        return [self._filled(segment, fields) for segment, fields in zip(segments, wanted, strict=True)]

    def _wanted(self, segment: Segment) -> dict[str, list[Words]]:
        """For each field to fill, the sentences to parse."""
        texts: dict[str, list[tuple[str, Tree | None]]] = {
            "hyp_tree": [(segment.hyp, segment.induced)],
            "src_tree": [(segment.src, None)],
            "ref_trees": [(ref, None) for ref in segment.refs],
            "nbest_trees": list(segment.nbest),
        }
        return {field: [words_of(*text) for text in texts[field]] for field in self._fields}

    def _filled(self, segment: Segment, fields: dict[str, list[Words]]) -> Segment:
        trees = {field: tuple([self._known[words] for words in sentences]) for field, sentences in fields.items()}
        if "hyp_tree" in trees:
            segment = segment._replace(hyp_tree=trees["hyp_tree"][0])
        if "src_tree" in trees:
            segment = segment._replace(src_tree=trees["src_tree"][0])
        if "ref_trees" in trees:
            segment = segment._replace(ref_trees=trees["ref_trees"])
        if "nbest_trees" in trees:
            pairs = zip(segment.nbest, trees["nbest_trees"], strict=True)
            segment = segment._replace(nbest=tuple([Candidate(candidate.text, tree) for candidate, tree in pairs]))
        return segment

    def _parse(self, sentences: set[Words]) -> None:
        if len(self._known) > _KEPT_TREES:
            self._known.clear()
        self._known[()] = None
        new = sorted(sentences - self._known.keys())
        self._known.update(zip(new, self._trees(new), strict=True))

    def parse_all(self, sentences: Sequence[Words]) -> list[Tree | None]:
        """The tree of each sentence; None where the parser refuses it."""
        return list(self._trees(list(sentences)))

    def _trees(self, sentences: list[Words]) -> Iterable[Tree | None]:
        if not sentences:
            return []
        try:
            return self._parser.parse(sentences)
        except SyntagmaError as error:
            if len(sentences) == 1:
                self.refused.append(error.what)
                return [None]
        return [tree for sentence in sentences for tree in self._trees([sentence])]


def words_of(text: str, tree: Tree | None = None) -> Words:
    """The words of a text: those of its tree if it has one over the same characters, else as `syntagma.text` splits it.

    >>> words_of("I can't"), words_of("I can't", Tree.read("(TOP (NP I) (VP can't))"))
    (('I', 'ca', "n't"), ('I', "can't"))
    """
    from syntagma.text import split

    if tree is not None and "".join(tree.words()) == "".join(text.split()):
        return tree.words()
    return split(text).texts()


class NoParserError(SyntagmaError):
    """There is no parser to make trees with."""


def describe(parser: Parses, name: str) -> str:
    """The parser as a signature names it: what it calls itself and its version, else the name it was asked for by."""
    return " ".join([str(getattr(parser, "name", name)), str(getattr(parser, "version", ""))]).strip()


def load(name: str, device: str = "cpu", precision: str | None = None) -> Parses:
    """The parser called `name`; `NoParserError` where this installation has none."""
    remedy = "give trees with hyp_trees=FILE and src_trees=FILE"
    try:
        from syntagma.parse import load_parser
    except ImportError:
        raise NoParserError("there is no parser in this installation", remedy=remedy) from None
    parser: Parses = load_parser(name, device=device, precision=precision)
    return parser
