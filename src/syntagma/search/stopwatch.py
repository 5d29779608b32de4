"""Where the time of a search goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Seconds by name; what is measured must not overlap."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._begun = time.perf_counter()

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Count what runs inside under `name`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def shares(self) -> dict[str, float]:
        """The share of each name in all the time since the watch was made; the rest is `other`."""
        total = max(time.perf_counter() - self._begun, 1e-9)
        shares = {name: seconds / total for name, seconds in self.seconds.items()}
        return shares | {"other": max(0.0, 1.0 - sum(shares.values()))}
