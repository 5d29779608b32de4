"""The edit distance of two trees: the fewest nodes to insert, delete or rename (one each) to make one of the other.

The algorithm is Zhang and Shasha's (1989): distances of subtrees, from the leaves up, each from a table of distances
between *forests* (a prefix of a subtree in postorder).  Three things make it fast on parses.  A node's children may be
read from the left or, in both trees, from the right: the distance is the same and the cheaper side is taken.  A subtree
that is a single node, and in a parse most are, needs no table: its distance to a tree of n nodes is n, less one if its
label occurs there.  And all is flat arrays in postorder: nothing recurses, a tree may be as deep as memory allows.

A word counts as a node; take the words away first with `delexicalise` where only the structure is meant.

>>> edit_distance(Tree.read("(S (NP I) (VP nod))"), Tree.read("(S (NP I) (PP nod))"))
1
>>> edit_distance(Tree.read("(S (NP I) (VP nod))"), Tree.read("(S (VP nod))"))
2
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from syntagma.tree.node import CLOSE, Tree, Walk


def edit_distance(a: Tree, b: Tree) -> int:
    """The least number of insertions, deletions and renamings of single nodes that turns `a` into `b`."""
    first, second = a.walk, b.walk
    if first == second:
        return 0
    if first > second:  # the distance is symmetric: one order, one entry in the cache
        first, second = second, first
    return _distance(first, second)


def tree_size(tree: Tree) -> int:
    """The number of nodes, words included.

    >>> tree_size(Tree.read("(TOP (S (NP I) (VP nod)))"))
    6
    """
    walk = tree.walk
    return len(walk) - walk.count(CLOSE)


def normalised_edit_distance(a: Tree | None, b: Tree | None) -> float:
    """The edit distance divided by the sum of both sizes, from 0 (equal) to 1; None is the tree without nodes.

    >>> normalised_edit_distance(Tree("NP", [Tree("DT"), Tree("NN")]), Tree("NP", [Tree("NN")]))
    0.2
    """
    if a is None or b is None:
        return 0.0 if a is b else 1.0
    return edit_distance(a, b) / (tree_size(a) + tree_size(b))


class _Layout(NamedTuple):
    """A tree in postorder, its children read in one direction.

    `labels[i]` is node i's item of the walk, `first[i]` the first node of its subtree, so that the subtree is
    `first[i]..i`; `roots` are the nodes that need a table of their own: no later node begins where they do.
    """

    labels: tuple[str, ...]
    first: tuple[int, ...]
    roots: tuple[int, ...]
    work: int  # the sum of the sizes of the subtrees at `roots`


@lru_cache(maxsize=4096)
def _layouts(walk: Walk) -> tuple[_Layout, _Layout]:
    """The tree read from the left and from the right."""
    return _layout(walk, from_left=True), _layout(walk, from_left=False)


def _layout(walk: Walk, *, from_left: bool) -> _Layout:
    labels: list[str] = []
    first: list[int] = []
    opened: list[tuple[str, int]] = []
    for item in walk if from_left else _mirrored(walk):
        if item == CLOSE:
            label, start = opened.pop()
            labels.append(label)
            first.append(start)
        elif item[0] == "(":
            opened.append((item, len(labels)))
        else:
            first.append(len(labels))
            labels.append(item)
    last_with = {start: node for node, start in enumerate(first)}
    roots = sorted(last_with.values())
    return _Layout(tuple(labels), tuple(first), tuple(roots), sum(root - first[root] + 1 for root in roots))


def _mirrored(walk: Walk) -> list[str]:
    """The walk of the tree whose children stand in the reverse order."""
    mirrored: list[str] = []
    closed: list[int] = []  # where the closing that became an opening stands, until its label is met
    for item in reversed(walk):
        if item == CLOSE:
            closed.append(len(mirrored))
            mirrored.append("")
        elif item[0] == "(":
            mirrored[closed.pop()] = item
            mirrored.append(CLOSE)
        else:
            mirrored.append(item)
    return mirrored


@lru_cache(maxsize=8192)
def _distance(first: Walk, second: Walk) -> int:
    left_a, right_a = _layouts(first)
    left_b, right_b = _layouts(second)
    if left_a.work * left_b.work <= right_a.work * right_b.work:
        return _zhang_shasha(left_a, left_b)
    return _zhang_shasha(right_a, right_b)


def _zhang_shasha(a: _Layout, b: _Layout) -> int:
    """The distance of the two whole trees, from those of all pairs of their subtrees."""
    subtrees = [[0] * len(b.labels) for _ in a.labels]  # subtrees[i][j]: the distance of the subtrees at i and j
    for i in a.roots:
        for j in b.roots:
            if a.first[i] == i:
                _fill_row(subtrees[i], a.labels[i], b, j)
            elif b.first[j] == j:
                _fill_column(subtrees, a, i, b.labels[j], j)
            else:
                _fill_forests(subtrees, a, i, b, j)
    return subtrees[-1][-1]


def _fill_row(row: list[int], label: str, b: _Layout, j: int) -> None:
    """Distances of a single node called `label` to every subtree of `b` that begins where the one at j begins."""
    labels, first = b.labels, b.first
    start = first[j]
    kept = 0
    for y in range(start, j + 1):
        if labels[y] == label:
            kept = 1
        if first[y] == start:
            row[y] = y - start + 1 - kept


def _fill_column(subtrees: list[list[int]], a: _Layout, i: int, label: str, column: int) -> None:
    """The same for every subtree of `a` that begins where the one at i begins, into one column."""
    labels, first = a.labels, a.first
    start = first[i]
    kept = 0
    for x in range(start, i + 1):
        if labels[x] == label:
            kept = 1
        if first[x] == start:
            subtrees[x][column] = x - start + 1 - kept


def _fill_forests(subtrees: list[list[int]], a: _Layout, i: int, b: _Layout, j: int) -> None:
    """Distances of all pairs of subtrees that begin where those at i and j begin.

    `forests[x][y]` is the distance of the first x nodes of the one and the first y nodes of the other.
    """
    start_a, start_b = a.first[i], b.first[j]
    columns = [(y, b.first[y] - start_b) for y in range(start_b, j + 1)]
    labels_b = b.labels
    forests = [list(range(len(columns) + 1))]
    for x in range(start_a, i + 1):
        above, known = forests[-1], subtrees[x]
        left = above[0] + 1
        row = [left]
        diagonal = above[0]
        before = forests[a.first[x] - start_a]  # the forest without x's subtree
        if a.first[x] != start_a:
            for y, skipped in columns:
                best = before[skipped] + known[y]
                up = above[y - start_b + 1]
                if up < left:
                    left = up
                left = best if best <= left else left + 1
                row.append(left)
        else:
            label = a.labels[x]
            for y, skipped in columns:
                up = above[y - start_b + 1]
                best = skipped + known[y] if skipped else diagonal + (label != labels_b[y])
                diagonal = up
                if up < left:
                    left = up
                left = best if best <= left else left + 1
                row.append(left)
                if not skipped:
                    known[y] = left
        forests.append(row)
