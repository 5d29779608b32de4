"""Treebank trees into training examples: cleaning and label inventories.

What is done to labels.  Tags that only one corpus uses for what the others call something else are renamed (`?` and
`!` are `.`, square brackets are tagged as round ones); slips of the pen are mended (`NPP` is `NP`, the tag `NP` is
`NN`).  `EDITED` (speech that is taken back), `CODE` (mark-up such as `<TURN>`) and `SU` (the slash that ends a spoken
unit) stay: they only ever stand over tokens of transcribed speech, so other text is not touched by them.  Labels and
tags seen fewer than `RARE` times are not learnt: such a constituent is left out of the tree, such a word has no tag to
learn from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from syntagma.errors import InputError, Place, SyntagmaError
from syntagma.files import read_lines
from syntagma.tree import Tree, collapse_unary, read_trees
from syntagma.tree.node import CLOSE, unescape

RARE = 5
NULL = ""
"""The label of a span that is no constituent."""

_LABELS = {"NPP": "NP"}
_TAGS = {
    "?": ".",
    "!": ".",
    "`": "``",
    "'": "''",
    "-LSB-": "-LRB-",
    "-RSB-": "-RRB-",
    "-LCB-": "-LRB-",
    "-RCB-": "-RRB-",
}
_TAGS |= {"PRT": "RP", "NP": "NN", "NFP": ":"}


@dataclass(frozen=True, slots=True)
class TreebankExample:
    """A sentence with what the network learns from it: words, their tags, and the label of every constituent's span.

    The label of a span is its chain of single constituents, `S+VP`.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    spans: dict[tuple[int, int], str]
    silver: bool = False


def clean(tree: Tree) -> Tree:
    """The tree with renamed tags and labels, and the names only."""
    walk = tree.walk
    cleaned = []
    for index, item in enumerate(walk):
        if item[0] == "(":
            names = _TAGS if walk[index + 1][0] != "(" else _LABELS
            item = "(" + names.get(item[1:], item[1:])
        cleaned.append(item)
    return Tree.from_walk(cleaned)


def example(tree: Tree, silver: bool = False) -> TreebankExample:
    """Make an example of a tree with parts of speech.

    >>> example(Tree.read("(TOP (S (VP (VB Go))))")).spans
    {(0, 1): 'S+VP'}
    """
    words: list[str] = []
    tags: list[str] = []
    spans: dict[tuple[int, int], str] = {}
    walk = collapse_unary(clean(tree)).walk
    opened: list[int] = []  # the starts of open constituents, -1 for a part of speech
    labels: list[str] = []
    for index, item in enumerate(walk[1:-1], 1):
        if item == CLOSE:
            start = opened.pop()
            if start >= 0:
                spans[start, len(words)] = labels.pop()
        elif item[0] != "(":
            words.append(unescape(item))
        elif walk[index + 1][0] != "(":
            tags.append(item[1:])
            opened.append(-1)
        else:
            labels.append(item[1:])
            opened.append(len(words))
    return TreebankExample(tuple(words), tuple(tags), spans, silver)


def read_examples(path: str | Path, silver: bool = False) -> list[TreebankExample]:
    """The examples of a file of trees, one a line or laid out; `SyntagmaError` where a tree lacks parts of speech."""
    examples: list[TreebankExample] = []
    try:
        for tree in read_trees(read_lines(path)):
            _check_tags(tree, path, len(examples) + 1)
            examples.append(example(tree, silver))
    except SyntagmaError as error:
        raise error.at(file=str(path)) from None
    if not examples:
        raise InputError("it holds no tree", Place(str(path)), "give a file of bracketed trees")
    return examples


def _check_tags(tree: Tree, path: str | Path, number: int) -> None:
    walk = tree.walk
    for index, item in enumerate(walk):
        if item[0] != "(" and item != CLOSE and (walk[index - 1][0] != "(" or walk[index + 1] != CLOSE or index == 1):
            what = f"tree {number} has the word {unescape(item)!r} without a part of speech"
            raise InputError(what, Place(str(path)), "give trees such as (TOP (S (NP (PRP I)) (VP (VBP nod))))")


def find_file(folder: str | Path, part: str) -> Path | None:
    """The file `part.trees` or `part.trees.gz` in a folder."""
    for ending in (".trees", ".trees.gz"):
        path = Path(folder) / (part + ending)
        if path.is_file():
            return path
    return None


def inventory(examples: Iterable[TreebankExample], rare: int = RARE) -> tuple[list[str], list[str]]:
    """All labels, the null label first, and all tags that occur at least `rare` times, the commonest first."""
    labels: Counter[str] = Counter()
    tags: Counter[str] = Counter()
    for example in examples:
        labels.update(example.spans.values())
        tags.update(example.tags)
    by_count = ([name for name, count in counts.most_common() if count >= rare] for counts in (labels, tags))
    known_labels, known_tags = by_count
    return [NULL, *known_labels], known_tags


def backoff(label: str, known: set[str] | dict[str, int]) -> str:
    """The label itself, or the longest known chain that is left when outer links are taken off it.

    >>> backoff("FRAG+S+VP", {"S+VP", "VP"})
    'S+VP'
    """
    while label and label not in known:
        label = label.partition("+")[2]
    return label
