"""Following a generation under hard control, token by token."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from syntagma.levels import PART, Token, is_label
from syntagma.template.syntax import ANY, Items, TemplateError, TemplateNode


class NextLabels(NamedTuple):
    """The labels that may come next, and whether it may also stop here."""

    labels: frozenset[str]
    end: bool


def skip(pattern: Sequence[object], places: set[int]) -> set[int]:
    """`places` and those reached by letting `ANY` stand for nothing."""
    reached = set(places)
    for place in sorted(places):
        while place < len(pattern) and pattern[place] is ANY:
            place += 1
            reached.add(place)
    return reached


class _Thread(NamedTuple):
    """One way to read what was generated so far as the template: which template node each open label is.

    `waiting` are the nodes whose parts are still to come (None: a free constituent), `node` the one whose part is being
    written, at `place` among its items, `grown` the nodes of the next context's labels.
    """

    waiting: tuple[TemplateNode | None, ...]
    node: TemplateNode | None
    place: int
    grown: tuple[TemplateNode | None, ...]


_MOST_THREADS = 4096


@dataclass(frozen=True, slots=True)
class Guide:
    """A generation under hard control, between two tokens of an infill; immutable, so beams may share it.

    >>> from syntagma.levels import read_tokens
    >>> from syntagma.template import Template
    >>> guide = Template.parse("S(NP VP)").guide()
    >>> for token in read_tokens("<c> <S>"):
    ...     guide = guide.follow(token)
    >>> guide = guide.next_level().follow(read_tokens("<c>")[0])
    >>> guide.allowed
    NextLabels(labels=frozenset({'NP'}), end=False)
    """

    labels: frozenset[str]
    threads: frozenset[_Thread]

    @staticmethod
    def start(root: TemplateNode, labels: frozenset[str]) -> Guide:
        """Before the first token of the infill of `<T>`, for the template with that root, among all `labels`."""
        return Guide(labels, frozenset({_Thread((root,), None, 0, ())}))

    @property
    def satisfied(self) -> bool:
        """Whether no constituent of the template is still to come."""
        return any(not thread.waiting for thread in self.threads)

    @property
    def allowed(self) -> NextLabels:
        """The labels that may come next in the part being written, and whether the part may end here."""
        labels: set[str] = set()
        end = False
        for thread in self.threads:
            items = _items(thread.node)
            for place in skip(items, {thread.place}):
                if place == len(items):
                    end = True
                else:
                    item = items[place]
                    labels.update((item.label,) if isinstance(item, TemplateNode) else self.labels)
        return NextLabels(frozenset(labels), end)

    @property
    def needed(self) -> frozenset[str]:
        """The allowed labels that are constituents of the template, so that each brings the part nearer its end."""
        labels: set[str] = set()
        for thread in self.threads:
            items = _items(thread.node)
            ahead = (items[place] for place in skip(items, {thread.place}) if place < len(items))
            labels.update(item.label for item in ahead if isinstance(item, TemplateNode))
        return frozenset(labels)

    def follow(self, token: Token) -> Guide | None:
        """After one more token of the infill; None where the template does not allow it.  Words change nothing."""
        if not is_label(token):
            return self._open_part() if token is PART else self
        threads: set[_Thread] = set()
        for thread in self.threads:
            items = _items(thread.node)
            for place in skip(items, {thread.place}):
                if place == len(items):
                    continue
                item = items[place]
                if not isinstance(item, TemplateNode):
                    threads.add(thread._replace(place=place, grown=(*thread.grown, None)))
                elif item.label == token.name:
                    grown = item if item.inside is not None else None
                    threads.add(thread._replace(place=place + 1, grown=(*thread.grown, grown)))
        return self._with(threads)

    def _open_part(self) -> Guide | None:
        return self._with(
            _Thread(thread.waiting[1:], thread.waiting[0], 0, thread.grown)
            for thread in self._finished_parts()
            if thread.waiting
        )

    def next_level(self) -> Guide | None:
        """After the infill's end: before the first token of the next level; None where a part may not end here."""
        return self._with(_Thread(thread.grown, None, 0, ()) for thread in self._finished_parts() if not thread.waiting)

    def _finished_parts(self) -> Iterator[_Thread]:
        for thread in self.threads:
            items = _items(thread.node)
            if len(items) in skip(items, {thread.place}):
                yield thread

    def _with(self, threads: Iterable[_Thread]) -> Guide | None:
        kept = frozenset(threads)
        if len(kept) > _MOST_THREADS:
            raise TemplateError("the template can be read in too many ways", remedy="use fewer '...' in it")
        return Guide(self.labels, kept) if kept else None


_FREE: Items = (ANY,)


def _items(node: TemplateNode | None) -> Items:
    """The items that may stand in a node's part; anything where it is free."""
    return _FREE if node is None or node.inside is None else node.inside
