"""Algorithm 2 of the paper: the beam search over one context's infills, without a network.

    B_0 = {(0, <bos>)}
    at each step t, for each (score, infill) of B_{t-1}:
        where it ends in <eos>, it competes as it is;
        else each token that may follow competes, with the score of the infill so far and that token
    B_t = the best k

An `InfillBeam` asks for nothing itself: `allowed` says what may follow each partial infill, the scheduler finds the
likeliest of that for all beams at once, and `choose` makes the next beam of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from syntagma.runtime.base import IMPOSSIBLE
from syntagma.search.constraints.base import Allowed
from syntagma.search.constraints.grammar import END, InfillGrammar
from syntagma.search.constraints.lexical import LexicalConstraint, bank
from syntagma.search.hypothesis import IdTuple, Infill
from syntagma.search.task import Continuation, InfillTask, PartialInfill

_LEXICAL_MARGIN = 2
"""With required words the likeliest infills are not those that are looked for, so pruning is so much more careful."""


class InfillBeam:
    """The beam search of one task: partial infills and finished ones."""

    def __init__(self, task: InfillTask, grammar: InfillGrammar) -> None:
        self.task, self.grammar = task, grammar
        self.options = task.request.options
        self.partials = [PartialInfill((), 0.0, grammar.start(task), task.first_states, (), 0)]
        self.finished: list[Infill] = []
        lexical = [
            number for number, constraint in enumerate(task.constraints) if isinstance(constraint, LexicalConstraint)
        ]
        self._lexical = next((number for number in lexical if task.constraints[number].requires), None)  # type: ignore[attr-defined]
        self._promised: set[IdTuple] = set()

    def allowed(self, partial: PartialInfill) -> Allowed:
        """The tokens that may follow a partial infill."""
        allowed = Allowed(partial.state.kinds, self.grammar.words, partial.state)
        for constraint, state in zip(self.task.constraints, partial.states, strict=True):
            constraint.mask(state, allowed)
            if allowed.only is not None:
                return allowed
        if allowed.kinds & END and self.task.ends:
            for constraint, state in zip(self.task.constraints, partial.states, strict=True):
                if not constraint.may_end(state):
                    allowed.kinds &= ~END
        if partial.state.tokens_left < -self.task.reserve:
            allowed.kinds = 0
        return allowed

    def choose(self, continuations: Sequence[tuple[float, int, int]], first_row: int = 0) -> None:
        """Go on with the best continuations; `first_row` is where the partial infills begin in the runtime's state."""
        end = self.grammar.config.end
        best = sorted(continuations)
        if self._lexical is None and not self.options.sample:
            del best[2 * self.options.beam :]  # so many that end, and as many that go on
        ranked = list(map(Continuation._make, best))
        if self.options.sample:
            live = self._follow_samples(ranked, end)
        elif self.options.score == "sum":
            live = self._compete(ranked, end)
        else:
            live = self._retire(ranked, end)
        bounds = self.task.request.bounds
        if live and self.options.prune and not (self.options.sample or self.options.diversity_penalty):
            # A reward can make up for an infill that is worse by so much.
            live = self._prune(live, self.options.prune + bounds.most_reward / (1 - self.options.alpha))
        if live and bounds.hold:
            self._promise(-live[0].cost)
            live = [
                candidate
                for candidate in live
                if not bounds.is_hopeless(self.task, -candidate.cost, self._words(candidate))
            ]
        self.partials = [self._extend(candidate, first_row) for candidate in live]

    # -- Algorithm 2, and what differs where scores are means or infills are drawn

    def _compete(self, ranked: list[Continuation], end: int) -> list[Continuation]:
        """A finished infill keeps its place only while its score, the sum, is among the best."""
        before = self.finished
        done = [Continuation(-infill.score, -1, number) for number, infill in enumerate(before)]
        kept = self._best(sorted(done + ranked))
        self.finished = [
            before[candidate.token] if candidate.partial < 0 else self._finish(candidate)
            for candidate in kept
            if candidate.partial < 0 or candidate.token == end
        ]
        return [candidate for candidate in kept if candidate.partial >= 0 and candidate.token != end]

    def _retire(self, ranked: list[Continuation], end: int) -> list[Continuation]:
        """Finished infills leave the competition with their mean as score, until there are enough of them."""
        beam = self.options.beam
        self.finished += [self._finish(candidate) for candidate in self._best(ranked) if candidate.token == end]
        live = (
            []
            if len(self.finished) >= beam
            else self._best([candidate for candidate in ranked if candidate.token != end])
        )
        self.finished = sorted(self.finished, key=lambda infill: -infill.score)[:beam]
        return live

    def _follow_samples(self, ranked: list[Continuation], end: int) -> list[Continuation]:
        """Each partial infill has one continuation, which was drawn."""
        self.finished += [self._finish(candidate) for candidate in ranked if candidate.token == end]
        return [candidate for candidate in ranked if candidate.token != end]

    def _best(self, ranked: list[Continuation]) -> list[Continuation]:
        """As many as the beam is wide, with places for those that have written more of what is required."""
        if self._lexical is None:
            return ranked[: self.options.beam]
        return bank(ranked, self.options.beam, self._progress)

    def _progress(self, candidate: Continuation) -> int:
        constraint, number = self.task.constraints[self._lexical or 0], self._lexical or 0
        assert isinstance(constraint, LexicalConstraint)
        if candidate.partial >= 0:
            return constraint.progress_after(self.partials[candidate.partial].states[number], candidate.token)
        state = self.task.first_states[number]
        for token in self.finished[candidate.token].tokens:
            state = constraint.advance(state, token)
        return constraint.progress(state)

    def _words(self, candidate: Continuation) -> int:
        """How many required words the text holds if it goes on so."""
        if self._lexical is None:
            return 0
        constraint = self.task.constraints[self._lexical]
        after = constraint.advance(self.partials[candidate.partial].states[self._lexical], candidate.token)
        return len(after.done)

    def _prune(self, live: list[Continuation], margin: float) -> list[Continuation]:
        """Without those that are worse by more than the margin than the best, finished or not; with required words,
        than the best of those that have written as much of them."""
        if self._lexical is not None:
            best_of: dict[int, float] = {}
            degrees = [self._progress(candidate) for candidate in live]
            for candidate, degree in zip(live, degrees, strict=True):
                best_of.setdefault(degree, candidate.cost)
            wide = _LEXICAL_MARGIN * margin
            return [
                candidate
                for candidate, degree in zip(live, degrees, strict=True)
                if candidate.cost <= best_of[degree] + wide
            ]
        best = live[0].cost
        if self.finished:
            best = min(best, -max(infill.log_probability for infill in self.finished))
        return [candidate for candidate in live if candidate.cost <= best + margin]

    def _promise(self, best: float) -> None:
        """Tell the request of finished infills that score at least what the best unfinished one does: as that can
        only lose, they will stay."""
        if self._lexical is not None:
            return
        fresh = [infill for infill in self.finished if infill.score >= best and infill.tokens not in self._promised]
        if fresh:
            self._promised.update(infill.tokens for infill in fresh)
            self.task.request.bounds.promise(self.task, fresh)

    # -- one partial infill

    def _extend(self, candidate: Continuation, first_row: int) -> PartialInfill:
        before, token = self.partials[candidate.partial], candidate.token
        kind = self.grammar.kind(token)
        starts = before.part_starts
        return PartialInfill(
            (*before.tokens, token),
            -candidate.cost,
            before.state.after(kind),
            tuple(
                [
                    constraint.advance(state, token)
                    for constraint, state in zip(self.task.constraints, before.states, strict=True)
                ]
            ),
            (*starts, before.score) if token == self.grammar.config.part else starts,
            first_row + candidate.partial,
        )

    def _finish(self, candidate: Continuation) -> Infill:
        before, total = self.partials[candidate.partial], -candidate.cost
        score = total if self.options.score == "sum" else total / (len(before.tokens) + 1)
        starts = before.part_starts
        shares = tuple(end - start for start, end in zip(starts, (*starts[1:], total), strict=False))
        return Infill(before.tokens, total, score, shares)


def continuations(
    partials: Sequence[PartialInfill], tokens: list[list[int]], scores: list[list[float]], first: int
) -> list[tuple[float, int, int]]:
    """All ways on from partial infills whose rows begin at `first`: the values of `Continuation`s."""
    return [
        (-(partial.score + score), number, token)
        for number, partial in enumerate(partials)
        for token, score in zip(tokens[first + number], scores[first + number], strict=True)
        if score != IMPOSSIBLE
    ]
