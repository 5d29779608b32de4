"""Trees as pictures: lines of text for a terminal, SVG for a page.

>>> print(draw(Tree.read("(S (NP (PRP I)) (VP (VBD ate) (NP (NN fruit))))").children[0]))
     S
 ┌───┴───┐
NP      VP
 │    ┌──┴──┐
PRP  VBD   NP
 │    │     │
 I   ate   NN
            │
          fruit
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from syntagma.tree.node import CLOSE, Tree, unescape

LABEL_COLOUR, RULE_COLOUR, NO_COLOUR = "\x1b[1;36m", "\x1b[2m", "\x1b[0m"

Made = TypeVar("Made")


def draw(tree: Tree, width: int | None = None, colour: bool = False) -> str:
    """The tree from the root down; where that is wider than `width` columns, as an indented list instead."""
    if len(tree.walk) > 6000 or tree.depth > 200:
        return draw_indented(tree, colour)
    paint = _painter(colour)
    block: _Block = _bottom_up(
        tree, lambda word: _Block([word], display_width(word)), lambda label, below: _over(label, below, paint)
    )
    if width is not None and block.width > width:
        return draw_indented(tree, colour)
    return "\n".join(line.rstrip() for line in block.lines)


def draw_indented(tree: Tree, colour: bool = False) -> str:
    """The tree as an indented list; a constituent that holds words only stands on one line with them.

    >>> print(draw_indented(Tree.read("(S (NP (PRP I)) (VP (VBD ate) (NP (NN fruit))))").children[0]))
    S
    ├─ NP
    │  └─ PRP  I
    └─ VP
       ├─ VBD  ate
       └─ NP
          └─ NN  fruit
    """
    paint = _painter(colour)
    lines: list[str] = []
    waiting: list[tuple[Tree | str, str, str]] = [(tree, "", "")]
    while waiting:
        item, first, following = waiting.pop()
        lead = paint(first, RULE_COLOUR)
        if isinstance(item, str):
            lines.append(lead + item)
            continue
        children = item.children
        label = paint(item.label, LABEL_COLOUR)
        if all(isinstance(child, str) for child in children):
            lines.append(lead + "  ".join([label, " ".join(map(str, children))]).rstrip())
            continue
        lines.append(lead + label)
        for number, child in reversed(list(enumerate(children, 1))):
            last = number == len(children)
            waiting.append((child, following + ("└─ " if last else "├─ "), following + ("   " if last else "│  ")))
    return "\n".join(lines)


def _painter(colour: bool) -> Callable[[str, str], str]:
    return (lambda text, code: f"{code}{text}{NO_COLOUR}" if text else text) if colour else lambda text, _: text


def display_width(text: str) -> int:
    """Columns that a text takes in a terminal: none for a combining mark, two for a wide character."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


@dataclass
class _Block:
    """Lines of text, each `width` columns wide; the lines to a parent join at column `anchor`."""

    lines: list[str]
    width: int
    anchor: int = -1

    def __post_init__(self) -> None:
        if self.anchor < 0:
            self.anchor = self.width // 2

    def shifted(self, left: int, width: int) -> _Block:
        right = width - self.width - left
        return _Block([" " * left + line + " " * right for line in self.lines], width, self.anchor + left)


def _over(label: str, below: list[_Block], paint: Callable[[str, str], str]) -> _Block:
    """A label over the blocks of its children, with the lines that join them."""
    size = display_width(label)
    if not below:
        return _Block([paint(label, LABEL_COLOUR)], size)
    row = below[0]
    anchors = [row.anchor]
    for block in below[1:]:
        anchors.append(row.width + 2 + block.anchor)
        row = _beside(row, block)
    middle = (anchors[0] + anchors[-1]) // 2
    left = max(0, size // 2 - middle)
    width = max(row.width + left, middle + left + size - size // 2)
    row = row.shifted(left, width)
    middle += left
    anchors = [anchor + left for anchor in anchors]
    start = middle - size // 2
    head = " " * start + paint(label, LABEL_COLOUR) + " " * (width - start - size)
    return _Block([head, _rule(anchors, middle, width, paint), *row.lines], width, middle)


def _beside(left: _Block, right: _Block) -> _Block:
    height = max(len(left.lines), len(right.lines))
    a = left.lines + [" " * left.width] * (height - len(left.lines))
    b = right.lines + [" " * right.width] * (height - len(right.lines))
    return _Block([x + "  " + y for x, y in zip(a, b, strict=True)], left.width + 2 + right.width)


def _rule(anchors: list[int], middle: int, width: int, paint: Callable[[str, str], str]) -> str:
    if len(anchors) == 1:
        return " " * middle + paint("│", RULE_COLOUR) + " " * (width - middle - 1)
    first, last = anchors[0], anchors[-1]
    marks = dict.fromkeys(anchors, "┬") | {first: "┌", last: "┐"}
    marks[middle] = {"┬": "┼", "┌": "├", "┐": "┤"}.get(marks.get(middle, ""), "┴")
    line = "".join(marks.get(index, "─") for index in range(first, last + 1))
    return " " * first + paint(line, RULE_COLOUR) + " " * (width - last - 1)


def _bottom_up(tree: Tree, leaf: Callable[[str], Made], node: Callable[[str, list[Any]], Made]) -> Made:
    """`leaf(word)` for every word, `node(label, what its children gave)` for every constituent."""
    rows: list[list[Made]] = [[]]
    labels: list[str] = []
    for item in tree.walk:
        if item == CLOSE:
            below = rows.pop()
            rows[-1].append(node(labels.pop(), below))
        elif item[0] == "(":
            labels.append(item[1:])
            rows.append([])
        else:
            rows[-1].append(leaf(unescape(item)))
    return rows[0][0]


# -- SVG

_CHARACTER, _LEVEL, _GAP, _MARGIN, _SIZE = 8.4, 44.0, 14.0, 12.0, 14


@dataclass
class _Box:
    text: str
    is_word: bool
    below: list[_Box]
    x: float = 0.0


TREE_STYLE = (
    f".tree text{{font:{_SIZE}px ui-monospace,Menlo,Consolas,monospace;text-anchor:middle;fill:currentColor}}"
    ".tree .label{font-weight:600;fill:#0b7285}.tree path{stroke:#868e96;stroke-width:1.2;fill:none}"
)
"""The style of a tree's picture; it holds for nothing else on a page."""


def svg(tree: Tree, title: str | None = None) -> str:
    """The tree as a self-contained SVG picture, dark or light as its surroundings."""
    root: _Box = _bottom_up(tree, lambda word: _Box(word, True, []), lambda label, below: _Box(label, False, below))
    order: list[tuple[_Box, int]] = [(root, 0)]
    for box, depth in order:  # grows while it is walked: parents before children
        order.extend((child, depth + 1) for child in box.below)
    width = _place_boxes(root, [box for box, _ in order])
    height = _MARGIN * 2 + _LEVEL * max(depth for _, depth in order) + _SIZE
    lines, texts = [], []
    for box, depth in order:
        y = _MARGIN + _SIZE + depth * _LEVEL
        kind = "word" if box.is_word else "label"
        texts.append(f'<text class="{kind}" x="{box.x:.1f}" y="{y:.1f}">{_xml(box.text)}</text>')
        for child in box.below:
            lines.append(f'<path d="M{box.x:.1f} {y + 5:.1f}L{child.x:.1f} {y + _LEVEL - _SIZE - 1:.1f}"/>')
    name = _xml(title if title is not None else " ".join(tree.words()))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tree" role="img" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}"><title>{name}</title><style>'
        f"{TREE_STYLE}</style>{''.join(lines)}{''.join(texts)}</svg>"
    )


def _place_boxes(root: _Box, order: list[_Box]) -> float:
    """Give every box its x: leaves left to right, a parent over the middle of its children; the picture's width."""
    x = _MARGIN
    waiting = [root]
    while waiting:
        box = waiting.pop()
        if box.below:
            waiting.extend(reversed(box.below))
        else:
            size = display_width(box.text) * _CHARACTER
            box.x = x + size / 2
            x += size + _GAP
    for box in reversed(order):
        if box.below:
            box.x = (box.below[0].x + box.below[-1].x) / 2
    left = min(box.x - display_width(box.text) * _CHARACTER / 2 for box in order) - _MARGIN
    right = max(box.x + display_width(box.text) * _CHARACTER / 2 for box in order) + _MARGIN
    for box in order:
        box.x -= left
    return right - left


def _xml(text: str) -> str:
    """Text as XML may hold it: control characters become the replacement character."""
    printable = "".join(
        c if c >= " " and c not in "\ufffe\uffff" and not "\ud800" <= c <= "\udfff" else "\ufffd" for c in text
    )
    return html.escape(printable, quote=False)
