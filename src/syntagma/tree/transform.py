"""Trees into other trees: cleaning a treebank's trees, pruning to the kept labels, taking the words away.

>>> tree = Tree.read("(TOP (S (NP-SBJ (PRP I)) (VP (VBD ate) (NP (DT an) (NN apple))) (. .)))")
>>> str(prune(strip_tags(tree)))
'(TOP (S (NP I) (VP ate (NP an apple)) .))'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from syntagma.tree.node import CLOSE, Tree, check_word, constituent_ends, escape

KEPT_LABELS: tuple[str, ...] = ("S", "NP", "VP", "PP")
"""The labels that guide generation unless a user chooses others."""

_TAG_MARKS = "-=|"
_FUNCTION_TAG = re.compile(r"(?<=[^-=|])[-=|].*")


def prune(tree: Tree, labels: Collection[str] = KEPT_LABELS) -> Tree:
    """The tree with only the constituents of `labels` left under its root; a removed one's children move up."""
    openings = {"(" + label for label in labels}
    walk = tree.walk
    pruned = [walk[0]]
    closings = [CLOSE]  # for each open constituent, what its closing leaves: nothing where it is removed
    for item in walk[1:]:
        if item == CLOSE:
            if closings.pop():
                pruned.append(CLOSE)
        elif item in openings:
            closings.append(CLOSE)
            pruned.append(item)
        elif item[0] == "(":
            closings.append("")
        else:
            pruned.append(item)
    return Tree.from_walk(pruned)


def relabel(tree: Tree, name: Callable[[str], str]) -> Tree:
    """The tree with `name(label)` for every label."""
    return Tree.from_walk("(" + name(item[1:]) if item[0] == "(" else item for item in tree.walk)


def strip_tags(tree: Tree) -> Tree:
    """`NP-SBJ=1` becomes `NP`; labels that begin with a hyphen, such as `-LRB-`, stay."""
    return relabel(tree, lambda label: label if label[0] == "-" else _FUNCTION_TAG.sub("", label))


def strip_traces(tree: Tree) -> Tree | None:
    """The tree without `-NONE-` and what it leaves empty; None where nothing is left."""
    kept: list[str] = []
    in_trace = False
    for item in tree.walk:
        if item == "(-NONE-":
            in_trace = True
        if item == CLOSE and kept[-1][0] == "(":
            kept.pop()
            in_trace = False
        elif not in_trace or item[0] == "(":
            kept.append(item)
    return Tree.from_walk(kept) if kept else None


def clean(tree: Tree, labels: Collection[str] = KEPT_LABELS) -> Tree:
    """A treebank's tree with its words and constituents only: no traces, and no function tags unless `labels` has some.

    >>> str(clean(Tree.read("(TOP (S (NP-SBJ (PRP I)) (VP (VBP nod) (S (NP (-NONE- *))))))")))
    '(TOP (S (NP (PRP I)) (VP (VBP nod))))'
    """
    walk = tree.walk
    if "(-NONE-" in walk:
        tree = strip_traces(tree) or tree
    if any(mark in label for label in labels for mark in _TAG_MARKS):
        return tree
    return strip_tags(tree) if any(item[0] == "(" and _FUNCTION_TAG.search(item, 1) for item in walk) else tree


def collapse_unary(tree: Tree, joiner: str = "+") -> Tree:
    """Chains of single constituents joined into one label; the root and the parts of speech stay apart.

    >>> str(collapse_unary(Tree.read("(TOP (S (VP (VB Go))))")))
    '(TOP (S+VP (VB Go)))'
    """
    walk = tree.walk
    ends = constituent_ends(walk)
    joined: list[str] = [walk[0]]
    skipped: set[int] = set()  # the closings of the inner links of a chain
    for index in range(1, len(walk)):
        item = walk[index]
        if item[0] == "(":
            only_child = index > 1 and walk[index - 1][0] == "(" and ends[index - 1] == ends[index] + 1
            if only_child and ends[index] - index > 3:
                joined[-1] += joiner + item[1:]
                skipped.add(ends[index] - 1)
                continue
        if index not in skipped:
            joined.append(item)
    return Tree.from_walk(joined)


def expand_unary(tree: Tree, joiner: str = "+") -> Tree:
    """The reverse of `collapse_unary`."""
    expanded: list[str] = []
    links: list[int] = []
    for item in tree.walk:
        if item == CLOSE:
            expanded.extend([CLOSE] * links.pop())
        elif item[0] == "(":
            labels = item[1:].split(joiner) if item[1:] != joiner else [joiner]
            links.append(len(labels))
            expanded.extend("(" + label for label in labels)
        else:
            expanded.append(item)
    return Tree.from_walk(expanded)


def with_words(tree: Tree, words: Sequence[str]) -> Tree:
    """The tree over other words, one for each leaf, in order."""
    if len(words) != len(tree):
        raise ValueError(f"the tree has {len(tree)} words, {len(words)} were given")
    for word in words:
        check_word(word)
    fresh = iter(words)
    return Tree.from_walk(item if item[0] == "(" or item == CLOSE else escape(next(fresh)) for item in tree.walk)


def delexicalise(tree: Tree, depth: int | None = None) -> Tree:
    """The tree without its words, and without what lies deeper than `depth` (the root is at depth 1).

    >>> str(delexicalise(prune(Tree.read("(S (NP (PRP I)) (VP (VBD ate) (NP (NN fruit))))"))))
    '(TOP (S (NP) (VP (NP))))'
    """
    kept: list[str] = []
    level = 0
    for item in tree.walk:
        level += item[0] == "("
        if (item[0] == "(" or item == CLOSE) and (depth is None or level <= depth):
            kept.append(item)
        level -= item == CLOSE
    return Tree.from_walk(kept)
