"""Algorithm 1 of the paper: the structural beam search over one source, without a network.

    B_0 = {(0, <T>)}
    at each depth d, for each (score, context) of B_{d-1}:
        where nothing is open, it competes as it is;
        else beam_search(context) finds infills, and each competes as
            (alpha * score + (1 - alpha) * infill score, expand(context, infill))
    B_d = the best k

A `SearchRequest` keeps the beam of its current depth.  `next_tasks` hands out the contexts with open labels, whose
infills `infill_beam` finds; `complete` takes these; when every task has its own, `advance` makes the next beam.  What
differs from the paper stands apart: constraints and who stays in `competition`, exact bounds in `bounds`, required
words in `required`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from syntagma.errors import SyntagmaError
from syntagma.network.config import ModelConfig
from syntagma.network.contexts import AnnotatedContext
from syntagma.search.bounds import Bounds
from syntagma.search.competition import Competition, distinct
from syntagma.search.constraints.base import Constraint
from syntagma.search.constraints.copy import CopyConstraint
from syntagma.search.constraints.lexical import LexicalConstraint
from syntagma.search.constraints.template import Matcher
from syntagma.search.hypothesis import Hypothesis, IdTuple, Infill
from syntagma.search.options import SearchOptions
from syntagma.search.required import RequiredWords
from syntagma.search.selection import unlike_each_other
from syntagma.search.task import InfillTask

if TYPE_CHECKING:
    from syntagma.search.plan import Planner

RETURNED_UNCHANGED = "returned unchanged: nothing else that was found is as good"
UNFAITHFUL = "far from what the source says, or far worse than the best"


class TooMuchWork(SyntagmaError):
    """A request that took more decoder steps than one may."""


class SearchRequest:
    """The search for one source."""

    def __init__(
        self,
        number: int,
        source: Sequence[int],
        options: SearchOptions,
        config: ModelConfig,
        start: Hypothesis,
        constraints: Sequence[Constraint] = (),
        *,
        lexical: LexicalConstraint | None = None,
        matches: Matcher | None = None,
        canonical: Callable[[Sequence[int]], list[int]] | None = None,
        decode: Callable[[Sequence[int]], str] | None = None,
        target: Sequence[int] | None = None,
        as_source: Callable[[IdTuple], IdTuple] | None = None,
        wanted: int = 1,
        planner: Planner | None = None,
    ) -> None:
        self.number, self.source, self.options, self.config = number, tuple(source), options, config
        self.start = start
        self.fixed_constraints = tuple(constraints)
        self.matches = matches
        """Whether a context matches the soft template."""
        self.canonical = canonical
        """The ids that a context has when its text is tokenised anew, where they may differ from those it grew in."""
        self.decode = decode
        """The text of a finished context."""
        self.source_as_target = self.source if target is None else tuple(target)
        """The source in the ids that a text is written in."""
        self.as_source = as_source
        """A text's ids as a source's, where vocabularies cut the two differently."""
        self.planner = planner
        """Finds the shapes that it is to grow in, before it begins."""
        self.plans = 1
        """In how many planned shapes it grows, each with a share of the beam."""
        self.longest: int | None = None
        """The most tokens of an infill in planned shapes."""
        self.known_scores: dict[tuple[IdTuple, IdTuple], float] = {}
        """The log-probabilities of texts written in one go from others, as far as they are known."""
        self.wanted = wanted
        """How many texts are asked for; so many with all required words are enough."""
        self.levels: int | None = None
        """How many depths to grow; None: until the text is finished."""
        self.on_level: Callable[[SearchRequest], None] | None = None
        self.remember = False
        self.rounds: list[tuple[list[Hypothesis], list[Hypothesis], dict[Hypothesis, str]]] = []
        """What each depth kept, what it dropped, best first, and why; filled where `remember` is set."""
        self.beam = self._first_beam()
        self.dropped: list[Hypothesis] = []
        self.reasons: dict[Hypothesis, str] = {}
        """Why each of those that were dropped was."""
        self.floating = False
        """Whether another sentence of the text may hold the required words instead."""
        self.rank_scores: dict[Hypothesis, float] = {}
        """What decided the order of finished texts, where they are reranked."""
        self.call: object | None = None
        """The call of one of several users that it is part of, where that has many requests."""
        self.tasks: list[InfillTask] = []
        self.row_steps = self._steps_before = 0
        self.error: SyntagmaError | None = None
        """Why the search was given up."""
        self.outgrown = False
        """Whether a context was left behind because it has more tokens than the model has positions."""
        self.encoded: Any = None
        """The runtime's handle of the source, while the request is running."""
        self.unchanged = False
        """Whether the source is returned unchanged although the search has not found it."""
        self.note = ""
        """What the user should know of the outputs."""
        self._labels = frozenset(config.labels)
        self._last_copy: Hypothesis | None = None
        self.bounds = Bounds(self)
        self.required = RequiredWords(self, lexical or LexicalConstraint())
        self._set_rules()

    def _first_beam(self) -> list[Hypothesis]:
        if self.options.sample:
            return [replace(self.start, sample=sample) for sample in range(self.options.beam)]
        return [replace(self.start, plan=plan) for plan in range(self.plans)]

    def follow(self, constraints: Sequence[Constraint], shapes: int, drafts: int, longest: int) -> None:
        """Grow under constraints that give each plan its shape: so many shapes, each with an equal share of the beam,
        and so many drafts, each with a place of its own.  Infills have at most `longest` tokens.  Without any it grows
        in any shape.

        From then on the options' beam is the share of a plan.
        """
        self.planner = None
        if constraints:
            self.fixed_constraints, self.plans = (*self.fixed_constraints, *constraints), shapes + drafts
            self.longest = longest
            self.options = self.options.changed({"beam": max(1, self.options.beam // max(1, shapes))})
            self.beam = self._first_beam()
            self._set_rules()

    # -- Algorithm 1

    def next_tasks(self, abreast: int = 1 << 30) -> list[InfillTask]:
        """The contexts to fill next, at this depth or the one below; none where the search is over.

        Where bounds hold, `abreast` tasks of a depth are handed out at a time, the best first: what they find rules
        out much of the others' work.
        """
        if self.tasks:
            if released := self.bounds.release(abreast):
                return released
            self.advance()
        if self.levels == 0:
            return []
        self._steps_before = self.row_steps
        self.tasks = [self._task(hypothesis) for hypothesis in self.beam if self.is_open(hypothesis)]
        if not self.tasks and self.required.first_pass and self.levels is None and self._begin_second_pass():
            return self.next_tasks(abreast)
        return self.bounds.hold_back(self.tasks, abreast)

    def complete(self, task: InfillTask, infills: Iterable[Infill]) -> bool:
        """Take a task's infills; whether no other task of this depth is under way."""
        task.grown = list(self.grow(task, infills))
        self.bounds.forget()
        return not any(map(self.bounds.under_way, self.tasks))

    def grow(self, task: InfillTask, infills: Iterable[Infill]) -> Iterator[Hypothesis]:
        """The contexts that infills make of a task's, with their scores."""
        before = task.hypothesis
        for infill in infills:
            context = self.expanded(before, infill.tokens)
            if self.config.guided and not fits(context.ids, self.config, self.source):
                self.outgrown = True
                continue
            matched = self.matches is not None and self.matches(context.ids, before.depth + 1)
            yield Hypothesis(
                context,
                self.accumulate(before, infill.score) + (self.options.reward if matched else 0.0),
                before.depth + 1,
                before,
                infill.tokens,
                infill.score,
                rewarded=matched,
                edited=bool(before.pins),
                sample=before.sample,
                plan=before.plan,
                part_scores=infill.part_scores,
                log_probability=before.log_probability + infill.log_probability,
            )

    def accumulate(self, hypothesis: Hypothesis, infill: float) -> float:
        """The score of a context grown from `hypothesis` by an infill of that score."""
        if not self.config.guided or (hypothesis.parent is None and self.options.first_level == "plain"):
            return infill
        return self.options.alpha * hypothesis.score + (1 - self.options.alpha) * infill

    def advance(self) -> None:
        """Once every task is done: the beam of the next depth.  Equal contexts are merged, the better one stays."""
        rules = self.competition
        ranked = sorted(self.competitors(), key=lambda hypothesis: -hypothesis.score)
        admitted = [hypothesis for hypothesis in ranked if rules.admits(hypothesis)]
        fair = rules.least_bad(admitted)
        self._remember_finished([hypothesis for hypothesis in admitted if not self.is_open(hypothesis)])
        self.beam = fair if self.options.sample else rules.top(distinct(fair))
        chosen = set(self.beam)
        self.dropped = [hypothesis for hypothesis in ranked if hypothesis not in chosen]
        explains = self.remember or self.on_level is not None
        self.reasons = rules.why(self.dropped, self.beam) if explains else {}
        if self.remember:
            self.rounds.append((self.beam, self.dropped, self.reasons))
        self.tasks = []
        self.bounds.forget()
        self.levels = None if self.levels is None else self.levels - 1
        if self.on_level is not None:
            self.on_level(self)

    def competitors(self) -> Iterator[Hypothesis]:
        """Hypotheses finished before this depth, and those that its tasks have grown so far."""
        waiting = {task.hypothesis for task in self.tasks}
        yield from (hypothesis for hypothesis in self.beam if hypothesis not in waiting)
        for task in self.tasks:
            yield from task.grown or ()

    # -- contexts

    def expanded(self, hypothesis: Hypothesis, infill: Sequence[int]) -> AnnotatedContext:
        """The context that an infill makes of a hypothesis's; a baseline's infill is its whole text."""
        if not self.config.guided:
            zeros = [0] * len(infill)
            return AnnotatedContext(list(infill), zeros, zeros, zeros)
        context = hypothesis.context.expand(infill, hypothesis.depth + 1, self.config)
        return context if self.canonical is None else AnnotatedContext.plain(self.canonical(context.ids), self.config)

    def open_labels(self, hypothesis: Hypothesis) -> int:
        """How many labels of a context are open."""
        return sum(token in self._labels for token in hypothesis.context.ids)

    def is_open(self, hypothesis: Hypothesis) -> bool:
        """Whether a context is yet to be filled."""
        return self.open_labels(hypothesis) > 0 if self.config.guided else hypothesis.parent is None

    @property
    def finished(self) -> bool:
        """Whether nothing is open any more."""
        return not any(self.is_open(hypothesis) for hypothesis in self.beam)

    def _task(self, hypothesis: Hypothesis) -> InfillTask:
        """A context to fill.  Its infill gets no more tokens than leave positions for the next context and its infill;
        where that is too few for all parts, it is filled with words at once, so that the text ends.
        """
        options, positions = self.options, self.config.max_positions
        parts = self.open_labels(hypothesis)
        # An infill may grow past its tokens by what constraints still need, and by what the user has written.
        reserve = sum(map(len, hypothesis.pins.values())) + sum(constraint.reserve for constraint in self.constraints)
        longest = [options.max_tokens, self.longest or positions, self.required.longest or positions]
        most = min(*longest, positions - 1 - reserve)
        if not self.config.guided:
            return InfillTask(self, hypothesis, tokens=max(1, most))
        room = min(positions - positions_of(hypothesis.context.ids, self.config, self.source), (positions - 2) // 2)
        labels = hypothesis.depth < options.max_depth and room > 2 * parts
        return InfillTask(self, hypothesis, parts, labels, min(most, room) if labels else most)

    # -- the rules, and how a search ends

    @property
    def lexical(self) -> LexicalConstraint:
        """The words that must and must not be written."""
        return self.required.lexical

    @lexical.setter
    def lexical(self, lexical: LexicalConstraint) -> None:
        self.required.lexical = lexical
        self._set_rules()

    def _set_rules(self) -> None:
        required = self.required.now
        self.constraints: tuple[Constraint, ...] = (*self.fixed_constraints, *([required] if required.any else []))
        """All that infills are searched under now."""
        lexical = None if self.required.first_pass else self.lexical
        self.competition = Competition(self.options, self.constraints, lexical, self._labels)
        self.bounds.forget()

    def continue_from(self, beam: Sequence[Hypothesis], lexical: LexicalConstraint) -> None:
        """Go on from a beam of before, in one pass, under those constraints on words and labels."""
        self.beam, self.required.first_pass = list(beam), False
        self.lexical = lexical

    def restart_depth(self) -> None:
        """Forget what is under way at this depth, so that another scheduler can begin it anew."""
        self.tasks, self.encoded, self.bounds = [], None, Bounds(self)
        self.row_steps = self._steps_before

    def _begin_second_pass(self) -> bool:
        """After the pass without required words: whether there must be another."""
        fitting = self.required.end_first_pass(self.beam, self.wanted)
        self._set_rules()
        self.beam = fitting or self._first_beam()
        return not fitting

    def _remember_finished(self, finished: Sequence[Hypothesis]) -> None:
        """Keep what may be wanted at the end: texts with all required words, and the best copy of the source."""
        self.required.remember(finished)
        copy = self.competition.best_copy(finished)
        if copy is not None and (self._last_copy is None or self._last_copy.score < copy.score):
            self._last_copy = copy

    def settle(self) -> None:
        """At the end: return the source where all else is bad, and choose among the texts of both passes."""
        copies = self.options.copy_fallback or not self.options.forbid_copy
        if not self.beam and self.longest is not None and copies:  # no text fits the shapes that were planned
            self.unchanged, self.note = True, RETURNED_UNCHANGED
        best = min(map(self.competition.badness, self.beam), default=CopyConstraint.weight + 1)
        if self._last_copy is not None and best >= CopyConstraint.weight and self.finished:
            if best > CopyConstraint.weight:
                self.beam = [self._last_copy]
            self.note = RETURNED_UNCHANGED
        self.beam = self.required.settle(self.beam, self.options.beam * self.plans)

    def order(self, ranks: Mapping[Hypothesis, float]) -> None:
        """Put the finished texts in the order of their ranks, or leave them in that of their scores."""
        if ranks:
            self.rank_scores = dict(ranks)
            self.beam = sorted(self.beam, key=lambda hypothesis: -ranks[hypothesis])
            if self.floating:
                free = self.required.free_beam
                self.required.free_beam = sorted(free, key=lambda hypothesis: -ranks[hypothesis])
        if (self.plans > 1 or self.options.num_structures) and self.wanted > 1:
            ranks = ranks or {hypothesis: hypothesis.score for hypothesis in self.beam}
            self.beam = unlike_each_other(self.beam, ranks, self._labels)

    def leave_out(self, faithful: list[Hypothesis]) -> None:
        """Keep only those finished texts; where there are none return the source, unless copies are forbidden."""
        if not faithful and self.options.forbid_copy and not self.options.copy_fallback:
            faithful = self.beam[:1]
        if not faithful:
            self.unchanged, self.note = True, RETURNED_UNCHANGED
            return
        left = [hypothesis for hypothesis in self.beam if hypothesis not in faithful]
        self.reasons.update(dict.fromkeys(left, UNFAITHFUL))
        self.beam, self.dropped = faithful, left + self.dropped

    # -- work

    def spend(self, rows: int) -> None:
        """Count decoder steps; beyond what one request may take it is given up."""
        self.row_steps += rows
        most = self.options.max_row_steps * self.options.beam * self.plans
        if most and self.row_steps > most:
            self.error = TooMuchWork(
                f"the search took more than {most} steps",
                remedy="shorten the text, narrow the beam, lower max_depth or max_tokens, or raise max_row_steps",
            )


def positions_of(context: Sequence[int], config: ModelConfig, source: Sequence[int]) -> int:
    """How many positions a context takes."""
    beside = len(source) + 2 if config.architecture == "concat" else 0
    return len(context) + len(config.context_marks) + beside


def fits(context: Sequence[int], config: ModelConfig, source: Sequence[int], pinned: int = 0) -> bool:
    """Whether a model has positions for a context and for the shortest infill of its open labels."""
    parts = sum(token in config.labels for token in context)
    return not parts or max(positions_of(context, config, source), 2 * parts + 2 + pinned) <= config.max_positions
