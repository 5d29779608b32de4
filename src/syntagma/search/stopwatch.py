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

    def report(self, network: float | None = None) -> str:
        """The seconds and the share of each name in all the time since the watch was made, the longest first.

        What no name counts is `other`; `network` are the seconds of all these that the network itself has computed.
        """
        total = max(time.perf_counter() - self._begun, 1e-9)
        named = self.seconds | {"other": max(0.0, total - sum(self.seconds.values()))}
        lines = [_line(name, seconds, total) for name, seconds in sorted(named.items(), key=lambda one: -one[1])]
        inside = [] if network is None else [_line("of all this, in the network", network, total)]
        return "\n".join([*lines, *inside, _line("in all", total, total)])


def _line(name: str, seconds: float, total: float) -> str:
    return f"{name}: {seconds:.2f} s, {100 * seconds / total:.1f}%"
