from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntagma.runs.schedule import IGNORED, Clock, Plan, learning_rate, planned_steps, step_limit
from syntagma.train.config import TrainConfig
from syntagma.train.run import ended_early
from syntagma.train.state import TrainState


def config(**changes: object) -> TrainConfig:
    return TrainConfig.from_dict({"data": "x", "lr": 1.0, "warmup": 10, **changes})


def test_inverse_square_root() -> None:
    plan = Plan.begin(config(), 1000)
    assert [learning_rate(config(), plan, step) for step in (0, 4, 9, 39, 999)] == [0.1, 0.5, 1.0, 0.5, 0.1]


def test_warmup_takes_a_quarter_at_most() -> None:
    assert Plan.begin(config(), 20).warmup == 5
    assert learning_rate(config(warmup=0, schedule="constant"), Plan.begin(config(warmup=0), 20), 0) == 1.0


def test_limits() -> None:
    assert step_limit(config(), 7) == 70
    assert step_limit(config(steps=5), 7) == 5
    assert step_limit(config(epochs=0.5), 7) == 4
    assert step_limit(config(epochs=0.001), 7) == 1
    assert step_limit(config(epochs=2, steps=20), 7) == 14
    assert step_limit(config(minutes=2), 7) is None
    assert Plan.begin(config(minutes=2), None).steps is None
    assert Plan.begin(config(minutes=2, steps=5), 5).steps == 5


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 200)), max_size=6), st.integers(10, 300))
def test_a_plan_that_changes_has_no_jumps(turns: list[tuple[int, int]], steps: int) -> None:
    plan = Plan.begin(config(), steps)
    now = 0
    for after, left in turns:
        now += after
        if now >= (plan.steps or 0):
            break
        before = plan
        plan = plan.replanned(now, now + left)
        done = [before.progress(step) for step in range(now + 1)]
        assert left == 0 or [plan.progress(step) for step in range(now + 1)] == pytest.approx(done)
    shares = [plan.progress(step) for step in range((plan.steps or 0) + 1)]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert Plan.from_dict(plan.to_dict()) == plan
    cosine = config(schedule="cosine", lr_end=0.2)
    rates = [learning_rate(cosine, plan, step) for step in range(plan.steps or 0)]
    assert all(0 < rate <= 1 for rate in rates)


def test_the_clock_plans_the_end() -> None:
    def clock(seconds: float, step: int, since: tuple[float, int] = (5.0, 5)) -> Clock:
        return Clock(10.0, seconds, step, *since, reserve=20.0)

    unplanned = Plan(None, 10, ())
    assert planned_steps(clock(16.0, 20), unplanned, None, True) is None  # not yet measured
    assert planned_steps(clock(35.0, 35), unplanned, None, True) == 35 + 545
    assert planned_steps(clock(35.0, 35), unplanned, 100, True) == 100
    assert planned_steps(clock(17.0, 6), unplanned, None, True) == 6 + 46  # very slow steps: a fiftieth of the time
    plan = unplanned.replanned(35, 580)
    assert plan.steps == 580
    assert planned_steps(clock(64.0, 50, (35.0, 35)), plan, None, True) is None
    assert planned_steps(clock(65.0, 50, (35.0, 35)), plan, None, True) == 50 + 257  # half as fast; a twentieth is over
    assert planned_steps(clock(12.0, 70, (6.0, 40)), plan, None, True) == 70 + 2840  # twice as old as it was made
    assert planned_steps(clock(11.9, 70, (6.0, 40)), plan, None, True) is None
    assert planned_steps(clock(100.0, 70, (40.0, 40)), plan, None, True) == 70 + 240
    assert planned_steps(clock(100.0, 70, (40.0, 40)), plan, None, False) is None
    assert planned_steps(clock(580.5, 70, (40.0, 40)), plan, None, False) == 70  # the time is over
    assert planned_steps(clock(100.0, 308, (99.0, 35)), plan, None, True) == 308 + 131040  # half done in a second
    assert planned_steps(clock(100.0, 307, (99.0, 35)), plan, None, True) is None
    assert planned_steps(clock(575.0, 308, (573.0, 35)), plan, None, True) is None  # at the very end it stands
    assert planned_steps(clock(100.0, 70, (40.0, 40)), plan, 580, True) == 310
    assert planned_steps(clock(100.0, 400, (40.0, 40)), plan, 580, True) is None  # the limit, as planned


Pace = Callable[[float], float]
"""Seconds of a step that begins after so many seconds."""


def simulated(minutes: float, pace: Pace) -> tuple[float, Plan, int]:
    """A run on a machine of that pace: how long it took, its plan, and how often that was made."""
    settings = config(minutes=minutes, schedule="cosine")
    plan, state, plans = Plan.begin(settings, None), TrainState(Plan(None, 10, ())), 0
    while plan.steps is None or state.step < plan.steps:
        if plan.steps is None and state.step == IGNORED:
            state.planned_seconds, state.planned_step = state.seconds, state.step
        planned = planned_steps(state.clock(minutes, reserve=1.0), plan, None, True)
        state.seconds += pace(state.seconds)
        state.step += 1
        if planned is not None:
            plan, plans = plan.replanned(state.step, planned), plans + 1
            state.planned_seconds, state.planned_step = state.seconds, state.step
    return state.seconds, plan, plans


@pytest.mark.parametrize(
    "pace",
    [
        lambda seconds: 0.05,
        lambda seconds: 1.0 if seconds < 40 else 0.05,  # something else was running at first
        lambda seconds: 0.05 if seconds < 40 else 0.5,  # something else began
        lambda seconds: 0.5 if seconds < 300 else 0.05,
        lambda seconds: 0.05 if int(seconds / 20) % 2 else 0.2,
        lambda seconds: 9.0,
    ],
)
def test_a_run_uses_its_time_whatever_the_machine_does(pace: Pace) -> None:
    seconds, plan, plans = simulated(10, pace)
    assert 0.95 * 600 <= seconds <= 609
    assert plan.progress((plan.steps or 0) - 1) > 0.9  # the learning rate comes to its end
    assert plans < 60


def test_cosine_goes_on_from_where_it_is() -> None:
    settings = config(schedule="cosine", lr_end=0.1)
    plan = Plan.begin(settings, 100)
    changed = plan.replanned(50, 60)
    assert learning_rate(settings, changed, 50) == learning_rate(settings, plan, 50)
    assert learning_rate(settings, changed, 60) == pytest.approx(0.1)
    assert learning_rate(settings, changed, 55) == pytest.approx(learning_rate(settings, plan, 75))


def test_an_early_end_is_told() -> None:
    state = TrainState(Plan(100, 10), step=100, seconds=300.0)
    assert ended_early(config(), state, None) is None
    assert ended_early(config(minutes=5.5), state, None) is None  # nine tenths and more
    told = "the run ended after 5 min of the 10 min it was given: "
    assert ended_early(config(minutes=10), state, None) == told + "its steps became faster than planned"
    assert ended_early(config(minutes=10), state, 100) == told + "100 steps were all that `steps` or `epochs` allow"
    state.enough = True
    assert ended_early(config(minutes=10, patience=3), state, 100) == (
        told + "3 validations brought nothing better (patience)"
    )
