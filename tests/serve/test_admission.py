from __future__ import annotations

import pytest

from syntagma.serve.admission import Admission, Ticket, parse_rows, search_rows
from syntagma.serve.worker import Busy

ORDINARY = search_rows(["It seems like he has made a mistake."], 5)
HARD = search_rows(["x" * 400] * 32, 16)


class Clock:
    """Time that passes when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def fill(admission: Admission) -> tuple[list[Ticket], int]:
    """Enter until there is no room; who got in, and when the next may come back."""
    tickets = []
    for _ in range(10_000):
        try:
            tickets.append(admission.enter(ORDINARY))
        except Busy as refused:
            return tickets, refused.retry_after
    raise AssertionError("nobody was refused")


def test_who_would_wait_longer_than_the_patience_is_refused_and_told_when_to_come_back() -> None:
    clock = Clock()
    admission = Admission(patience=1.0, clock=clock)
    tickets, retry = fill(admission)
    assert admission.wait(ORDINARY) > 1.0
    assert retry == 1
    assert len(tickets) == admission.open == pytest.approx(1.0 / (ORDINARY * admission.pace), abs=1)
    for ticket in tickets:  # ten times slower than thought
        clock.now += 10 * 1.0 / len(tickets)
        ticket.leave()
    assert admission.open == 0
    few, _ = fill(admission)
    assert len(few) < len(tickets) / 5


def test_a_crowd_that_comes_back_as_it_was_told_finds_room() -> None:
    clock = Clock()
    admission = Admission(patience=1.0, clock=clock)
    tickets, first = fill(admission)
    times = [first]
    for _ in range(3 * len(tickets)):
        with pytest.raises(Busy) as refused:
            admission.enter(ORDINARY)
        times.append(refused.value.retry_after)
    assert times == sorted(times)
    assert 3 <= max(times) <= 5  # three times as much work as patience allows
    late = []
    for _ in range(100 * len(tickets)):
        with pytest.raises(Busy) as refused:
            admission.enter(ORDINARY)
        late.append(refused.value.retry_after)
    assert max(late) == 30
    assert len(set(late[-100:])) > 10  # not all of them at the end
    for ticket in tickets:
        ticket.leave(finished=False)
    admission.enter(ORDINARY)  # what others were told keeps nobody out


def test_estimates_follow_what_requests_took_and_one_hard_request_changes_little() -> None:
    clock = Clock()
    admission = Admission(clock=clock)

    def serve(rows: float) -> None:
        ticket = admission.enter(ORDINARY)
        clock.now += rows * 1e-3
        ticket.done = rows
        ticket.leave()

    for _ in range(200):
        serve(2 * ORDINARY)
    assert admission.pace == pytest.approx(2e-3, rel=0.05)
    serve(100 * ORDINARY)
    assert admission.pace == pytest.approx(2e-3, rel=0.1)


def test_an_idle_service_takes_anything_and_a_hard_request_does_not_shut_the_door() -> None:
    admission = Admission(patience=0.5)
    hard = admission.enter(HARD)
    assert HARD * admission.pace > 0.5
    with pytest.raises(Busy) as refused:
        admission.enter(HARD)  # it would wait for the other one
    assert refused.value.retry_after > 1
    with admission.enter(ORDINARY):
        assert admission.open == 2
    hard.leave()
    admission.enter(HARD)


def test_who_left_early_says_nothing_about_the_pace_and_counts_no_more() -> None:
    clock = Clock()
    admission = Admission(clock=clock)
    before = admission.pace
    ticket = admission.enter(ORDINARY)
    clock.now += 100
    ticket.leave(finished=False)
    assert (admission.open, admission.pace) == (0, before)
    ticket = admission.enter(ORDINARY)
    ticket.leave()
    ticket.leave()
    assert admission.open == 0


def test_parsing_counts_as_less_work_than_searching() -> None:
    assert 0 < parse_rows(["It seems like he has made a mistake."] * 10) < ORDINARY
    assert search_rows(["He nods."], 5, described=True) > search_rows(["He nods."], 5)
