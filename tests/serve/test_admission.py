from __future__ import annotations

import heapq
import random

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


def crowd(share: float, clients: int = 200, seconds: float = 60.0) -> tuple[list[float], float]:
    """The times of answers to a crowd that asks a machine of changing speed, and how much of it was of use.

    A row takes 0.8 ms of a core, as with the bundled paraphraser, and there is so much of a core; requests share it,
    and take more or less than was thought.  Who is refused comes back as it was told.
    """
    chance, clock = random.Random(1), Clock()
    admission = Admission(clock=clock)
    admission.learn(ORDINARY, ORDINARY * 8e-4 / share)
    coming = [(0.0, client) for client in range(clients)]
    running: dict[int, tuple[Ticket, float]] = {}
    left: dict[int, float] = {}
    times, speed, busy = [], share / 8e-4, 0
    for tick in range(int(seconds * 100)):
        clock.now = tick / 100
        if chance.random() < 0.02:
            speed = share / 8e-4 * chance.choice([0.5, 0.75, 1.0, 1.25, 1.5])
        while coming and coming[0][0] <= clock.now:
            _, client = heapq.heappop(coming)
            thought = chance.uniform(150, 400)
            try:
                ticket = admission.enter(thought)
            except Busy as refused:
                heapq.heappush(coming, (clock.now + refused.retry_after, client))
                continue
            ticket.done = left[client] = thought * min(2.5, chance.lognormvariate(0, 0.3))
            running[client] = ticket, clock.now
        busy += bool(running)
        part = speed / 100 / max(1, len(running))
        for client, (ticket, begun) in list(running.items()):
            left[client] -= part
            if left[client] <= 0:
                ticket.leave()
                del running[client]
                times.append(clock.now - begun)
                heapq.heappush(coming, (clock.now, client))
    return times, busy / (100 * seconds)


@pytest.mark.parametrize(("share", "late"), [(1.0, 0.01), (0.5, 0.01), (0.25, 0.1)])
def test_a_crowd_is_answered_within_two_seconds_or_refused_and_the_machine_stays_busy(
    share: float, late: float
) -> None:
    times, use = crowd(share)
    assert sum(time > 2.0 for time in times) <= late * len(times)
    assert use > 0.95
    assert len(times) > 230 * share


def test_caution_is_forgotten_where_it_keeps_everybody_out() -> None:
    clock = Clock()
    admission = Admission(patience=1.0, clock=clock)
    for _ in range(20):
        ticket = admission.enter(ORDINARY)
        admission.learn(ORDINARY, ORDINARY * 1e-3)
        clock.now += 1.0
        ticket.leave()
        admission.learn(ORDINARY, ORDINARY * 1e-3)
    careful = admission.caution
    assert careful > 2
    clock.now += 60.0
    assert admission.caution < 1.2


def test_a_hard_request_that_is_refused_makes_no_ordinary_one_come_back_late() -> None:
    admission = Admission(patience=0.5, clock=Clock())
    fill(admission)
    for _ in range(10):
        with pytest.raises(Busy):
            admission.enter(HARD)
    with pytest.raises(Busy) as refused:
        admission.enter(ORDINARY)
    assert refused.value.retry_after < 5


def test_where_nothing_is_finished_nobody_is_let_in_any_more() -> None:
    clock = Clock()
    admission = Admission(patience=1.0, clock=clock)
    admission.enter(ORDINARY)
    assert admission.has_room
    clock.now += 2.0  # another program has the machine
    assert not admission.has_room
    with pytest.raises(Busy):
        admission.enter(ORDINARY)


def test_a_client_that_takes_its_time_makes_nobody_careful() -> None:
    clock = Clock()
    admission = Admission(patience=1.0, clock=clock)
    for _ in range(20):
        with admission.enter(ORDINARY) as ticket:
            with ticket.waiting():
                clock.now += 5.0
            clock.now += ORDINARY * 3e-4
            admission.learn(ORDINARY, ORDINARY * 3e-4)
    assert len(fill(admission)[0]) > 10


def test_parsing_counts_as_less_work_than_searching() -> None:
    assert 0 < parse_rows(["It seems like he has made a mistake."] * 10) < ORDINARY
    assert search_rows(["He nods."], 5, described=True) > search_rows(["He nods."], 5)
