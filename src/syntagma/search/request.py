"""Algorithm 1: the structural beam search over one source, without a network.

A `SearchRequest` keeps the beam of its current depth.  It hands out `InfillTask`s, one for each context with open
labels; when every task has its infills, the next beam is made of their expansions and of the hypotheses that were
finished before.

Where words are required (`must`) the search goes without them first: what it finds and what holds them competes in any
case.  Only where that is not enough it goes again, with places in the beam for hypotheses that hold more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from syntagma.errors import SyntagmaError
from syntagma.network.config import ModelConfig
from syntagma.network.contexts import AnnotatedContext
from syntagma.search.constraints.base import Constraint
from syntagma.search.constraints.copy import CopyConstraint
from syntagma.search.constraints.lexical import LexicalConstraint
from syntagma.search.constraints.template import Matcher
from syntagma.search.hypothesis import Hypothesis, IdTuple, Infill
from syntagma.search.infill_beam import InfillTask
from syntagma.search.options import SearchOptions
from syntagma.search.selection import best_of_each, by_structure, diverse, places_by_degree

_SPARE_TOKENS = 4
"""Tokens that an infill with required words may have beside those words and what one without them had."""


OUTSCORED, SAME = "outscored", "the same as a better one"
"""Why a hypothesis that no constraint refuses is dropped."""

SAID_BACK = "this is the source again: nothing else that was found is as good"


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
        self.wanted = wanted
        """How many texts with all required words are enough."""
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
        self.free_beam: list[Hypothesis] = []
        """What was found without required words, where there are some."""
        self.floating = False
        """Whether another sentence of the text may hold the required words instead, so that `free_beam` is reranked."""
        self.rank_scores: dict[Hypothesis, float] = {}
        """What decided the order of finished texts, where they are reranked."""
        self.tasks: list[InfillTask] = []
        self.row_steps = 0
        self.error: SyntagmaError | None = None
        """Why the search was given up."""
        self.outgrown = False
        """Whether a context was left behind because it has more tokens than the model has positions."""
        self.encoded: Any = None
        """The runtime's handle of the source, while the request is running."""
        self._labels = frozenset(config.labels)
        self._held: list[InfillTask] = []
        self._thresholds: dict[tuple[int, bool], float] = {}
        self._first_pass = lexical is not None and bool(lexical.required)
        self.lexical = lexical or LexicalConstraint()
        self._last_copy: Hypothesis | None = None
        self._qualified: dict[IdTuple, Hypothesis] = {}  # finished, with all required words
        self.said_back = False
        """Whether the source is said back although the search has not found it."""
        self.note = ""
        """What the user should know of the outputs."""

    def continue_from(self, beam: Sequence[Hypothesis], lexical: LexicalConstraint) -> None:
        """Go on from a beam of before, in one pass, under those constraints on words and labels."""
        self.beam, self._first_pass = list(beam), False
        self.lexical = lexical

    def restart_depth(self) -> None:
        """Forget what is under way at this depth, so that another scheduler can begin it anew."""
        self.tasks, self._held, self.encoded, self._thresholds = [], [], None, {}

    def _first_beam(self) -> list[Hypothesis]:
        copies = self.options.beam if self.options.sample else 1
        return [replace(self.start, sample=sample) for sample in range(copies)]

    # -- Algorithm 1

    def next_tasks(self, abreast: int = 1 << 30) -> list[InfillTask]:
        """The contexts to fill next, at this depth or the one below; none where the search is over.

        Where bounds hold, `abreast` tasks of a depth are handed out at a time, the best first: what they find rules
        out much of the others' work.
        """
        if self.tasks:
            held = self._held_tasks(abreast)
            if held:
                return held
            self.advance()
        if self.levels == 0:
            return []
        self.tasks = [self._task(hypothesis) for hypothesis in self.beam if self._is_open(hypothesis)]
        if not self.tasks and self._first_pass and self.levels is None and self._again():
            return self.next_tasks(abreast)
        self._held = self.tasks[abreast:] if self.bounded else []
        return self.tasks[: len(self.tasks) - len(self._held)]

    def complete(self, task: InfillTask, infills: Iterable[Infill]) -> bool:
        """Take a task's infills; whether no other task of this depth is under way."""
        task.grown = list(self._grow(task, infills))
        self._thresholds = {}
        held = {id(other) for other in self._held}
        return all(other.grown is not None or id(other) in held for other in self.tasks)

    def advance(self) -> None:
        """Once every task is done: the beam of the next depth.  Equal contexts are merged, the better one stays."""
        ranked = sorted(self._competitors(), key=lambda hypothesis: -hypothesis.score)
        competitors = ranked
        strict = [hypothesis for hypothesis in ranked if self._admits(hypothesis)]
        ranked = [hypothesis for hypothesis in strict if self.keeps(hypothesis)] or self._least_bad(strict)
        self._note_copy(strict)
        if self._degrees and self.lexical.required:
            done = (one for one in strict if not self._is_open(one) and self.qualifies(one))
            self._qualified.update((one.ids, one) for one in done)
        kept = ranked if self.options.sample else self._select(distinct(ranked))
        chosen = set(kept)
        self.dropped = [hypothesis for hypothesis in competitors if hypothesis not in chosen]
        self.reasons = self._why(kept) if self.remember or self.on_level is not None else {}
        self.beam = kept
        if self.remember:
            self.rounds.append((kept, self.dropped, self.reasons))
        self.tasks, self._thresholds = [], {}
        self.levels = None if self.levels is None else self.levels - 1
        if self.on_level is not None:
            self.on_level(self)

    def _why(self, kept: Sequence[Hypothesis]) -> dict[Hypothesis, str]:
        """For each dropped hypothesis the constraint that refused it, or that another was better."""
        contexts = {hypothesis.ids for hypothesis in kept}
        found: dict[Hypothesis, str] = {}
        for hypothesis in self.dropped:
            refused = (one.reason for one in self.constraints if not one.keep(hypothesis))
            found[hypothesis] = next(refused, SAME if hypothesis.ids in contexts else OUTSCORED)
        return found

    def accumulate(self, hypothesis: Hypothesis, infill: float) -> float:
        """The score of a context grown from `hypothesis` by an infill of that score."""
        if not self.config.guided or (hypothesis.parent is None and self.options.first_level == "plain"):
            return infill
        return self.options.alpha * hypothesis.score + (1 - self.options.alpha) * infill

    def _grow(self, task: InfillTask, infills: Iterable[Infill]) -> Iterator[Hypothesis]:
        """The contexts that a task's infills grow."""
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
                part_scores=infill.part_scores,
                log_probability=before.log_probability + infill.log_probability,
            )

    def expanded(self, hypothesis: Hypothesis, infill: Sequence[int]) -> AnnotatedContext:
        """The context that an infill makes of a hypothesis's; a baseline's infill is its whole text."""
        if not self.config.guided:
            zeros = [0] * len(infill)
            return AnnotatedContext(list(infill), zeros, zeros, zeros)
        context = hypothesis.context.expand(infill, hypothesis.depth + 1, self.config)
        return context if self.canonical is None else AnnotatedContext.plain(self.canonical(context.ids), self.config)

    def _task(self, hypothesis: Hypothesis) -> InfillTask:
        """A context to fill.  Its infill gets no more tokens than leave positions for the next context and its infill;
        where that is too few for all parts, it is filled with words at once, so that the text ends.
        """
        options, positions = self.options, self.config.max_positions
        parts = self.open_labels(hypothesis)
        # An infill may grow past its tokens by what constraints still need, and by what the user has written.
        reserve = sum(map(len, hypothesis.pins.values())) + sum(one.reserve for one in self.constraints)
        most = min(options.max_tokens, positions - 1 - reserve)
        if not self._first_pass and self.free_beam:
            most = min(most, self._longest_free())
        if not self.config.guided:
            return InfillTask(self, hypothesis, tokens=max(1, most))
        room = min(positions - positions_of(hypothesis.context.ids, self.config, self.source), (positions - 2) // 2)
        labels = hypothesis.depth < options.max_depth and room > 2 * parts
        return InfillTask(self, hypothesis, parts, labels, min(most, room) if labels else most)

    # -- who may compete, and who stays

    @property
    def lexical(self) -> LexicalConstraint:
        """What must and must not be written."""
        return self._lexical

    @lexical.setter
    def lexical(self, lexical: LexicalConstraint) -> None:
        self._lexical = lexical
        now = lexical.without_required() if self._first_pass else lexical
        self.constraints: tuple[Constraint, ...] = (*self.fixed_constraints, *([now] if now.any else []))
        """All that infills are searched under now."""
        self._strict = [constraint for constraint in self.constraints if constraint.strict]
        self._soft = [constraint for constraint in self.constraints if not constraint.strict]
        self._degrees = 0 if self._first_pass else len(lexical.required) or int(bool(lexical.required_labels))
        self._places = places_by_degree(self._degrees, self.options.beam)
        self._thresholds = {}

    def keeps(self, hypothesis: Hypothesis) -> bool:
        """Whether all constraints would keep a hypothesis."""
        return all(constraint.keep(hypothesis) for constraint in self._soft)

    def _admits(self, hypothesis: Hypothesis) -> bool:
        """Whether no constraint that is strict refuses a hypothesis."""
        return all(constraint.keep(hypothesis) for constraint in self._strict)

    def _least_bad(self, ranked: list[Hypothesis]) -> list[Hypothesis]:
        """Where constraints would keep none: those that are least bad; a copy of the source is better than the rest."""
        faults = [self._badness(hypothesis) for hypothesis in ranked]
        least = min(faults, default=0)
        return [hypothesis for hypothesis, fault in zip(ranked, faults, strict=True) if fault == least]

    def _badness(self, hypothesis: Hypothesis) -> int:
        return sum(constraint.weight for constraint in self._soft if not constraint.keep(hypothesis))

    def _select(self, ranked: list[Hypothesis]) -> list[Hypothesis]:
        """The next beam: the best, or, with required words or a diversity penalty, the best under those."""
        if self._degrees:
            kept: list[Hypothesis] = []
            for degree, places in enumerate(self._places):
                fitting = [one for one in ranked if self._degree(one) == degree]
                likely = sorted(fitting, key=lambda hypothesis: -hypothesis.log_probability)
                chosen = likely[: _by_joint(places)] if self.by_joint else []
                kept += chosen + [one for one in fitting if one not in chosen][: places - len(chosen)]
            return sorted(kept, key=lambda hypothesis: -hypothesis.score)
        if self.options.diversity_penalty:
            return diverse(ranked, self.options)
        if self.options.num_structures:
            return by_structure(ranked, self.options, self._labels)
        return ranked[: self.options.beam]

    def _competitors(self) -> Iterator[Hypothesis]:
        waiting = {task.hypothesis for task in self.tasks}
        yield from (hypothesis for hypothesis in self.beam if hypothesis not in waiting)
        for task in self.tasks:
            yield from task.grown or ()

    def open_labels(self, hypothesis: Hypothesis) -> int:
        """How many labels of a context are open."""
        return sum(token in self._labels for token in hypothesis.context.ids)

    def _is_open(self, hypothesis: Hypothesis) -> bool:
        return self.open_labels(hypothesis) > 0 if self.config.guided else hypothesis.parent is None

    @property
    def finished(self) -> bool:
        """Whether nothing is open any more."""
        return not any(self._is_open(hypothesis) for hypothesis in self.beam)

    # -- bounds: what cannot reach the next beam any more is not searched

    @property
    def most_reward(self) -> float:
        """What a context can gain at most by matching the template."""
        return self.options.reward if self.matches is not None else 0.0

    @property
    def bounded(self) -> bool:
        """Whether an infill's score can be told to be too low before it is finished."""
        options = self.options
        free = not (
            options.diversity_penalty or options.num_structures or options.sample or self.lexical.required_labels
        )
        return options.bounds and options.score == "sum" and free and self.config.guided

    def threshold(self, words: int = 0, joint: bool = False) -> float:
        """A score that the last place of the next beam has at least: what scores less cannot enter it.

        Only what is certain to compete counts: finished hypotheses, the infills of tasks that are done, and what tasks
        under way have promised.  With required words there are places for each degree of holding them, and what holds
        so many `words` now may hold more in the end; there some places go by the `joint` log-probability.
        """
        if (words, joint) not in self._thresholds:
            degrees = range(self._scaled(words), len(self._places))
            self._thresholds[words, joint] = min(self._threshold(degree, joint) for degree in degrees)
        return self._thresholds[words, joint]

    def _threshold(self, degree: int, joint: bool) -> float:
        best: dict[IdTuple, float] = {}
        promised = (one for task in self.tasks if task.grown is None for one in task.promised.values())
        for hypothesis in (*self._competitors(), *promised):
            if self._degree(hypothesis) == degree and self._admits(hypothesis) and self.keeps(hypothesis):
                value = hypothesis.log_probability if joint else hypothesis.score
                best[hypothesis.ids] = max(value, best.get(hypothesis.ids, value))
        places = _by_joint(self._places[degree]) if joint else self._places[degree]
        return sorted(best.values())[-places] if len(best) >= places else float("-inf")

    def promise(self, task: InfillTask, infills: Iterable[Infill]) -> None:
        """Take note of infills of a task under way that no other of its infills can displace."""
        for hypothesis in self._grow(task, infills):
            task.promised[hypothesis.ids] = hypothesis
        self._thresholds = {}

    def _held_tasks(self, abreast: int) -> list[InfillTask]:
        """The next tasks of this depth that were held back, without those that cannot reach the next beam any more."""
        ready: list[InfillTask] = []
        while self._held and len(ready) < abreast:
            task = self._held.pop(0)
            if task.is_hopeless(0.0, self._words(task.hypothesis)):
                task.grown = []
            else:
                ready.append(task)
        return ready

    # -- required words

    @property
    def by_joint(self) -> bool:
        """Whether some places go by the joint log-probability: with required words, as in the score what is written
        early, however unlikely, soon counts little."""
        return bool(self._degrees and self.lexical.required)

    def _degree(self, hypothesis: Hypothesis) -> int:
        """Among which of the degrees of `places_by_degree` a context competes."""
        return self._scaled(self._words(hypothesis))

    def _words(self, hypothesis: Hypothesis) -> int:
        """How many required words a context holds; or whether its infill has the required labels."""
        if not self._degrees:
            return 0
        if not self.lexical.required:
            return int(self.lexical.required_labels <= set(hypothesis.infill))
        return len(self.lexical.words_in(hypothesis.ids))

    def _scaled(self, words: int) -> int:
        return words * (len(self._places) - 1) // self._degrees if self._degrees else 0

    def qualifies(self, hypothesis: Hypothesis) -> bool:
        """Whether a finished hypothesis holds all required words."""
        if self.decode is not None and self.lexical.texts:
            return self.lexical.met_by(self.decode(hypothesis.context.ids))
        return len(self.lexical.words_in(hypothesis.ids)) == len(self.lexical.required)

    def holds_required(self, hypothesis: Hypothesis) -> bool:
        """Whether a hypothesis holds all required words, if need be as parts of longer ones."""
        spelled = len(self.lexical.words_in(hypothesis.ids)) == len(self.lexical.required)
        return spelled or self.qualifies(hypothesis)

    def _again(self) -> bool:
        """After the pass without required words: whether there must be another."""
        self._first_pass, self.free_beam = False, self.beam
        self.lexical = self.lexical
        fitting = [hypothesis for hypothesis in self.beam if self.qualifies(hypothesis)]
        if len(fitting) >= self.wanted:
            self.beam = fitting
            return False
        self.beam = self._first_beam()
        return True

    def _longest_free(self) -> int:
        """How long an infill with required words may be."""
        longest = max((len(one.infill) for end in self.free_beam for one in end.history()), default=0)
        return longest + sum(max(map(len, spelled)) for spelled in self.lexical.required) + _SPARE_TOKENS

    def _note_copy(self, ranked: Sequence[Hypothesis]) -> None:
        """Remember the best finished copy of the source, should everything else turn out bad."""
        for hypothesis in ranked:
            if self._badness(hypothesis) == CopyConstraint.weight and not self._is_open(hypothesis):
                if self._last_copy is None or self._last_copy.score < hypothesis.score:
                    self._last_copy = hypothesis
                return

    def settle(self) -> None:
        """At the end: say the source back where all else is bad; and what was found without required words competes
        with what was found with them."""
        best = min(map(self._badness, self.beam), default=CopyConstraint.weight + 1)
        if self._last_copy is not None and best >= CopyConstraint.weight and self.finished:
            if best > CopyConstraint.weight:
                self.beam = [self._last_copy]
            self.note = SAID_BACK
        if not self.free_beam or not self.lexical.required:
            return
        fitting = [hypothesis for hypothesis in self.free_beam if self.qualifies(hypothesis)]
        found = distinct([*self.beam, *fitting, *self._qualified.values()])
        found = [hypothesis for hypothesis in found if self.qualifies(hypothesis)] or found
        found.sort(key=lambda hypothesis: -hypothesis.log_probability / max(1, len(hypothesis.ids)))
        self.beam = found[: self.options.beam]

    def order(self, ranks: Mapping[Hypothesis, float]) -> None:
        """Put the finished texts in the order of their ranks, or leave them in that of their scores."""
        if ranks:
            self.rank_scores = dict(ranks)
            self.beam = sorted(self.beam, key=lambda hypothesis: -ranks[hypothesis])
            if self.floating:
                self.free_beam = sorted(self.free_beam, key=lambda hypothesis: -ranks[hypothesis])
        if self.options.num_structures:
            self.beam = best_of_each(self.beam, self._labels)

    def leave_out(self, faithful: list[Hypothesis]) -> None:
        """Keep only those finished texts; where there are none say the source back, unless copies are forbidden."""
        if not faithful and self.options.forbid_copy and not self.options.copy_fallback:
            faithful = self.beam[:1]
        if not faithful:
            self.said_back, self.note = True, SAID_BACK
        self.beam = faithful

    # -- work

    def spend(self, rows: int) -> None:
        """Count decoder steps; beyond what one request may take it is given up."""
        self.row_steps += rows
        most = self.options.max_row_steps * self.options.beam
        if most and self.row_steps > most:
            self.error = TooMuchWork(
                f"the search took more than {most} steps",
                remedy="shorten the text, narrow the beam, lower max_depth or max_tokens, or raise max_row_steps",
            )


def _by_joint(places: int) -> int:
    """How many of the places of a degree go by the joint log-probability."""
    return (places + 1) // 2


def distinct(ranked: Sequence[Hypothesis]) -> list[Hypothesis]:
    """The first hypothesis of each context."""
    found: dict[IdTuple, Hypothesis] = {}
    for hypothesis in ranked:
        found.setdefault(hypothesis.ids, hypothesis)
    return list(found.values())


def positions_of(context: Sequence[int], config: ModelConfig, source: Sequence[int]) -> int:
    """How many positions a context takes."""
    beside = len(source) + 2 if config.architecture == "concat" else 0
    return len(context) + len(config.context_marks) + beside


def fits(context: Sequence[int], config: ModelConfig, source: Sequence[int], pinned: int = 0) -> bool:
    """Whether a model has positions for a context and for the shortest infill of its open labels."""
    parts = sum(token in config.labels for token in context)
    return not parts or max(positions_of(context, config, source), 2 * parts + 2 + pinned) <= config.max_positions
