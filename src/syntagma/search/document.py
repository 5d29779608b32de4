"""Texts of several sentences: searched one by one, and put together again with a tree and a trace that hold for all.

Each sentence is a segment of its own, so none is lost.  What a user asks for beside: words that must not appear hold
for all segments; a required word must appear in one of them, in that whose source has it, else where it costs least; a
start context, and a soft template, shape the first segment.  A hard template guarantees the shape of a whole text, so
it is for texts of one sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import count, islice

from syntagma.levels import PART, TOP, MalformedInfill, Tokens, expand
from syntagma.search.constraints.lexical import LexicalConstraint
from syntagma.search.hypothesis import Hypothesis
from syntagma.search.request import SearchRequest
from syntagma.search.result import Output, TraceLevel, unchanged_output
from syntagma.text.prose import unreadable
from syntagma.text.sentences import sentences
from syntagma.tree import ROOT, Tree

FEW_WORDS = 3
"""A sentence of fewer words than this may be returned unchanged: `Hello!` leaves little to change."""


class Document:
    """A text and the searches for its segments, mostly one; `gaps` is the white space before each.

    `floating` are the segments that all hold a required word of which one is enough.  Where there is nothing to search
    for, `answer` are the outputs.
    """

    def __init__(
        self,
        requests: list[SearchRequest],
        gaps: list[str],
        beam: int,
        sample: bool = False,
        answer: Sequence[Output] = (),
    ) -> None:
        self.requests, self.gaps, self.beam, self.sample = requests, gaps, beam, sample
        self.answer = list(answer)
        self.floating: list[SearchRequest] = []
        self._open = {id(request) for request in requests}

    def has_finished(self, request: SearchRequest) -> bool:
        """Take note that a search is over; whether all are."""
        self._open.discard(id(request))
        return not self._open

    def settle(self) -> None:
        """Once all searches are over: leave a required word to the segment where it costs least."""
        if not self.floating:
            return
        holding = [request for request in self.floating if any(map(request.required.held_by, request.beam))]
        if not holding:
            return
        cheapest = min(holding, key=_cost)
        for request in self.floating:
            if request is not cheapest and request.required.free_beam:
                request.beam = request.required.free_beam

    def combine(self, outputs: Sequence[list[Output]]) -> list[Output]:
        """Combine hypotheses of segments into hypotheses for the text, best first, as many as the beam has places."""
        if len(outputs) < 2:
            return outputs[0] if outputs else self.answer
        if self.sample:
            chosen = [list(drawn) for drawn in zip(*outputs, strict=False)]  # constraints leave some with fewer
        else:
            places = best_together([len(candidates) for candidates in outputs])
            chosen = [
                [candidates[place] for candidates, place in zip(outputs, row, strict=True)]
                for row in islice(places, self.beam)
            ]
        return [merge(parts, self.gaps) for parts in chosen]


def _cost(request: SearchRequest) -> float:
    """How much worse the best text with a segment's required words is than the best without."""

    def best(beam: Sequence[Hypothesis]) -> float:
        return max(
            (hypothesis.log_probability / max(1, len(hypothesis.ids)) for hypothesis in beam), default=float("-inf")
        )

    return best(request.required.free_beam or request.beam) - best(list(filter(request.required.held_by, request.beam)))


def unread(text: str, language: str | None) -> list[Output]:
    """The text unchanged, with a note, where a model for sentences of that language cannot read it.

    >>> [output.note for output in unread("我没有读过这本书。", "en")]
    ['returned unchanged: the model reads English, and this text is in another script']
    >>> unread("I have not read this book.", "en")
    []
    """
    reason = unreadable(text, language)
    return [unchanged_output(text.strip(), f"returned unchanged: {reason}")] if reason else []


def segments(text: str) -> list[str]:
    """Cut a text into what is searched at a time, its sentences, each with the white space before it.

    >>> segments("Hello! How are you doing? Nobody answered.")
    ['Hello!', ' How are you doing?', ' Nobody answered.']
    """
    return sentences(text)


def best_together(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Places to take from lists of these sizes, each best first, so that the places' sum rises.

    >>> list(islice(best_together([2, 3]), 4))
    [(0, 0), (0, 1), (1, 0), (0, 2)]
    """
    waiting = [(0, (0,) * len(sizes), 0)]
    while waiting:
        total, places, first = heappop(waiting)
        yield places
        for place in range(first, len(sizes)):  # no earlier place moves on any more, so that each row comes once
            if places[place] + 1 < sizes[place]:
                heappush(waiting, (total + 1, (*places[:place], places[place] + 1, *places[place + 1 :]), place))


def merge(parts: Sequence[Output], gaps: Sequence[str]) -> Output:
    """The outputs of a text's segments as one: side by side under one root, grown at the same time, scores summed."""
    text = "".join(gap + part.text for gap, part in zip(gaps, parts, strict=True))
    trees = [part.tree for part in parts if part.tree is not None]
    tree = Tree(ROOT, [child for tree in trees for child in tree.children]) if len(trees) == len(parts) else None
    ranks = [part.rank_score for part in parts if part.rank_score is not None]
    notes = "; ".join(dict.fromkeys(f"sentence {n}: {part.note}" for n, part in enumerate(parts, 1) if part.note))
    rank = sum(ranks) if len(ranks) == len(parts) else None
    return Output(text, sum(part.score for part in parts), tree, tuple(_levels(parts)), rank, notes)


def _levels(parts: Sequence[Output]) -> Iterator[TraceLevel]:
    """The levels of all parts, those of a depth as one; a part that is finished waits for the others."""
    for depth in count():
        growing = [part.trace[depth] for part in parts if depth < len(part.trace)]
        if not growing:
            return
        infill: Tokens = tuple(token for level in growing for token in level.infill)
        context: Tokens = tuple(token for part in parts for token in _context(part, depth))
        if depth == 0 and all(
            part.trace and part.trace[0].context == (TOP,) for part in parts
        ):  # all grow from one root
            context, infill = (TOP,), (PART, *(token for token in infill if token is not PART))
        yield TraceLevel(
            growing[0].depth,
            context,
            infill,
            sum(level.infill_score for level in growing),
            sum(part.trace[depth].score if depth < len(part.trace) else part.score for part in parts),
            rewarded=any(level.rewarded for level in growing),
            joins=tuple(join for level in growing for join in level.joins),
        )


def _context(part: Output, depth: int) -> Tokens:
    if depth < len(part.trace):
        return part.trace[depth].context
    if not part.trace:
        return tuple(part.tree.words()) if part.tree is not None else ()
    last = expand(part.trace[-1].context, part.trace[-1].infill)
    assert not isinstance(last, MalformedInfill)
    return last


def home_of(word: str, cut: Sequence[str]) -> int | None:
    """The first segment whose source has a required word."""
    wanted = LexicalConstraint(texts=[word])
    return next((place for place, piece in enumerate(cut) if wanted.met_by(piece)), None)
