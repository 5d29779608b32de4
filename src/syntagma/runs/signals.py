"""Ctrl-C and SIGTERM: the first asks a run to save and stop, a second Ctrl-C stops it at once."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

STOPPING = (signal.SIGINT, signal.SIGTERM)


class Signals:
    """Remembers the first signal while it is entered; elsewhere than in the main thread it hears none."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.received: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._hear) for number in STOPPING}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        if self.received is None and not self.quiet:
            os.write(2, b"syntagma: saving and stopping\n")
        self.received = number
