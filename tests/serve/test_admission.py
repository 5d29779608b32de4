from __future__ import annotations

import asyncio
import heapq
import random

import pytest

from syntagma.serve.admission import Admission, Ticket, parse_size, search_size
from syntagma.serve.worker import Busy

ORDINARY = search_size(["It seems like he has made a mistake."])
HARD = search_size(["x" * 400] * 32, 16 / 5)


class Clock:
    """Time that passes when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def admission_with(clock: Clock, seconds: float = 0.1, patience: float = 1.0) -> Admission:
    """An admission that knows how long an ordinary request takes alone."""
    admission = Admission(patience, clock)
    admission.learn("search", seconds / ORDINARY)
    return admission


def fill(admission: Admission) -> tuple[list[Ticket], int]:
    """Enter until there is no room; who got in, and when the next may come back."""
    tickets = []
    for _ in range(10_000):
        try:
            tickets.append(admission.enter("search", ORDINARY))
        except Busy as refused:
            return tickets, refused.retry_after
    raise AssertionError("nobody was refused")


def refused(admission: Admission, size: float = ORDINARY) -> int:
    """The seconds that one who is refused is told."""
    with pytest.raises(Busy) as told:
        admission.enter("search", size)
    return told.value.retry_after


def test_who_would_wait_longer_than_the_patience_is_refused_and_told_when_to_come_back() -> None:
    clock = Clock()
    admission = admission_with(clock)
    tickets, retry = fill(admission)
    assert admission.delay(0.1) > 0.9
    assert retry == 1
    assert len(tickets) == admission.open == 11  # ten delay the last one by a second
    for ticket in tickets:  # five times slower than thought
        clock.now += 0.5
        ticket.leave()
    assert admission.open == 0
    few, _ = fill(admission)
    assert len(few) < 5


def test_a_crowd_that_comes_back_as_it_was_told_finds_room() -> None:
    admission = admission_with(Clock())
    tickets, first = fill(admission)
    times = [first] + [refused(admission) for _ in range(3 * len(tickets))]
    assert times == sorted(times)
    assert 3 <= max(times) <= 5  # three times as much work as patience allows
    late = [refused(admission) for _ in range(100 * len(tickets))]
    assert max(late) == 30
    assert len(set(late[-100:])) > 10  # not all of them at the end
    for ticket in tickets:
        ticket.leave(finished=False)
    admission.enter("search", ORDINARY)  # what others were told keeps nobody out


def test_each_kind_has_its_own_cost_and_one_hard_request_changes_little() -> None:
    clock = Clock()
    admission = admission_with(clock)

    def serve(kind: str, seconds: float) -> None:
        with admission.enter(kind, ORDINARY):
            clock.now += seconds

    for _ in range(100):
        serve("search", 0.4)
        serve("parse", 0.02)
    assert admission.cost("search") * ORDINARY == pytest.approx(0.4, rel=0.05)
    assert admission.cost("parse") * ORDINARY == pytest.approx(0.02, rel=0.05)
    serve("search", 40.0)
    assert admission.cost("search") * ORDINARY == pytest.approx(0.4, rel=0.4)


def test_requests_share_the_time_that_both_take() -> None:
    clock = Clock()
    admission = admission_with(clock)
    first, second = admission.enter("search", ORDINARY), admission.enter("search", ORDINARY)
    clock.now += 0.4
    first.leave()
    clock.now += 0.1
    second.leave()
    assert (first.had, second.had) == pytest.approx((0.2, 0.3))
    heavy = [admission.enter("search", ORDINARY, heavy=True) for _ in range(4)]
    third = admission.enter("search", ORDINARY)
    clock.now += 0.8
    third.leave()
    assert third.had == pytest.approx(0.4)
    assert [ticket.had for ticket in heavy] == pytest.approx([0.1] * 4)


def test_an_idle_service_takes_anything_and_hard_requests_do_not_shut_the_door() -> None:
    admission = admission_with(Clock(), seconds=2.0)  # a slow machine
    hard = admission.enter("search", HARD)
    assert refused(admission, HARD) > 1  # it would wait for the other one
    with admission.enter("search", ORDINARY):
        assert admission.open == 2
        refused(admission)
    hard.leave()
    admission.enter("search", HARD)


def test_who_left_early_says_nothing_about_the_cost_and_counts_no_more() -> None:
    clock = Clock()
    admission = admission_with(clock)
    before = admission.cost("search")
    ticket = admission.enter("search", ORDINARY)
    clock.now += 100
    ticket.leave(finished=False)
    assert (admission.open, admission.cost("search")) == (0, before)
    ticket = admission.enter("search", ORDINARY)
    ticket.leave()
    ticket.leave()
    assert admission.open == 0


def crowd(share: float, clients: int = 200, seconds: float = 60.0) -> tuple[list[float], float]:
    """The times of answers to a crowd that asks a machine of changing speed, and how much of it was of use.

    An ordinary request takes 0.3 s of a core, and there is so much of a core; requests share it, and take more or less
    than was thought.  Who is refused comes back as it was told.
    """
    chance, clock = random.Random(1), Clock()
    admission = admission_with(clock, 0.3 / share, patience=0.75)
    coming = [(0.0, client) for client in range(clients)]
    running: dict[int, tuple[Ticket, float]] = {}
    left: dict[int, float] = {}
    times, speed, busy = [], share, 0
    for tick in range(int(seconds * 100)):
        clock.now = tick / 100
        if chance.random() < 0.02:
            speed = share * chance.choice([0.5, 0.75, 1.0, 1.25, 1.5])
        while coming and coming[0][0] <= clock.now:
            _, client = heapq.heappop(coming)
            size = ORDINARY * chance.uniform(0.7, 1.8)
            try:
                ticket = admission.enter("search", size)
            except Busy as told:
                heapq.heappush(coming, (clock.now + told.retry_after, client))
                continue
            left[client] = 0.3 * size / ORDINARY * min(2.5, chance.lognormvariate(0, 0.4))
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


@pytest.mark.parametrize(("share", "late"), [(1.0, 0.0), (0.5, 0.05), (0.25, 0.35)])
def test_a_crowd_is_answered_within_two_seconds_or_refused_and_the_machine_stays_busy(
    share: float, late: float
) -> None:
    times, use = crowd(share)
    assert sum(time > 2.0 for time in times) <= late * len(times)
    assert use > 0.95
    assert len(times) > 130 * share


def test_caution_is_forgotten_where_it_keeps_everybody_out() -> None:
    clock = Clock()
    admission = admission_with(clock)
    for _ in range(20):
        with admission.enter("search", ORDINARY):
            clock.now += 1.0
        admission.learn("search", 0.1 / ORDINARY)
    assert admission.caution > 2
    clock.now += 60.0
    assert admission.caution < 1.2


def test_a_hard_request_that_is_refused_makes_no_ordinary_one_come_back_late() -> None:
    admission = admission_with(Clock(), patience=0.5)
    fill(admission)
    for _ in range(5):
        refused(admission, HARD)
    assert refused(admission) < 10


def test_while_somebody_is_late_nobody_is_let_in() -> None:
    clock = Clock()
    admission = admission_with(clock)
    ticket = admission.enter("search", ORDINARY)
    assert admission.has_room()
    clock.now += 2.0  # another program has the machine
    assert not admission.has_room()
    refused(admission)
    ticket.leave()
    assert admission.has_room()


def test_a_client_that_takes_its_time_makes_nobody_careful_and_keeps_nobody_out() -> None:
    clock = Clock()
    admission = admission_with(clock)
    for _ in range(20):
        with admission.enter("search", ORDINARY) as ticket:
            with ticket.waiting():
                clock.now += 5.0
                assert admission.has_room()
            clock.now += 0.1
    assert len(fill(admission)[0]) == 11


@pytest.mark.parametrize("others", [0, 1])
def test_who_is_late_because_of_others_is_refused_and_who_is_alone_goes_on(others: int) -> None:
    async def ask() -> str:
        admission = Admission(patience=0.01)
        admission.learn("search", 1e-6)
        for _ in range(others):
            admission.enter("search", ORDINARY)
        with admission.enter("search", ORDINARY) as ticket:
            async with ticket.in_time():
                await asyncio.sleep(0.2)
        return "done"

    if others:
        with pytest.raises(Busy, match="too many"):
            asyncio.run(ask())
    else:
        assert asyncio.run(ask()) == "done"


def test_a_service_that_stops_refuses_everybody() -> None:
    admission = admission_with(Clock())
    admission.shut = True
    with pytest.raises(Busy, match="stopping"):
        admission.enter("search", ORDINARY)


def test_parsing_counts_as_less_work_than_searching() -> None:
    assert 0 < parse_size(["It seems like he has made a mistake."] * 10) < ORDINARY
