"""Measurements of a bench, and how they are timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement: ours and, where there is one, a peer's in the same run.  A ratio over 1 is in our favour."""

    what: str
    ours: float
    unit: str
    peer: str | None = None
    peers: float | None = None
    ratio: float | None = None


def best_of(runs: int, *calls: Callable[[], object]) -> list[float]:
    """The shortest time of each call in seconds; the calls take turns, so that a slow spell hits them all."""
    return [min(times) for times in _timed(runs, calls)]


def median_of(runs: int, *calls: Callable[[], object]) -> list[float]:
    """The median time of each call in seconds; the calls take turns."""
    return [median(times) for times in _timed(runs, calls)]


def _timed(runs: int, calls: tuple[Callable[[], object], ...]) -> list[list[float]]:
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(runs):
        for seconds, call in zip(times, calls, strict=True):
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
    return times
