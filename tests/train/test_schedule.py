from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntagma.train.config import TrainConfig
from syntagma.train.schedule import Clock, Plan, learning_rate, planned_steps, step_limit


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
    assert planned_steps(clock(20.0, 20), unplanned, None, True) is None  # not yet measured
    assert planned_steps(clock(35.0, 35), unplanned, None, True) == 35 + 545
    assert planned_steps(clock(35.0, 35), unplanned, 100, True) == 100
    assert planned_steps(clock(300.0, 6), unplanned, None, True) == 7  # very slow steps
    plan = unplanned.replanned(35, 580)
    assert plan.steps == 580
    assert planned_steps(clock(50.0, 50, (35.0, 35)), plan, None, True) is None
    assert planned_steps(clock(100.0, 70, (40.0, 40)), plan, None, True) == 70 + 240  # half as fast as before
    assert planned_steps(clock(100.0, 70, (40.0, 40)), plan, None, False) is None
    assert planned_steps(clock(580.5, 70, (40.0, 40)), plan, None, False) == 70  # the time is over


def test_cosine_goes_on_from_where_it_is() -> None:
    settings = config(schedule="cosine", lr_end=0.1)
    plan = Plan.begin(settings, 100)
    changed = plan.replanned(50, 60)
    assert learning_rate(settings, changed, 50) == learning_rate(settings, plan, 50)
    assert learning_rate(settings, changed, 60) == pytest.approx(0.1)
    assert learning_rate(settings, changed, 55) == pytest.approx(learning_rate(settings, plan, 75))
