"""What several commands share."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from syntagma.engines import Progress, Watch


def colour() -> bool:
    """Whether standard output shows colours: a terminal, unless NO_COLOR is set; FORCE_COLOR decides otherwise."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def columns() -> int | None:
    """The width of the terminal; None where the output goes to a file, which has none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def option(panel: str, help: str, *names: str, **more: Any) -> Any:
    """An option in a panel of the help."""
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=more.pop("show_default", True), **more)


@contextmanager
def bars(names: Mapping[str, str]) -> Iterator[Watch]:
    """A bar for each stage on stderr, under its name there, with rate and time left."""
    from datetime import timedelta
    from time import monotonic

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    pace = TextColumn("{task.fields[pace]}")  # our own: rich forgets its pace when the total is estimated anew
    columns = (TextColumn("{task.description:<13}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), pace)
    with Bars(*columns, console=Console(stderr=True)) as shown:
        begun: dict[str, tuple[Any, float]] = {}

        def watch(progress: Progress) -> None:
            stage, done, total = progress.stage, progress.done, progress.total
            if stage not in begun:
                begun[stage] = (shown.add_task(names.get(stage, stage), total=None, pace=""), monotonic())
            task, start = begun[stage]
            rate = (done - progress.before) / max(monotonic() - start, 1e-3)
            text = f"{rate:,.0f}/s" if rate >= 1 else ""
            if rate and total and done < total:
                text += f", {timedelta(seconds=round((total - done) / rate))} left"
            shown.update(task, completed=done, total=None if total is None else max(total, done), pace=text)

        yield watch
