"""How templates are written: text to nodes and back.

>>> write(read("S(NP VP(... NP(*)))", ("S", "NP", "VP", "PP")))
'(T (S (NP) (VP ... (NP *))))'
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, TypeAlias

from syntagma.errors import LabelError, Place, SyntagmaError
from syntagma.levels import TOP
from syntagma.tree.brackets import ROOT_NAMES
from syntagma.tree.node import CLOSE


class TemplateError(SyntagmaError):
    """A template that cannot be read, or cannot be followed."""


class AnySiblings:
    """The kind of `ANY`."""

    def __repr__(self) -> str:
        return "..."


ANY: Final = AnySiblings()
"""Zero or more constituents of any label, in a template or a pattern."""

Items: TypeAlias = "tuple[TemplateNode | AnySiblings, ...]"


@dataclass(frozen=True, eq=False, slots=True)
class TemplateNode:
    """A constituent of a template: closed where `inside` is empty, free where it is None."""

    label: str
    inside: Items | None


class Builder:
    """Nodes from a walk, innermost last."""

    def __init__(self) -> None:
        self._labels: list[str] = []
        self._rows: list[list[TemplateNode | AnySiblings] | None] = [[]]

    @property
    def at_start(self) -> bool:
        """Whether nothing stands in the innermost constituent yet."""
        return self._rows[-1] == []

    def open(self, label: str) -> None:
        """Begin a constituent."""
        self._labels.append(label)
        self._rows.append([])

    def free(self) -> None:
        """Leave the inside of the innermost constituent free."""
        self._rows[-1] = None

    def any(self) -> None:
        """Let any constituents stand here."""
        row = self._rows[-1]
        if row is not None and not (row and row[-1] is ANY):
            row.append(ANY)

    def close(self) -> None:
        """End the innermost constituent."""
        row = self._rows.pop()
        node = TemplateNode(self._labels.pop(), None if row is None else tuple(row))
        above = self._rows[-1]
        assert above is not None
        above.append(node)

    def root(self) -> TemplateNode:
        """The node `T` over everything."""
        row = self._rows[0]
        assert row is not None
        first = row[0] if len(row) == 1 else None
        return (
            first if isinstance(first, TemplateNode) and first.label == TOP.name else TemplateNode(TOP.name, tuple(row))
        )


_LEXEME = re.compile(
    r"""\s*(?: (?P<label>[^\s(),*.…]+)(?P<bracket>\()?   # a bracket right after a label opens its inside
          | (?P<open>\() | (?P<close>\)) | (?P<dots>\.\.\.|…) | (?P<star>\*) | (?P<bad>\S) )[\s,]*""",
    re.VERBOSE,
)


def read(text: str, labels: Collection[str]) -> TemplateNode:
    """The root `T` of the template that `text` writes; an error says at which column it cannot be read."""
    builder = Builder()
    opened: list[int] = []  # the columns of the open brackets
    head = star = False  # just after an opening bracket; just after a star
    for match in _LEXEME.finditer(text):
        kind = match.lastgroup if match.lastgroup != "bracket" else "label"
        column = match.start(kind or 0) + 1
        if head and kind != "label":
            raise TemplateError("a bracket opens without a label", Place(column=opened[-1]), "write one after it: (NP)")
        if star and kind != "close":
            raise TemplateError(
                "something follows a '*'", Place(column=column), "write '*' alone inside its node: (NP *)"
            )
        star = False
        if kind == "label":
            builder.open(_label(match["label"], labels, column, root=not opened[head:]))
            if match["bracket"] and not head:
                opened.append(match.start("bracket") + 1)
            elif not head:
                builder.close()
            elif match["bracket"]:  # "(S(NP)": the bracket after a head opens its first child
                opened.append(match.start("bracket") + 1)
                head = True
                continue
            head = False
        elif kind == "open":
            opened.append(column)
            head = True
        elif kind == "close":
            if not opened:
                raise TemplateError(
                    "this bracket closes nothing", Place(column=column), "remove it or open one before it"
                )
            opened.pop()
            builder.close()
        elif kind == "dots":
            builder.any()
        elif kind == "star" and opened and builder.at_start:
            builder.free()
            star = True
        else:
            raise TemplateError(
                f"{match[0].strip()!r} cannot stand here", Place(column=column), "see the template syntax in the README"
            )
    if opened:
        raise TemplateError("the bracket opened here is never closed", Place(column=opened[-1]), "add the missing ')'")
    if builder.at_start:
        raise TemplateError("the template is empty", remedy="write one such as (S (NP) (VP *))")
    return builder.root()


def _label(name: str, labels: Collection[str], column: int, root: bool) -> str:
    if name in labels:
        return name
    if root and name in ROOT_NAMES:
        return TOP.name
    known = ", ".join(labels)
    raise LabelError(f"{name!r} is not a label here", Place(column=column), f"use one of {known}")


def write(root: TemplateNode) -> str:
    """The template under `root` in brackets."""
    out: list[str] = []
    waiting: list[TemplateNode | AnySiblings | str] = [root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, TemplateNode):
            out.append(f" ({item.label}")
            waiting.append(CLOSE)
            waiting.extend(reversed(item.inside) if item.inside is not None else ("*",))
        else:
            out.append(item if item == CLOSE else f" {item}")
    return "".join(out).lstrip()
