"""Exact bounds: what cannot reach the next beam of its request any more is not searched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from syntagma.search.competition import by_joint
from syntagma.search.hypothesis import IdTuple, Infill

if TYPE_CHECKING:
    from syntagma.search.request import SearchRequest
    from syntagma.search.task import InfillTask


class Bounds:
    """The score that the last place of a request's next beam is sure to have, as far as it is known."""

    def __init__(self, request: SearchRequest) -> None:
        self._request = request
        self._thresholds: dict[tuple[int, bool], float] = {}
        self._held: list[InfillTask] = []

    @property
    def hold(self) -> bool:
        """Whether an infill's score can be told to be too low before it is finished."""
        request = self._request
        options = request.options
        by_score = not (options.diversity_penalty or options.num_structures or options.sample or request.plans > 1)
        free = by_score and not request.lexical.required_labels
        return options.bounds and options.score == "sum" and free and request.config.guided

    @property
    def most_reward(self) -> float:
        """The most that a context can gain by matching the template."""
        return self._request.options.reward if self._request.matches is not None else 0.0

    def forget(self) -> None:
        """More is known than before, so that thresholds may have risen."""
        self._thresholds = {}

    def threshold(self, words: int = 0, joint: bool = False) -> float:
        """A score that the last place of the next beam has at least: what scores less cannot enter it.

        Only what is certain to compete counts: finished hypotheses, the infills of tasks that are done, and what tasks
        under way have promised.  What holds so many required `words` now may hold more in the end, and compete for
        other places; some of these go by the `joint` log-probability.
        """
        if (words, joint) not in self._thresholds:
            rules = self._request.competition
            degrees = range(rules.scaled(words), len(rules.places))
            self._thresholds[words, joint] = min(self._threshold(degree, joint) for degree in degrees)
        return self._thresholds[words, joint]

    def _threshold(self, degree: int, joint: bool) -> float:
        request, rules = self._request, self._request.competition
        best: dict[IdTuple, float] = {}
        promised = (score for task in request.tasks if task.grown is None for score in task.promised.values())
        for hypothesis in (*request.competitors(), *promised):
            if rules.degree(hypothesis) == degree and rules.is_fair(hypothesis):
                value = hypothesis.log_probability if joint else hypothesis.score
                best[hypothesis.ids] = max(value, best.get(hypothesis.ids, value))
        places = by_joint(rules.places[degree]) if joint else rules.places[degree]
        return sorted(best.values())[-places] if len(best) >= places else float("-inf")

    def is_hopeless(self, task: InfillTask, score: float, words: int) -> bool:
        """Whether the next context, which holds so many required words, cannot enter the beam if its infill scores at
        most `score`."""
        before = task.hypothesis
        if self._request.accumulate(before, score) + self.most_reward >= self.threshold(words):
            return False
        return not self._request.competition.by_joint or before.log_probability + score < self.threshold(words, True)

    def promise(self, task: InfillTask, infills: Iterable[Infill]) -> None:
        """Take note of infills of a task under way that no other of its infills can displace."""
        for hypothesis in self._request.grow(task, infills):
            task.promised[hypothesis.ids] = hypothesis
        self.forget()

    # -- tasks that wait for what the best ones find

    def hold_back(self, tasks: list[InfillTask], abreast: int) -> list[InfillTask]:
        """The first `abreast` tasks of a depth; where bounds hold, the others wait."""
        self._held = tasks[abreast:] if self.hold else []
        return tasks[: len(tasks) - len(self._held)]

    def release(self, abreast: int) -> list[InfillTask]:
        """The next tasks that were held back, without those that cannot reach the next beam any more."""
        ready: list[InfillTask] = []
        while self._held and len(ready) < abreast:
            task = self._held.pop(0)
            if self.is_hopeless(task, 0.0, self._request.competition.words(task.hypothesis)):
                task.grown = []
            else:
                ready.append(task)
        return ready

    def under_way(self, task: InfillTask) -> bool:
        """Whether a task is neither done nor held back."""
        return task.grown is None and all(task is not held for held in self._held)
