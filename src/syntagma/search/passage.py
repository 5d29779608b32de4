"""Texts of several sentences: searched one by one, and put together again with a tree and a trace that hold for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count, islice

from syntagma.levels import PART, TOP, MalformedInfill, Tokens, expand
from syntagma.search.beam import Sentence
from syntagma.search.options import SearchOptions
from syntagma.search.output import Output, TraceLevel
from syntagma.text.sentences import sentences
from syntagma.tree import ROOT, Tree

_FEW = 3
"""A sentence of fewer words than this is not searched alone."""


@dataclass
class Passage:
    """A text and the searches for its sentences, mostly one; `gaps` is the white space before each."""

    searches: list[Sentence]
    gaps: list[str]
    options: SearchOptions
    _open: set[int] = field(init=False)

    def __post_init__(self) -> None:
        self._open = {id(search) for search in self.searches}

    def has_finished(self, search: Sentence) -> bool:
        """Take note that a search is over; whether all are."""
        self._open.discard(id(search))
        return not self._open

    def together(self, found: Sequence[list[Output]]) -> list[Output]:
        """What was found for the sentences as hypotheses for the text, best first, as many as the beam has places."""
        if len(found) < 2:
            return found[0] if found else []
        if self.options.sample:
            chosen = [list(drawn) for drawn in zip(*found, strict=False)]  # `novel` leaves some with fewer
        else:
            places = best_together([len(outputs) for outputs in found])
            chosen = [
                [outputs[at] for outputs, at in zip(found, row, strict=True)]
                for row in islice(places, self.options.beam)
            ]
        return [merge(parts, self.gaps) for parts in chosen]


def pieces(text: str) -> list[str]:
    """What of a text is searched at a time, each with the white space before it: its sentences, but one of few words
    goes with the next, or with the last: `Hello!` alone says too little.

    >>> pieces("Hello! How are you doing? I am well. Bye.")
    ['Hello! How are you doing?', ' I am well. Bye.']
    """
    found: list[str] = []
    for sentence in sentences(text):
        if found and len(found[-1].split()) < _FEW:
            found[-1] += sentence
        else:
            found.append(sentence)
    if len(found) > 1 and len(found[-1].split()) < _FEW:
        found[-2:] = ["".join(found[-2:])]
    return found


def best_together(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Places to take from lists of these sizes, each best first, so that the places' sum rises.

    >>> list(islice(best_together([2, 3]), 4))
    [(0, 0), (0, 1), (1, 0), (0, 2)]
    """
    waiting = [(0, (0,) * len(sizes), 0)]
    while waiting:
        total, places, first = heappop(waiting)
        yield places
        for at in range(first, len(sizes)):  # no earlier place moves on any more, so that each row comes once
            if places[at] + 1 < sizes[at]:
                heappush(waiting, (total + 1, (*places[:at], places[at] + 1, *places[at + 1 :]), at))


def merge(parts: Sequence[Output], gaps: Sequence[str]) -> Output:
    """The outputs of a text's sentences as one: side by side under one root, grown at the same time, scores summed."""
    text = "".join(gap + part.text for gap, part in zip(gaps, parts, strict=True))
    trees = [part.tree for part in parts if part.tree is not None]
    tree = Tree(ROOT, [child for tree in trees for child in tree.children]) if len(trees) == len(parts) else None
    return Output(text, sum(part.score for part in parts), tree, tuple(_levels(parts)))


def _levels(parts: Sequence[Output]) -> Iterator[TraceLevel]:
    """The levels of all parts, those of a depth as one; a part that is finished waits for the others."""
    for depth in count():
        growing = [part.trace[depth] for part in parts if depth < len(part.trace)]
        if not growing:
            return
        infill: Tokens = tuple(token for level in growing for token in level.infill)
        context: Tokens = tuple(token for part in parts for token in _context(part, depth))
        if depth == 0:  # all grow from one root
            context, infill = (TOP,), (PART, *(token for token in infill if token is not PART))
        yield TraceLevel(
            growing[0].depth,
            context,
            infill,
            sum(level.infill_score for level in growing),
            sum(part.trace[depth].score if depth < len(part.trace) else part.score for part in parts),
        )


def _context(part: Output, depth: int) -> Tokens:
    if depth < len(part.trace):
        return part.trace[depth].context
    last = expand(part.trace[-1].context, part.trace[-1].infill)
    assert not isinstance(last, MalformedInfill)
    return last
