"""Bracketed trees in and out.

What is read: `(TOP (S (NP (PRP I)) ...))` on one line or laid out over several; a root that is called `TOP`, `ROOT`,
has no name, or is missing (every tree gets the root `TOP`); words written with the escapes `-LRB-`, `-RRB-`, `-LSB-`,
`-RSB-`, `-LCB-` and `-RCB-`, which become the brackets that they stand for.  What is written: the same on one line, or
indented.

>>> str(read_tree("( (S (NP (PRP I)) (VP (VBP nod))))"))
'(TOP (S (NP (PRP I)) (VP (VBP nod))))'
>>> read_tree("(TOP (S (NP (PRP I)) (VP (VBP nod)))")
Traceback (most recent call last):
    ...
syntagma.errors.BracketError: column 1: the bracket opened here is never closed; add the missing ')'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from syntagma.errors import BracketError, Place
from syntagma.tree.node import CLOSE, Tree, escape

ROOT = "TOP"
ROOT_NAMES = frozenset({"TOP", "ROOT", "T", ""})

_SQUARE_AND_CURLY = {"-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_ESCAPED = re.compile("|".join(_SQUARE_AND_CURLY))
_SPACED_LABEL = re.compile(r"\(\s+(?=[^\s()])")
_ITEM = re.compile(r"\(\s*[^\s()]+|\(|\)|[^\s()]+")


def read_tree(text: str) -> Tree:
    """The one tree in `text`; `BracketError` with the column where reading failed."""
    trees = _read(text)
    if not trees:
        raise BracketError("there is no tree here", remedy="write one such as (TOP (S (NP I) (VP nod)))")
    if len(trees) > 1:
        raise BracketError("more than one tree stands here", remedy="put each tree on a line of its own")
    return trees[0]


def read_trees(lines: Iterable[str]) -> Iterator[Tree]:
    """The trees in `lines`, one a line or each laid out over several lines; errors carry the line and column."""
    pending: list[str] = []
    open_brackets = 0
    first = 1
    for number, line in enumerate(lines, 1):
        if not pending:
            first = number
        pending.append(line if line.endswith("\n") else line + "\n")
        open_brackets += line.count("(") - line.count(")")
        if open_brackets <= 0:
            yield from _read_from_line("".join(pending), first)
            pending, open_brackets = [], 0
    if pending:
        yield from _read_from_line("".join(pending), first)


def _read_from_line(text: str, first: int) -> list[Tree]:
    try:
        return _read(text)
    except BracketError as error:
        raise error.at(line=first - 1 + (error.place.line or 1)) from None


def _read(text: str) -> list[Tree]:
    """All trees in `text`, each with the root `TOP`.  Columns are found only when there is an error to report."""
    if "\0" in text:
        raise BracketError(
            "there is a NUL character", _place(text, text.index("\0")), "remove it: this is not plain text"
        )
    items = _SPACED_LABEL.sub("(", text).replace("(", " (").replace(")", " ) ").split()
    if "SB-" in text or "CB-" in text:
        items = [item if item[0] == "(" else _ESCAPED.sub(_bracket, item) for item in items]
    trees: list[Tree] = []
    depth = start = 0
    for index, item in enumerate(items):
        if item == CLOSE:
            if depth == 0:
                raise _fail(text, index, "this bracket closes nothing", "remove it or open one before it")
            if items[index - 1][0] == "(":
                raise _empty(text, items[index - 1], index - 1)
            depth -= 1
            if depth == 0:
                trees.append(_with_root(items[start : index + 1], text, start))
                start = index + 1
        elif item[0] == "(":
            depth += 1
        elif depth == 0:
            what = f"the word {_short(item)} stands outside all brackets"
            raise _fail(text, index, what, "give it a label and brackets: (X word)")
    if depth:
        raise _fail(text, _unclosed(items), "the bracket opened here is never closed", "add the missing ')'")
    return trees


def _bracket(match: re.Match[str]) -> str:
    return _SQUARE_AND_CURLY[match.group()]


def _with_root(walk: list[str], text: str, start: int) -> Tree:
    if walk.count("(") > (walk[0] == "("):
        index = start + walk.index("(", 1)
        raise _fail(text, index, "a constituent inside the tree has no label", "write one after the bracket")
    if walk[0][1:] in ROOT_NAMES:
        walk[0] = "(" + ROOT
        return Tree.from_walk(walk)
    return Tree.from_walk(["(" + ROOT, *walk, CLOSE])


def _unclosed(items: list[str]) -> int:
    opened: list[int] = []
    for index, item in enumerate(items):
        if item == CLOSE:
            opened.pop()
        elif item[0] == "(":
            opened.append(index)
    return opened[-1]


def _empty(text: str, item: str, index: int) -> BracketError:
    what = f"the constituent {_short(item[1:])} holds no words" if item != "(" else "these brackets are empty"
    return _fail(text, index, what, "put a word inside or remove it")


def _fail(text: str, index: int, what: str, remedy: str) -> BracketError:
    """The error at the item of that number, with its place in `text`."""
    offset = next(match.start() for number, match in enumerate(_ITEM.finditer(text)) if number == index)
    return BracketError(what, _place(text, offset), remedy)


def _place(text: str, offset: int) -> Place:
    before = text[:offset]
    line = before.count("\n") + 1
    return Place(line=line if "\n" in text.rstrip("\n") else None, column=offset - before.rfind("\n"))


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")


def write_tree(tree: Tree) -> str:
    """The tree on one line."""
    return str(tree)


def write_pretty(tree: Tree, indent: int = 2) -> str:
    """The tree over several lines, a constituent a line; one that only holds parts of speech stays on its line.

    >>> print(write_pretty(read_tree("(S (NP (PRP I)) (VP (VBD ate) (NP (DT an) (NN apple))))")))
    (TOP
      (S
        (NP (PRP I))
        (VP
          (VBD ate)
          (NP (DT an) (NN apple)))))
    """
    lines: list[str] = []
    waiting: list[Tree | str | None] = [tree]
    depth = 0
    while waiting:
        item = waiting.pop()
        if item is None:
            lines[-1] += CLOSE
            depth -= 1
        elif isinstance(item, str):
            lines.append(" " * (indent * depth) + escape(item))
        elif all(isinstance(child, str) or child.is_preterminal() for child in item.children):
            lines.append(" " * (indent * depth) + str(item))
        else:
            lines.append(" " * (indent * depth) + "(" + item.label)
            depth += 1
            waiting.append(None)
            waiting.extend(reversed(item.children))
    return "\n".join(lines)
