"""Treebank trees into training examples: cleaning, label inventories, and variants of a sentence as people type it.

What is done to labels.  Tags that only one corpus uses for what the others call something else are renamed (`?` and
`!` are `.`, square brackets are tagged as round ones); slips of the pen are mended (`NPP` is `NP`, the tag `NP` is
`NN`).  `EDITED` (speech that is taken back), `CODE` (mark-up such as `<TURN>`) and `SU` (the slash that ends a spoken
unit) stay: they only ever stand over tokens of transcribed speech, so other text is not touched by them.  Labels and
tags seen fewer than `RARE` times are not learnt: such a constituent is left out of the tree, such a word has no tag to
learn from.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
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

PUNCTUATION = frozenset({",", ".", ":", "``", "''", "-LRB-", "-RRB-"})


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence with what the network learns from it: words, their tags, and the label of every constituent's span.

    The label of a span is its chain of single constituents, `S+VP`.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    spans: dict[tuple[int, int], str]
    silver: bool = False


@dataclass(frozen=True, slots=True)
class Variants:
    """How often a sentence is shown in another guise; the shares are of all its showings."""

    lower: float = 0.15
    upper: float = 0.02
    no_final: float = 0.10
    no_punctuation: float = 0.06
    joined: float = 0.04


def clean(tree: Tree) -> Tree:
    """The tree with renamed tags and labels, and the names only."""
    walk = tree.walk
    cleaned = []
    for at, item in enumerate(walk):
        if item[0] == "(":
            names = _TAGS if walk[at + 1][0] != "(" else _LABELS
            item = "(" + names.get(item[1:], item[1:])
        cleaned.append(item)
    return Tree.from_walk(cleaned)


def example(tree: Tree, silver: bool = False) -> Example:
    """What is to be learnt from a tree with parts of speech.

    >>> example(Tree.read("(TOP (S (VP (VB Go))))")).spans
    {(0, 1): 'S+VP'}
    """
    words: list[str] = []
    tags: list[str] = []
    spans: dict[tuple[int, int], str] = {}
    walk = collapse_unary(clean(tree)).walk
    opened: list[int] = []  # the starts of open constituents, -1 for a part of speech
    labels: list[str] = []
    for at, item in enumerate(walk[1:-1], 1):
        if item == CLOSE:
            start = opened.pop()
            if start >= 0:
                spans[start, len(words)] = labels.pop()
        elif item[0] != "(":
            words.append(unescape(item))
        elif walk[at + 1][0] != "(":
            tags.append(item[1:])
            opened.append(-1)
        else:
            labels.append(item[1:])
            opened.append(len(words))
    return Example(tuple(words), tuple(tags), spans, silver)


def read_examples(path: str | Path, silver: bool = False) -> list[Example]:
    """The examples of a file of trees, one a line or laid out; `SyntagmaError` where a tree lacks parts of speech."""
    found: list[Example] = []
    try:
        for tree in read_trees(read_lines(path)):
            _check_tags(tree, path, len(found) + 1)
            found.append(example(tree, silver))
    except SyntagmaError as error:
        raise error.at(file=str(path)) from None
    if not found:
        raise InputError("it holds no tree", Place(str(path)), "give a file of bracketed trees")
    return found


def _check_tags(tree: Tree, path: str | Path, number: int) -> None:
    walk = tree.walk
    for at, item in enumerate(walk):
        if item[0] != "(" and item != CLOSE and (walk[at - 1][0] != "(" or walk[at + 1] != CLOSE or at == 1):
            what = f"tree {number} has the word {unescape(item)!r} without a part of speech"
            raise InputError(what, Place(str(path)), "give trees such as (TOP (S (NP (PRP I)) (VP (VBP nod))))")


def find_file(folder: str | Path, part: str) -> Path | None:
    """The file `part.trees` or `part.trees.gz` in a folder."""
    for ending in (".trees", ".trees.gz"):
        path = Path(folder) / (part + ending)
        if path.is_file():
            return path
    return None


def inventory(examples: Iterable[Example], rare: int = RARE) -> tuple[list[str], list[str]]:
    """All labels, the null label first, and all tags that occur at least `rare` times, the commonest first."""
    labels: Counter[str] = Counter()
    tags: Counter[str] = Counter()
    for one in examples:
        labels.update(one.spans.values())
        tags.update(one.tags)
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


# -- variants


def vary(one: Example, variants: Variants, chance: random.Random) -> Example:
    """The sentence as it is, or in another guise; never an empty one."""
    draw = chance.random()
    if draw < variants.no_punctuation:
        one = keep_words(one, [tag not in PUNCTUATION for tag in one.tags])
    elif draw < variants.no_punctuation + variants.no_final and one.tags[-1] == ".":
        one = keep_words(one, [True] * (len(one.tags) - 1) + [False])
    if chance.random() < variants.joined:
        one = join_clitics(one)
    draw = chance.random()
    if draw < variants.lower:
        one = Example(tuple(word.lower() for word in one.words), one.tags, one.spans, one.silver)
    elif draw < variants.lower + variants.upper:
        one = Example(tuple(word.upper() for word in one.words), one.tags, one.spans, one.silver)
    return one


def keep_words(one: Example, kept: Sequence[bool]) -> Example:
    """The sentence with only those words; constituents that come to cover the same words become one chain."""
    if all(kept) or not any(kept):
        return one
    places = [0]
    for keep in kept:
        places.append(places[-1] + keep)
    spans: dict[tuple[int, int], str] = {}
    for (start, end), label in sorted(one.spans.items(), key=lambda item: (item[0][0], -item[0][1])):
        span = places[start], places[end]
        if span[0] < span[1]:
            spans[span] = f"{spans[span]}+{label}" if span in spans else label
    words = tuple(word for word, keep in zip(one.words, kept, strict=True) if keep)
    tags = tuple(tag for tag, keep in zip(one.tags, kept, strict=True) if keep)
    return Example(words, tags, spans, one.silver)


def join_clitics(one: Example) -> Example:
    """`ca n't` and `John 's` as one word each, as text cut at white space has them, tagged as their first half."""
    words = list(one.words)
    kept = [True] * len(words)
    for at in range(1, len(words)):
        if kept[at - 1] and (words[at].lower() == "n't" or one.tags[at] == "POS"):
            words[at - 1] += words[at]
            kept[at] = False
    return keep_words(Example(tuple(words), one.tags, one.spans, one.silver), kept)
