"""The inner beam search over one context's infills: the bookkeeping of Algorithm 2, without a network.

A `Group` holds the rows of one job.  At each step it is given the ways to go on, and chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from syntagma.search.beam import Candidate, Job
from syntagma.search.grammar import BracketPlace, Grammar, Place
from syntagma.search.wishes import bank
from syntagma.template import Guide

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A partial infill: its tokens, the sum of their log-probabilities, where it stands, what it must write next."""

    tokens: Ids
    score: float
    place: Place | BracketPlace
    guide: Guide | None = None
    forced: Ids = ()
    pinned: bool = False
    """Whether the open part is the user's, so that it ends once `forced` is written."""


class Way(NamedTuple):
    """One way to go on: the cost (minus the score) of row `row` with `token` after it."""

    cost: float
    row: int
    token: int


@dataclass(eq=False)
class Group:
    """The inner beam search of one job: live rows and finished infills."""

    job: Job
    rows: list[Row]
    finished: list[Candidate] = field(default_factory=list)
    _promised: set[Ids] = field(default_factory=set)

    def choose(self, ways: Sequence[Way], grammar: Grammar) -> list[int]:
        """Go on with the best ways; which row each of the new rows continues."""
        options = self.job.sentence.options
        end = grammar.config.end
        ranked = sorted(way for way in ways if way.token != end or self._may_finish(self.rows[way.row]))
        if options.sample:
            live = self._follow_samples(ranked, end)
        elif options.score == "sum":
            live = self._compete(ranked, end)
        else:
            live = self._retire(ranked, end)
        if live and options.prune and self.job.sentence.plain:
            # A reward can make up for an infill that is worse by so much.
            live = self._prune(live, options.prune + self.job.sentence.most_reward / (1 - options.alpha))
        if live and self.job.sentence.bounded:
            self._promise(-live[0].cost)
            threshold = self.job.sentence.threshold()
            live = [way for way in live if self.job.bound(-way.cost) >= threshold]
        self.rows = [self._extend(self.rows[way.row], way, grammar) for way in live]
        return [way.row for way in live]

    def _prune(self, live: list[Way], margin: float) -> list[Way]:
        """Without those that are worse by more than the margin than the best, finished or not."""
        best = live[0].cost
        if self.finished and self.job.sentence.options.score == "sum":  # else what is finished has a mean as its score
            best = min(best, -self.finished[0].score)
        return [way for way in live if way.cost <= best + margin]

    def _promise(self, best: float) -> None:
        """Tell the sentence of finished infills that score at least what the best unfinished one does: as that can
        only lose, they will stay.
        """
        fresh = [done for done in self.finished if done.score >= best and done.tokens not in self._promised]
        if fresh:
            self._promised.update(done.tokens for done in fresh)
            self.job.sentence.promise(self.job, fresh)

    def _compete(self, ranked: list[Way], end: int) -> list[Way]:
        """Algorithm 2: a finished infill keeps its place only while its score, the sum, is among the best."""
        before = self.finished
        pool = sorted([Way(-done.score, -1, at) for at, done in enumerate(before)] + ranked)
        kept = self._best(pool)
        self.finished = [
            before[way.token] if way.row < 0 else self._finish(way, -way.cost)
            for way in kept
            if way.row < 0 or way.token == end
        ]
        return [way for way in kept if way.row >= 0 and way.token != end]

    def _retire(self, ranked: list[Way], end: int) -> list[Way]:
        """Finished infills leave the competition with their mean as score, until there are enough of them."""
        beam = self.job.sentence.options.beam
        for way in self._best(ranked):
            if way.token == end:
                self.finished.append(self._finish(way, -way.cost / (len(self.rows[way.row].tokens) + 1)))
        live = [] if len(self.finished) >= beam else self._best([way for way in ranked if way.token != end])
        self.finished = sorted(self.finished, key=lambda done: -done.score)[:beam]
        return live

    def _follow_samples(self, ranked: list[Way], end: int) -> list[Way]:
        """Each row has one way, which was drawn."""
        for way in ranked:
            if way.token == end:
                length = 1 if self.job.sentence.options.score == "sum" else len(self.rows[way.row].tokens) + 1
                self.finished.append(self._finish(way, -way.cost / length))
        return [way for way in ranked if way.token != end]

    def _best(self, ranked: list[Way]) -> list[Way]:
        """As many ways as the beam is wide, with a place for each number of wishes met."""
        beam, wishes = self.job.sentence.options.beam, self.job.sentence.wishes
        if not wishes.required and not wishes.required_labels:
            return ranked[:beam]
        context = tuple(self.job.hypothesis.context.ids)

        def met(way: Way) -> int:
            tokens = self.finished[way.token].tokens if way.row < 0 else (*self.rows[way.row].tokens, way.token)
            return wishes.met(tokens, context)

        return bank(ranked, beam, met)

    def _may_finish(self, row: Row) -> bool:
        """Whether the infill may end here: a text that it completes must hold all that is required."""
        sentence = self.job.sentence
        if not sentence.wishes.any or sentence.holds_label(row.tokens):
            return True
        return sentence.wishes.complete(row.tokens, tuple(self.job.hypothesis.context.ids))

    def _extend(self, row: Row, way: Way, grammar: Grammar) -> Row:
        place = row.place.after(grammar.kind(way.token))
        forced, pinned = row.forced[1:], row.pinned
        if way.token == grammar.config.part and isinstance(place, Place):
            forced = self.job.hypothesis.pins.get(self.job.parts - place.parts_left, ())
            pinned = bool(forced)
        guide = grammar.follow(row.guide, way.token)
        return Row((*row.tokens, way.token), -way.cost, place, guide, forced, pinned)

    def _finish(self, way: Way, score: float) -> Candidate:
        row = self.rows[way.row]
        return Candidate(row.tokens, score, row.guide.next_level() if row.guide is not None else None)
