"""What a bench measured, as rows, and how they are timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


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
    times = [float("inf")] * len(calls)
    for _ in range(runs):
        for at, call in enumerate(calls):
            start = time.perf_counter()
            call()
            times[at] = min(times[at], time.perf_counter() - start)
    return times
