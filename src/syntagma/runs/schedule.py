"""The end of a run, and its learning rate on the way there.

A plan is a number of steps and how far along the run is at each.  It can change on the way, when the machine is slower
or faster than it was: the share that is done stays what it is, and the rest is spread over the steps that are left.  So
the rate has no jumps, and a plan that was stored gives the same rates again.

>>> plan = Plan(steps=100, warmup=10)
>>> plan.progress(50), plan.replanned(50, 60).progress(55)
(0.5, 0.75)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

MEASURED = 30
"""Steps that a run of so many minutes is timed for before it plans its end."""
IGNORED = 5
"""Steps before those: the first ones are slower."""
FIRST = 50
"""The first plan is made after such a part of the time, where steps are slow."""
REPLANS = 20
"""How often the plan is looked at again, at least."""
LAST = 100
"""In the last such part of the time a plan is not looked at again because its steps are half done."""


class ScheduleSettings(Protocol):
    """The settings of a run that decide its end and its learning rate."""

    @property
    def steps(self) -> int | None:
        """The last step, if given."""
        ...

    @property
    def epochs(self) -> float | None:
        """Rounds of the data, if given."""
        ...

    @property
    def minutes(self) -> float | None:
        """The time, if given."""
        ...

    @property
    def lr(self) -> float:
        """The highest learning rate."""
        ...

    @property
    def lr_end(self) -> float:
        """The rate that a line or a cosine ends at."""
        ...

    @property
    def schedule(self) -> str:
        """The curve after the warm-up."""
        ...

    @property
    def warmup(self) -> int:
        """Steps in which the rate rises."""
        ...


@dataclass(frozen=True)
class Plan:
    """The end of a run, None while a time budget is still being measured, and how the plan has changed."""

    steps: int | None
    warmup: int
    knots: tuple[tuple[int, float], ...] = ((0, 0.0),)
    """Steps with how far along the run was; straight lines between them, and from the last to the end."""

    @staticmethod
    def begin(config: ScheduleSettings, limit: int | None) -> Plan:
        """The plan before the first step; `limit` is the number of steps that the run must not exceed."""
        if limit is None or (config.minutes is not None and limit > IGNORED + MEASURED):
            return Plan(None, config.warmup, ())
        return Plan(limit, config.warmup)._clamped()

    def _clamped(self) -> Plan:
        assert self.steps is not None
        return replace(self, warmup=min(self.warmup, self.steps // 4))

    def progress(self, step: int) -> float:
        """How far along the run is after `step` steps, 0 to 1."""
        if self.steps is None:
            return 0.0
        points = [*self.knots, (self.steps, 1.0)]
        for (start, before), (end, after) in pairwise(points):
            if step < end:
                return before + (after - before) * (step - start) / (end - start)
        return 1.0

    def replanned(self, step: int, steps: int) -> Plan:
        """The plan that ends after `steps` instead, changed after `step`."""
        if self.steps is None:
            return Plan(max(steps, step), self.warmup)._clamped()
        if steps == self.steps:
            return self
        turn = (step, self.progress(step))
        knots = self.knots if self.knots[-1][0] == step else (*self.knots, turn)
        return replace(self, steps=max(steps, step), knots=knots)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values."""
        return asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Plan:
        """The plan from plain values."""
        return Plan(values["steps"], values["warmup"], tuple((int(s), float(p)) for s, p in values["knots"]))


def learning_rate(config: ScheduleSettings, plan: Plan, step: int) -> float:
    """The rate of the step that follows `step` others.

    >>> from types import SimpleNamespace
    >>> config = SimpleNamespace(lr=1.0, schedule="cosine", lr_end=0.5)
    >>> [round(learning_rate(config, Plan(8, 2), step), 3) for step in range(8)]
    [0.5, 1.0, 1.0, 0.967, 0.875, 0.75, 0.625, 0.533]
    >>> line = SimpleNamespace(lr=1.0, schedule="linear", lr_end=0.0)
    >>> [round(learning_rate(line, Plan(6, 2), step), 3) for step in range(6)]
    [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    >>> curve = SimpleNamespace(lr=1.0, schedule="exponential", lr_end=0.0625)
    >>> [round(learning_rate(curve, Plan(6, 2), step), 3) for step in range(7)]
    [0.5, 1.0, 1.0, 0.5, 0.25, 0.125, 0.062]
    """
    if step < plan.warmup:
        return config.lr * (step + 1) / plan.warmup
    if config.schedule == "inverse-sqrt":
        return config.lr * math.sqrt(max(plan.warmup, 1) / (step + 1))
    if config.schedule == "constant" or plan.steps is None:
        return config.lr
    start = plan.progress(plan.warmup)
    done = (plan.progress(step) - start) / max(1 - start, 1e-9)
    if config.schedule == "exponential":
        return float(config.lr * ((config.lr_end or config.lr / 100) / config.lr) ** done)
    return config.lr_end + (config.lr - config.lr_end) * decay(config.schedule, done)


def decay(schedule: str, done: float) -> float:
    """The share of the rate that is left after a share of the decay: a line or a cosine from 1 to 0."""
    return 1 - done if schedule == "linear" else 0.5 * (1 + math.cos(math.pi * done))


@dataclass(frozen=True)
class Clock:
    """The clock of a time budget: seconds of training, and when the plan was last changed."""

    minutes: float
    seconds: float
    step: int
    planned_seconds: float
    planned_step: int
    reserve: float
    """Seconds that the end takes: a validation, the average, the files."""


def planned_steps(clock: Clock, plan: Plan, limit: int | None, replan: bool) -> int | None:
    """The number of steps that the run should now have in all, or None where the plan stands.

    A plan is looked at again when it is twice as old as it was made, so often at first; later after each twentieth of
    the time; and when half of its steps are done, so that a run which has become faster does not end early.
    """
    budget = 60 * clock.minutes
    left = budget - clock.seconds - clock.reserve
    if left <= 0:
        return clock.step
    steps, seconds = clock.step - clock.planned_step, clock.seconds - clock.planned_seconds
    if plan.steps is None:
        due = steps >= MEASURED or seconds >= budget / FIRST
    else:
        old = seconds >= min(budget / REPLANS, clock.planned_seconds)
        half_done = 2 * steps >= plan.steps - clock.planned_step and left > budget / LAST
        due = replan and (old or half_done)
    if not due or steps < 1:
        return None
    total = clock.step + max(1, int(left * steps / max(seconds, 1e-9)))
    total = total if limit is None else min(total, limit)
    return None if total == plan.steps else total


def step_limit(config: ScheduleSettings, steps_an_epoch: float) -> int | None:
    """The steps after which the run ends whatever the clock says."""
    ends = [] if config.steps is None else [config.steps]
    if config.epochs is not None:
        ends.append(max(1, math.ceil(config.epochs * steps_an_epoch)))
    if not ends and config.minutes is None:
        ends.append(math.ceil(10 * steps_an_epoch))
    return min(ends, default=None)
