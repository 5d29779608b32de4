"""Structural beam search over one sentence: the bookkeeping of Algorithm 1, without a network.

A `Sentence` keeps the beam of its current depth.  It hands out `Job`s, one for each context with open labels; when
every job has its infills, the next beam is made of their expansions and of the hypotheses that were finished before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from syntagma.network.config import ModelConfig
from syntagma.network.contexts import AnnotatedContext
from syntagma.network.network import Encoded
from syntagma.search.coinage import Spelling
from syntagma.search.options import SearchOptions
from syntagma.search.wishes import Wishes, bank
from syntagma.template import Guide

Ids = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A context in a beam, with its score and how it came about."""

    context: AnnotatedContext
    score: float
    depth: int
    parent: Hypothesis | None = None
    infill: Ids = ()
    infill_score: float = 0.0
    guide: Guide | None = None
    rewarded: bool = False
    edited: bool = False
    sample: int = 0
    """Which of several independent samples this is."""
    pins: Mapping[int, Ids] = field(default_factory=dict)
    """Parts of the next infill, counted from 1, that the user has written."""

    def log_probability(self, score: Literal["sum", "mean"]) -> float:
        """Of all its infills together, where an infill's score is the sum or the mean of its tokens'."""
        return sum(
            grown.infill_score * (1 if score == "sum" else len(grown.infill) + 1) for grown in self.history()[1:]
        )

    def history(self) -> list[Hypothesis]:
        """The hypotheses from the first context to this one."""
        found = [self]
        while found[-1].parent is not None:
            found.append(found[-1].parent)
        return found[::-1]


@dataclass(frozen=True)
class Candidate:
    """An infill that the inner search found: its tokens without the end, its score, and the guide after it."""

    tokens: Ids
    score: float
    guide: Guide | None = None


@dataclass(eq=False)
class Job:
    """One context whose infill is to be found."""

    sentence: Sentence
    hypothesis: Hypothesis
    parts: int
    labels: bool
    tokens: int
    """The most tokens of its infill."""
    grown: list[Hypothesis] | None = None
    """The contexts that its infills grow, once it is done."""
    promised: dict[Ids, float] = field(default_factory=dict)
    """The contexts of infills that nothing can displace any more, with their scores, while it is under way."""

    def bound(self, score: float) -> float:
        """The best score that the next context can have if its infill scores at most `score`."""
        return self.sentence.accumulate(self.hypothesis, score) + self.sentence.most_reward


def positions_of(context: Sequence[int], config: ModelConfig, source: Sequence[int]) -> int:
    """How many positions a context takes."""
    beside = len(source) + 2 if config.architecture == "concat" else 0
    return len(context) + len(config.context_marks) + beside


def fits(context: Sequence[int], config: ModelConfig, source: Sequence[int], pinned: int = 0) -> bool:
    """Whether a model has positions for a context and for the shortest infill of its open labels."""
    parts = sum(token in config.labels for token in context)
    return not parts or max(positions_of(context, config, source), 2 * parts + 2 + pinned) <= config.max_positions


Matcher = Callable[[Sequence[int], int], bool]
"""Whether a context's ids at a depth match the soft template."""


@dataclass(eq=False)
class Sentence:
    """The search for one source."""

    number: int
    source: Ids
    options: SearchOptions
    config: ModelConfig
    start: Hypothesis
    matches: Matcher | None = None
    wishes: Wishes = field(default_factory=Wishes)
    canonical: Callable[[Sequence[int]], list[int]] | None = None
    """The ids that a context has when its text is tokenised anew, where they may differ from those it was grown in."""
    stutters: Callable[[Sequence[int]], bool] | None = None
    """Whether the words of a context stand twice in a row, where that is not wanted."""
    spelling: Spelling | None = None
    """What makes up a word, where that is not wanted."""
    levels: int | None = None
    """How many depths to grow; None: until the text is finished."""
    on_level: Callable[[Sentence], None] | None = None
    beam: list[Hypothesis] = field(default_factory=list)
    dropped: list[Hypothesis] = field(default_factory=list)
    rounds: list[tuple[list[Hypothesis], list[Hypothesis]]] = field(default_factory=list)
    """What each depth kept and what it dropped, best first; filled where `remember` is set."""
    remember: bool = False
    outgrown: bool = False
    """Whether a context was left behind because it has more tokens than the model has positions."""
    jobs: list[Job] = field(default_factory=list)
    encoded: Encoded | None = None

    def __post_init__(self) -> None:
        copies = self.options.beam if self.options.sample else 1
        self.beam = [replace(self.start, sample=number) for number in range(copies)]
        self._labels = frozenset(self.config.labels)
        self._threshold: float | None = None
        self._held: list[Job] = []
        self._stuttering: dict[Ids, bool] = {}

    @property
    def most_reward(self) -> float:
        """What a context can gain at most by matching the template."""
        return self.options.reward if self.matches is not None else 0.0

    @property
    def bounded(self) -> bool:
        """Whether an infill's score can be told to be too low before it is finished."""
        return self.options.bounds and self.options.score == "sum" and self.plain and self.config.guided

    @property
    def plain(self) -> bool:
        """Whether the best scores alone decide who stays in the beam."""
        return not (
            self.options.diversity or self.wishes.required or self.wishes.required_labels or self.options.sample
        )

    def holds_label(self, tokens: Iterable[int]) -> bool:
        """Whether a label is among the tokens."""
        return not self._labels.isdisjoint(tokens)

    def expanded(self, hypothesis: Hypothesis, infill: Sequence[int]) -> AnnotatedContext:
        """The context that an infill makes of a hypothesis's."""
        context = hypothesis.context.expand(infill, hypothesis.depth + 1, self.config)
        return context if self.canonical is None else AnnotatedContext.plain(self.canonical(context.ids), self.config)

    def open_labels(self, hypothesis: Hypothesis) -> int:
        """How many labels of a context are open."""
        return sum(token in self._labels for token in hypothesis.context.ids)

    def accumulate(self, hypothesis: Hypothesis, infill: float) -> float:
        """The score of a context grown from `hypothesis` by an infill of that score."""
        if hypothesis.parent is None and self.options.first_level == "plain":
            return infill
        return self.options.alpha * hypothesis.score + (1 - self.options.alpha) * infill

    def next_jobs(self, abreast: int = 1 << 30) -> list[Job]:
        """The contexts to fill next, at this depth or the one below; none where the search is over.

        Where bounds hold, `abreast` jobs of a depth are handed out at a time, the best first: what they find rules out
        much of the others' work.
        """
        if self.jobs:
            held = self._held_jobs(abreast)
            if held:
                return held
            self.advance()
        if not self.config.guided:  # a baseline writes its whole target at once
            first = all(hypothesis.parent is None for hypothesis in self.beam)
            self.jobs = (
                [Job(self, hypothesis, 0, False, self.options.max_tokens) for hypothesis in self.beam] if first else []
            )
            return self.jobs
        if self.levels == 0:
            return []
        self.jobs = [
            self._job(hypothesis, parts) for hypothesis in self.beam if (parts := self.open_labels(hypothesis))
        ]
        self._held = self.jobs[abreast:] if self.bounded else []
        return self.jobs[: len(self.jobs) - len(self._held)]

    def _held_jobs(self, abreast: int) -> list[Job]:
        """The next jobs of this depth that were held back, without those that cannot reach the next beam any more."""
        ready: list[Job] = []
        while self._held and len(ready) < abreast:
            job = self._held.pop(0)
            if job.bound(0.0) < self.threshold():
                job.grown = []
            else:
                ready.append(job)
        return ready

    def _job(self, hypothesis: Hypothesis, parts: int) -> Job:
        """A context to fill.  Its infill gets no more tokens than leave positions for the next context and its infill;
        where that is too few for all parts, it is filled with words at once, so that the text ends.
        """
        positions = self.config.max_positions
        room = min(positions - positions_of(hypothesis.context.ids, self.config, self.source), (positions - 2) // 2)
        labels = hypothesis.depth < self.options.max_depth and room > 2 * parts
        return Job(
            self, hypothesis, parts, labels, min(self.options.max_tokens, room) if labels else self.options.max_tokens
        )

    def threshold(self) -> float:
        """A score that the next beam's last place has at least: what scores less cannot enter it.

        Only what is certain to compete counts: finished hypotheses, the infills of jobs that are done, and what jobs
        under way have promised.
        """
        if self._threshold is None:
            best: dict[Ids, float] = {}
            for hypothesis in self._competitors():
                if self._unwanted(hypothesis):
                    continue
                key = tuple(hypothesis.context.ids)
                best[key] = max(hypothesis.score, best.get(key, hypothesis.score))
            for job in self.jobs:
                for key, score in job.promised.items() if job.grown is None else ():
                    best[key] = max(score, best.get(key, score))
            enough = len(best) >= self.options.beam
            self._threshold = sorted(best.values())[-self.options.beam] if enough else float("-inf")
        return self._threshold

    def promise(self, job: Job, found: Iterable[Candidate]) -> None:
        """Take note of infills of a job under way that no other of its infills can displace."""
        for hypothesis in self._grown(job, found):
            if not self._unwanted(hypothesis):
                job.promised[tuple(hypothesis.context.ids)] = hypothesis.score
        self._threshold = None

    def complete(self, job: Job, found: Iterable[Candidate]) -> bool:
        """Take a job's infills; whether no other job of this depth is under way."""
        job.grown = list(self._grown(job, found))
        self._threshold = None
        held = {id(other) for other in self._held}
        return all(other.grown is not None or id(other) in held for other in self.jobs)

    def advance(self) -> None:
        """Once every job is done: the beam of the next depth.  Equal contexts are merged, the better one stays."""
        ranked = sorted(self._competitors(), key=lambda hypothesis: -hypothesis.score)
        ranked = [hypothesis for hypothesis in ranked if not self._unwanted(hypothesis)] or ranked
        if self.options.sample:
            kept = ranked
        else:
            distinct = list({tuple(hypothesis.context.ids): hypothesis for hypothesis in reversed(ranked)}.values())
            kept = self._keep(sorted(distinct, key=lambda hypothesis: -hypothesis.score))
        chosen = {id(hypothesis) for hypothesis in kept}
        self.dropped = [hypothesis for hypothesis in ranked if id(hypothesis) not in chosen]
        self.beam = self._ordered(kept)
        if self.remember:
            self.rounds.append((kept, self.dropped))
        self.jobs = []
        self._threshold = None
        self.levels = None if self.levels is None else self.levels - 1
        if self.on_level is not None:
            self.on_level(self)

    def _ordered(self, kept: list[Hypothesis]) -> list[Hypothesis]:
        """The beam as it is ranked when nothing is open any more."""
        if self.options.rank == "score" or any(self.holds_label(hypothesis.context.ids) for hypothesis in kept):
            return kept
        return sorted(kept, key=lambda hypothesis: -self._joint(hypothesis) / max(1, len(hypothesis.context.ids)))

    def _joint(self, hypothesis: Hypothesis) -> float:
        return hypothesis.log_probability(self.options.score)

    def questions(self) -> list[tuple[Ids, Ids]]:
        """What a second opinion is wanted on, where there is something to order and room for it: pairs of what is read
        and what is written in one go, the source and a finished text, or for the way back the text and the source."""
        texts = [tuple(hypothesis.context.ids) for hypothesis in self.beam]
        if len(texts) < 2 or any(self.holds_label(ids) or len(ids) >= self.config.max_positions for ids in texts):
            return []
        asked = [(self.source, ids) for ids in texts] if self.options.rank == "whole" else []
        return asked + [(ids, self.source) for ids in texts if self.options.way_back]

    def reorder(self, answers: Mapping[tuple[Ids, Ids], float]) -> None:
        """Order the beam by log-probabilities for each subword: its own, those of `questions`, or their mean."""

        def value(hypothesis: Hypothesis) -> float:
            ids = tuple(hypothesis.context.ids)
            found = self._joint(hypothesis)
            if self.options.rank == "whole":
                found = (found + answers[self.source, ids]) / 2
            worth = found / max(1, len(ids))
            if self.options.way_back:
                worth += self.options.way_back * answers[ids, self.source] / max(1, len(self.source))
            return worth

        self.beam = sorted(self.beam, key=value, reverse=True)

    def _keep(self, ranked: list[Hypothesis]) -> list[Hypothesis]:
        """The next beam: the best, or, with wishes or a diversity penalty, the best under those."""
        beam, wishes = self.options.beam, self.wishes
        if wishes.required or wishes.required_labels:
            return bank(ranked, beam, lambda hypothesis: wishes.met((), tuple(hypothesis.context.ids)))
        if not self.options.diversity:
            return ranked[:beam]
        size = max(1, beam // self.options.groups) if self.options.groups else 1
        kept: list[Hypothesis] = []
        while ranked and len(kept) < beam:
            others = [set(hypothesis.context.ids) for hypothesis in kept]

            def worth(hypothesis: Hypothesis, others: list[set[int]] = others) -> float:
                mine = set(hypothesis.context.ids)
                shared = max((len(mine & other) / len(mine | other) for other in others), default=0.0)
                return hypothesis.score - self.options.diversity * shared

            group = sorted(ranked, key=lambda hypothesis: -worth(hypothesis))[: min(size, beam - len(kept))]
            kept += group
            ranked = [hypothesis for hypothesis in ranked if hypothesis not in group]
        return sorted(kept, key=lambda hypothesis: -hypothesis.score)

    def _unwanted(self, hypothesis: Hypothesis) -> bool:
        """Whether a hypothesis is the source again, or stutters, where that is not wanted."""
        ids = tuple(hypothesis.context.ids)
        if self.options.novel and ids == tuple(self.source):
            return True
        if self.stutters is None:
            return False
        if ids not in self._stuttering:
            self._stuttering[ids] = self.stutters(ids)
        return self._stuttering[ids]

    def _competitors(self) -> Iterator[Hypothesis]:
        waiting = {id(job.hypothesis) for job in self.jobs}
        yield from (hypothesis for hypothesis in self.beam if id(hypothesis) not in waiting)
        for job in self.jobs:
            yield from job.grown or ()

    def _grown(self, job: Job, infills: Iterable[Candidate]) -> Iterator[Hypothesis]:
        """The contexts that a job's infills grow."""
        depth = job.hypothesis.depth + 1
        for found in infills:
            if not self.config.guided:
                marks = [0] * len(found.tokens)
                yield Hypothesis(
                    AnnotatedContext(list(found.tokens), marks, marks, marks),
                    found.score,
                    depth,
                    job.hypothesis,
                    found.tokens,
                    found.score,
                )
                continue
            context = self.expanded(job.hypothesis, found.tokens)
            if not fits(context.ids, self.config, self.source):
                self.outgrown = True
                continue
            matched = self.matches is not None and self.matches(context.ids, depth)
            score = self.accumulate(job.hypothesis, found.score) + (self.options.reward if matched else 0.0)
            yield Hypothesis(
                context, score, depth, job.hypothesis, found.tokens, found.score, found.guide, matched,
                edited=bool(job.hypothesis.pins), sample=job.hypothesis.sample,
            )  # fmt: skip
