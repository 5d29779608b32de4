"""The log of a run: `log.jsonl` always, TensorBoard where asked for, and how far it is on stderr.

A run that goes on after a kill drops the lines of steps that it repeats, so the log reads as if nothing had happened.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from syntagma.errors import InputError, MissingExtra, Place
from syntagma.files import atomic_write

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from torch.utils.tensorboard import SummaryWriter

PLAIN_EVERY = 60.0
"""Seconds between lines where stderr is no terminal."""


class Log:
    """The JSON lines of a run, one event each, in order of steps."""

    def __init__(self, out: Path, step: int, tensorboard: bool = False) -> None:
        self.path = out / "log.jsonl"
        self._drop_after(step)
        self._board = _board(out / "tensorboard", step) if tensorboard else None

    def _drop_after(self, step: int) -> None:
        if not self.path.exists():
            return
        lines = self.path.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if _step_of(line) <= step]
        if len(kept) < len(lines):
            with atomic_write(self.path) as stream:
                stream.writelines(line + "\n" for line in kept)

    def write(self, event: str, step: int, **values: Any) -> None:
        """Add a line; figures also go to TensorBoard."""
        record = {"event": event, "step": step} | {name: _rounded(value) for name, value in values.items()}
        try:
            with open(self.path, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")
        except OSError as error:
            reason = (error.strerror or "").lower()
            remedy = "make room and give the same command again"
            raise InputError(f"it cannot be written ({reason})", Place(str(self.path)), remedy) from None
        if self._board is not None:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self._board.add_scalar(f"{event}/{name}", value, step)

    def close(self) -> None:
        """Write out what TensorBoard still holds."""
        if self._board is not None:
            self._board.close()


def read_events(out: Path) -> Iterator[dict[str, Any]]:
    """Read the events of a run's log, in order; none where there is no log."""
    path = out / "log.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if math.isfinite(_step_of(line)):
            yield json.loads(line)


def _step_of(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf  # half a line, which a kill left


def _rounded(value: Any) -> Any:
    return float(f"{value:.7g}") if isinstance(value, float) else value


def _board(folder: Path, step: int) -> SummaryWriter:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingExtra("tensorboard", "fabric", "--tensorboard") from None
    return SummaryWriter(str(folder), purge_step=step + 1)


class Display:
    """Shows how far a run is: a bar on a terminal, else a line now and then."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self._told = time.monotonic()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        if not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            self._progress, self._task = _bar()

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, step: int, steps: int | None, text: str, left: float | None) -> None:
        """Show how far the run is, with its latest figures as `text` and the seconds that are left."""
        if self.quiet:
            return
        remaining = "" if left is None else f", {duration(left)} left"
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=step, total=steps, description=text + remaining)
        elif time.monotonic() - self._told >= PLAIN_EVERY:
            self._told = time.monotonic()
            self.say(f"step {step:,} of {'?' if steps is None else f'{steps:,}'}: {text}{remaining}")

    def say(self, text: str) -> None:
        """Write a line to stderr."""
        if self.quiet:
            return
        if self._progress is not None:
            self._progress.console.print(f"syntagma: {text}", highlight=False, markup=False)
        else:
            print(f"syntagma: {text}", file=sys.stderr, flush=True)


def _bar() -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    progress = Progress(
        TextColumn("step"), MofNCompleteColumn(), BarColumn(bar_width=20), TextColumn("{task.description}"),
        TimeElapsedColumn(), console=Console(stderr=True), transient=True,
    )  # fmt: skip
    return progress, progress.add_task("", total=None)


def duration(seconds: float) -> str:
    """Seconds in hours, minutes and seconds.

    >>> duration(59.6), duration(754), duration(7260)
    ('1 min', '13 min', '2 h 1 min')
    """
    minutes = round(seconds / 60)
    if minutes == 0:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
