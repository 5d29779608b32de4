"""Templates: the shape of a tree without its words, and what a shape allows next.

    (S (NP) (VP (NP)))     as the paper writes it; a node written without children is closed: words only
    S(NP VP(NP))           the same in shorthand
    (S (NP *) ...)         `*` leaves the inside of a node free, `...` stands for zero or more constituents

The root `T` may be left out.  Words never count: `<NP> , <VP> .` matches `NP VP`.

>>> from syntagma.levels import read_tokens
>>> template = Template.parse("S(NP VP(NP))")
>>> template.pattern(3), template.pattern(4)
(('NP', 'VP'), ('NP',))
>>> template.matches(read_tokens("Yesterday <NP> <VP> ."), depth=3)
True
>>> sorted(template.allows(read_tokens("Yesterday <NP>"), depth=3).labels)
['VP']

`matches` and `allows` look at a context as a flat row of labels, as the paper does for its reward.  `Guide` follows a
generation part by part and knows which label grew from which, which is what hard control needs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeAlias

from syntagma.levels import TOP, Token, is_label, levels
from syntagma.template.guide import Guide, NextLabels, skip
from syntagma.template.syntax import ANY, AnySiblings, Builder, Items, TemplateNode, read, write
from syntagma.tree import KEPT_LABELS, Tree, prune
from syntagma.tree.node import CLOSE

Pattern: TypeAlias = tuple["str | AnySiblings", ...]


class Template:
    """The shape that a tree shall have, from its root down."""

    def __init__(self, root: TemplateNode, labels: Collection[str] = KEPT_LABELS) -> None:
        self.root = root
        self.labels = frozenset(labels)
        self._patterns: list[Pattern] = [(TOP.name,)]
        self._rows: list[Items] = [(root,)]

    @staticmethod
    def parse(text: str, labels: Collection[str] = KEPT_LABELS) -> Template:
        """The template that `text` writes; `TemplateError` or `LabelError` with the column where it cannot be read."""
        return Template(read(text, labels), labels)

    @staticmethod
    def from_tree(tree: Tree, depth: int | None = None, labels: Collection[str] = KEPT_LABELS) -> Template:
        """The shape of a tree, pruned to `labels`; below `depth` (the root is at 1) it is free."""
        builder = Builder()
        level = 0
        for item in prune(tree, labels).walk:
            if item == CLOSE:
                if level == depth:
                    builder.free()
                if depth is None or level <= depth:
                    builder.close()
                level -= 1
            elif item[0] == "(":
                level += 1
                if depth is None or level <= depth:
                    builder.open(TOP.name if level == 1 else item[1:])
        return Template(builder.root(), labels)

    def __str__(self) -> str:
        inside = self.root.inside
        only = inside[0] if inside is not None and len(inside) == 1 else None
        return write(only if isinstance(only, TemplateNode) else self.root)

    def __repr__(self) -> str:
        return f"Template.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Template) and str(self) == str(other) and self.labels == other.labels

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def depth(self) -> int:
        """The deepest level on which the template says anything; free ones say nothing about what is below."""
        depth = 1
        while self.pattern(depth + 1) not in ((), (ANY,)):
            depth += 1
        return depth + (self.pattern(depth + 1) == ())

    def pattern(self, depth: int) -> Pattern:
        """The labels that a context at `depth` has (`<T>` is at depth 1), with `ANY` where the template is free."""
        while len(self._patterns) < depth:
            row: list[TemplateNode | AnySiblings] = []
            for item in self._rows[-1]:
                inside = (ANY,) if isinstance(item, AnySiblings) or item.inside is None else item.inside
                row.extend(below for below in inside if not (below is ANY and row and row[-1] is ANY))
            if tuple(row) in ((), (ANY,)) and tuple(row) == self._rows[-1]:
                return self._patterns[-1]
            self._rows.append(tuple(row))
            self._patterns.append(tuple(item.label if isinstance(item, TemplateNode) else ANY for item in row))
        return self._patterns[depth - 1]

    def matches(self, context: Iterable[Token], depth: int) -> bool:
        """Whether the labels of a context at `depth` are those of the template there; words do not count."""
        return self.allows(context, depth).end

    def allows(self, so_far: Iterable[Token], depth: int) -> NextLabels:
        """The labels that can follow the beginning of a context at `depth` so that the whole can still match."""
        pattern = self.pattern(depth)
        places = skip(pattern, {0})
        for token in so_far:
            if is_label(token):
                places = skip(pattern, _step(pattern, places, token.name))
        labels: set[str] = set()
        for place in places - {len(pattern)}:
            item = pattern[place]
            labels.update(self.labels if isinstance(item, AnySiblings) else (item,))
        return NextLabels(frozenset(labels), len(pattern) in places)

    def matches_tree(self, tree: Tree) -> bool:
        """Whether a tree, pruned to the template's labels, has this shape."""
        guide: Guide | None = self.guide()
        for level in levels(prune(tree, self.labels)):
            for token in level.infill:
                guide = guide.follow(token) if guide else None
            guide = guide.next_level() if guide else None
        return guide is not None and guide.satisfied

    def guide(self) -> Guide:
        """Where a generation from `<T>` under hard control begins."""
        return Guide.start(self.root, self.labels)


def _step(pattern: Pattern, places: set[int], label: str) -> set[int]:
    """Where a label leads from `places`."""
    stay = {place for place in places if place < len(pattern) and pattern[place] is ANY}
    return stay | {place + 1 for place in places if place < len(pattern) and pattern[place] == label}
