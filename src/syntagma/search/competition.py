"""Who may compete for the next beam of a request, and who stays: constraints, required words, diversity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from syntagma.search.constraints.base import Constraint
from syntagma.search.constraints.copy import CopyConstraint
from syntagma.search.constraints.lexical import LexicalConstraint
from syntagma.search.hypothesis import Hypothesis, IdTuple
from syntagma.search.options import SearchOptions
from syntagma.search.selection import by_structure, diverse, places_by_degree

OUTSCORED, SAME = "outscored", "the same as a better one"
"""Why a hypothesis that no constraint refuses is dropped."""


class Competition:
    """The rules under which hypotheses compete.

    With required words there are places in the beam for each degree of holding them; some of these go by the joint
    log-probability, as in the score what is written early, however unlikely, soon counts little.
    """

    def __init__(
        self,
        options: SearchOptions,
        constraints: Sequence[Constraint],
        lexical: LexicalConstraint | None,
        labels: frozenset[int],
    ) -> None:
        self.options, self.labels = options, labels
        self.constraints = tuple(constraints)
        self.lexical = lexical or LexicalConstraint()
        self._strict = [constraint for constraint in constraints if constraint.strict]
        self._soft = [constraint for constraint in constraints if not constraint.strict]
        self.degrees = len(self.lexical.required) or int(bool(self.lexical.required_labels))
        self.places = places_by_degree(self.degrees, options.beam)
        self._fair: dict[Hypothesis, bool] = {}

    def admits(self, hypothesis: Hypothesis) -> bool:
        """Whether no constraint that is strict refuses a hypothesis."""
        return all(constraint.keep(hypothesis) for constraint in self._strict)

    def keeps(self, hypothesis: Hypothesis) -> bool:
        """Whether no other constraint would refuse it either."""
        return all(constraint.keep(hypothesis) for constraint in self._soft)

    def is_fair(self, hypothesis: Hypothesis) -> bool:
        """Whether no constraint at all refuses it; found out once."""
        fair = self._fair.get(hypothesis)
        if fair is None:
            fair = self._fair[hypothesis] = self.admits(hypothesis) and self.keeps(hypothesis)
        return fair

    def badness(self, hypothesis: Hypothesis) -> int:
        """How much is wrong with a hypothesis; a copy of the source is better than the rest of what is refused."""
        return sum(constraint.weight for constraint in self._soft if not constraint.keep(hypothesis))

    def least_bad(self, ranked: list[Hypothesis]) -> list[Hypothesis]:
        """Those that constraints would keep; where they would keep none, the least bad."""
        faults = [self.badness(hypothesis) for hypothesis in ranked]
        least = min(faults, default=0)
        return [hypothesis for hypothesis, fault in zip(ranked, faults, strict=True) if fault == least]

    def best_copy(self, ranked: Iterable[Hypothesis]) -> Hypothesis | None:
        """The first with nothing wrong but that it copies the source."""
        return next((hypothesis for hypothesis in ranked if self.badness(hypothesis) == CopyConstraint.weight), None)

    def top(self, ranked: list[Hypothesis]) -> list[Hypothesis]:
        """The next beam, that of each plan for itself; best first."""
        plans = sorted({hypothesis.plan for hypothesis in ranked})
        if len(plans) < 2:
            return self._top(ranked)
        kept = [self._top([hypothesis for hypothesis in ranked if hypothesis.plan == plan]) for plan in plans]
        return sorted(chain.from_iterable(kept), key=lambda hypothesis: -hypothesis.score)

    def _top(self, ranked: list[Hypothesis]) -> list[Hypothesis]:
        """The best, or, with required words or a diversity penalty, the best under those."""
        if self.degrees:
            kept: list[Hypothesis] = []
            for degree, places in enumerate(self.places):
                fitting = [hypothesis for hypothesis in ranked if self.degree(hypothesis) == degree]
                likely = sorted(fitting, key=lambda hypothesis: -hypothesis.log_probability)
                chosen = likely[: by_joint(places)] if self.by_joint else []
                kept += (
                    chosen + [hypothesis for hypothesis in fitting if hypothesis not in chosen][: places - len(chosen)]
                )
            return sorted(kept, key=lambda hypothesis: -hypothesis.score)
        if self.options.diversity_penalty:
            return diverse(ranked, self.options)
        if self.options.num_structures:
            return by_structure(ranked, self.options, self.labels)
        return ranked[: self.options.beam]

    def why(self, dropped: Sequence[Hypothesis], kept: Sequence[Hypothesis]) -> dict[Hypothesis, str]:
        """For each dropped hypothesis the constraint that refused it, or that another was better."""
        contexts = {hypothesis.ids for hypothesis in kept}
        reasons: dict[Hypothesis, str] = {}
        for hypothesis in dropped:
            refused = (constraint.reason for constraint in self.constraints if not constraint.keep(hypothesis))
            reasons[hypothesis] = next(refused, SAME if hypothesis.ids in contexts else OUTSCORED)
        return reasons

    # -- degrees of holding what is required

    @property
    def by_joint(self) -> bool:
        """Whether some places go by the joint log-probability."""
        return bool(self.lexical.required)

    def degree(self, hypothesis: Hypothesis) -> int:
        """Among which of the degrees of `places` a context competes."""
        return self.scaled(self.words(hypothesis))

    def words(self, hypothesis: Hypothesis) -> int:
        """How many required words a context holds; or whether its infill has the required labels."""
        if not self.degrees:
            return 0
        if not self.lexical.required:
            return int(self.lexical.required_labels <= set(hypothesis.infill))
        return len(self.lexical.words_in(hypothesis.ids))

    def scaled(self, words: int) -> int:
        """The degree of so many words: where there are more words than places, several share one."""
        return words * (len(self.places) - 1) // self.degrees if self.degrees else 0


def by_joint(places: int) -> int:
    """How many of the places of a degree go by the joint log-probability."""
    return (places + 1) // 2


def distinct(ranked: Sequence[Hypothesis]) -> list[Hypothesis]:
    """The first hypothesis of each context and plan."""
    first_of: dict[tuple[int, IdTuple], Hypothesis] = {}
    for hypothesis in ranked:
        first_of.setdefault((hypothesis.plan, hypothesis.ids), hypothesis)
    return list(first_of.values())
