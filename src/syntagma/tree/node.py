"""A constituency tree as an immutable value.

A `Tree` has a label and children; a child is another `Tree` or a word (`str`).  Inside, a tree is *its walk*: the flat
tuple `("(NP", "(DT", "an", ")", "(NN", "apple", ")", ")")`, an opening with its label, a word, or a closing each.  So
reading, writing, comparing, hashing and pickling are the work of `str` and `tuple`, every transformation is one loop
over the walk, and a tree may be as deep as memory allows: nothing recurses.  A child shares its parent's walk.

>>> tree = Tree("NP", [Tree("DT", ["an"]), Tree("NN", ["apple"])])
>>> tree.words(), tree.depth
(('an', 'apple'), 3)
>>> tree == Tree.read("(TOP (NP (DT an) (NN apple)))").children[0]
True
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

from syntagma.errors import BracketError, LabelError

Child: TypeAlias = "Tree | str"
Walk: TypeAlias = tuple[str, ...]

CLOSE = ")"


class Span(NamedTuple):
    """A labelled constituent over the words `start` up to, not including, `end`; `depth` is 1 at the root."""

    start: int
    end: int
    depth: int
    label: str


class Tree:
    """A constituent: a label over its children, each a `Tree` or a word; no children where the words were taken away.

    The constructor copies its children's walks.  To build a deep tree in linear time, spell its walk: `Tree.from_walk`.
    """

    __slots__ = ("_ends", "_start", "_stop", "_walk")

    _walk: Walk
    _start: int
    _stop: int
    _ends: list[int]  # for each opening of the walk, where its constituent stops; shared with the children

    def __init__(self, label: str, children: Iterable[Child] = ()) -> None:
        check_label(label)
        walk = ["(" + label]
        for child in children:
            if isinstance(child, Tree):
                walk.extend(child.walk)
            elif isinstance(child, str):
                check_word(child)
                walk.append(escape(child))
            else:
                raise TypeError(f"a child is a Tree or a str, not {type(child).__name__}")
        walk.append(CLOSE)
        _fill(self, tuple(walk), 0, len(walk), [])

    @staticmethod
    def from_walk(walk: Iterable[str]) -> Tree:
        """The tree with that walk, which must be balanced and hold one tree; labels and words are not checked."""
        flat = tuple(walk)
        return _fill(_new(Tree), flat, 0, len(flat), [])

    @staticmethod
    def read(text: str) -> Tree:
        """The tree that `text` spells in brackets; `syntagma.tree.brackets` says what is accepted."""
        from syntagma.tree.brackets import read_tree

        return read_tree(text)

    # -- the value

    @property
    def walk(self) -> Walk:
        """The tree as a flat walk: `"(LABEL"`, a word with its brackets escaped, or `")"`."""
        return self._walk[self._start : self._stop]

    @property
    def label(self) -> str:
        """The name of this constituent."""
        return self._walk[self._start][1:]

    @property
    def children(self) -> tuple[Child, ...]:
        """The constituents and words directly below."""
        walk, ends = self._walk, self._ends
        if not ends:
            ends.extend(constituent_ends(walk))
        children: list[Child] = []
        index = self._start + 1
        while walk[index] != CLOSE:
            if walk[index][0] == "(":
                children.append(_fill(_new(Tree), walk, index, ends[index], ends))
                index = ends[index]
            else:
                children.append(unescape(walk[index]))
                index += 1
        return tuple(children)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Tree cannot be changed; build a new one instead of setting {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Tree cannot be changed; build a new one instead of deleting {name!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self is other or self.walk == other.walk

    def __hash__(self) -> int:
        return hash(self.walk)

    def __len__(self) -> int:
        """The number of words."""
        return sum(1 for item in self.walk if item[0] != "(" and item != CLOSE)

    def __bool__(self) -> bool:
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return (Tree.from_walk, (self.walk,))

    def __str__(self) -> str:
        return " ".join(self.walk).replace(" )", ")")

    def __repr__(self) -> str:
        text = str(self)
        return f"Tree.read({text if len(text) <= 200 else text[:200] + '...'!r})"

    # -- what can be asked of it

    def words(self) -> tuple[str, ...]:
        """The words at the leaves, left to right."""
        return tuple(unescape(item) for item in self.walk if item[0] != "(" and item != CLOSE)

    def nodes(self) -> Iterator[Tree]:
        """Every constituent, parents before children, left to right."""
        walk = self._walk
        if not self._ends:
            self._ends.extend(constituent_ends(walk))
        for index in range(self._start, self._stop):
            if walk[index][0] == "(":
                yield _fill(_new(Tree), walk, index, self._ends[index], self._ends)

    @property
    def depth(self) -> int:
        """Nodes on the longest way down, the word included: `(T hi)` has depth 2."""
        deepest = depth = 0
        for item in self.walk:
            if item == CLOSE:
                depth -= 1
            elif item[0] == "(":
                depth += 1
                deepest = max(deepest, depth)
            else:
                deepest = max(deepest, depth + 1)
        return deepest

    def spans(self) -> list[Span]:
        """All constituents with the words they cover, parents before children, left to right."""
        spans: list[Span] = []
        opened: list[int] = []
        position = 0
        for item in self.walk:
            if item == CLOSE:
                number = opened.pop()
                spans[number] = spans[number]._replace(end=position)
            elif item[0] == "(":
                opened.append(len(spans))
                spans.append(Span(position, position, len(opened), item[1:]))
            else:
                position += 1
        return spans

    def is_preterminal(self) -> bool:
        """Whether this is a part-of-speech node: exactly one child, a word."""
        return self._stop - self._start == 3 and self._walk[self._start + 1][0] != "("


# Slots are written once, past `Tree.__setattr__`, and only here.
_new = object.__new__
_set_walk = Tree._walk.__set__  # type: ignore[attr-defined,misc]
_set_start = Tree._start.__set__  # type: ignore[attr-defined,misc]
_set_stop = Tree._stop.__set__  # type: ignore[attr-defined,misc]
_set_ends = Tree._ends.__set__  # type: ignore[attr-defined,misc]


def _fill(tree: Tree, walk: Walk, start: int, stop: int, ends: list[int]) -> Tree:
    _set_walk(tree, walk)
    _set_start(tree, start)
    _set_stop(tree, stop)
    _set_ends(tree, ends)
    return tree


def constituent_ends(walk: Sequence[str]) -> list[int]:
    """For each opening of a walk, the index after its closing; 0 at every other place.

    >>> constituent_ends(("(NP", "(NN", "fruit", ")", ")"))
    [5, 4, 0, 0, 0]
    """
    ends = [0] * len(walk)
    opened: list[int] = []
    for index, item in enumerate(walk):
        if item == CLOSE:
            ends[opened.pop()] = index + 1
        elif item[0] == "(":
            opened.append(index)
    return ends


def escape(word: str) -> str:
    """A word as it stands in brackets: `(` is written `-LRB-` and `)` is written `-RRB-`."""
    return word.replace("(", "-LRB-").replace(")", "-RRB-") if "(" in word or ")" in word else word


def unescape(item: str) -> str:
    """The word that stands in brackets as `item`."""
    return item.replace("-LRB-", "(").replace("-RRB-", ")") if "RB-" in item else item


def check_label(label: str) -> None:
    """Raise `LabelError` unless `label` can stand in brackets, templates and contexts alike."""
    if not isinstance(label, str):
        raise TypeError(f"a label is a str, not {type(label).__name__}")
    if not label or any(c.isspace() or c in "()<>\0" for c in label):
        raise LabelError(
            f"{label!r} cannot be a label", remedy="use a name without spaces, brackets, angle brackets and NUL"
        )


def check_word(word: str) -> None:
    """Raise `BracketError` unless `word` can be a leaf: not empty and without white space."""
    if word.split() != [word]:
        raise BracketError(f"{word!r} cannot be a word of a tree", remedy="split the text at its white space first")
