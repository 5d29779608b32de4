"""Where the time of a search or of a training step goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

OTHER = "other"


class Stopwatch:
    """Seconds by part; at any time exactly one part is measured, `other` where none is named.

    `parts` are listed even where they take no time; `synchronise` is called before every reading, for devices that
    work while the program goes on.

    >>> watch = Stopwatch()
    >>> with watch("encode"):
    ...     pass
    >>> list(watch.shares())
    ['encode', 'other']
    """

    def __init__(self, parts: Iterable[str] = (), synchronise: Callable[[], None] | None = None) -> None:
        self._parts = tuple(parts)
        self._synchronise = synchronise
        self._part = OTHER
        self._since = time.perf_counter()
        self.reset()

    def switch(self, part: str) -> None:
        """Count what follows as `part`."""
        if self._synchronise is not None:
            self._synchronise()
        now = time.perf_counter()
        self.seconds[self._part] = self.seconds.get(self._part, 0.0) + now - self._since
        self._part, self._since = part, now

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Count what runs inside as `part`, and what follows as before."""
        before = self._part
        self.switch(part)
        try:
            yield
        finally:
            self.switch(before)

    def reset(self) -> None:
        """Forget what was measured."""
        self.seconds = dict.fromkeys(self._parts, 0.0)
        self._since = time.perf_counter()

    def report(self, network: float | None = None) -> str:
        """The seconds and the share of each part, the longest first, and the sum; a line each.

        `network` are the seconds of all these in which the network itself has computed, where that is known.
        """
        self.switch(self._part)
        total = sum(self.seconds.values())
        lines = [
            _line(part, seconds, total) for part, seconds in sorted(self.seconds.items(), key=lambda item: -item[1])
        ]
        inside = [] if network is None else [_line("of all this, in the network", network, total)]
        return "\n".join([*lines, *inside, _line("in all", total, total)])

    def shares(self) -> dict[str, float]:
        """The share of each part in all the time since the watch was made or reset, 0 to 1, `other` last."""
        self.switch(self._part)
        total = sum(self.seconds.values()) or 1.0
        return {part: self.seconds[part] / total for part in sorted(self.seconds, key=lambda part: part == OTHER)}


def _line(name: str, seconds: float, total: float) -> str:
    return f"{name}: {seconds:.2f} s, {100 * seconds / (total or 1.0):.1f}%"
