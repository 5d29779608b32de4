"""Helpers that several commands share."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from syntagma.executors import Progress, Watch

_LABEL = re.compile(r"[^\W\d_][\w.$|+=-]*")
"""Labels of treebanks: a letter first, then letters, digits, and what joins function tags as in NP-SBJ=1."""


class Bad(StrEnum):
    """The choices for a line that cannot be read."""

    stop = "stop"
    skip = "skip"


def colour() -> bool:
    """Whether standard output shows colours: a terminal, unless NO_COLOR is set or it is a dumb one.

    FORCE_COLOR decides otherwise.
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def columns() -> int | None:
    """The width of the terminal; None where the output goes to a file, which has none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def option(panel: str, help: str | None, *names: str, **more: Any) -> Any:
    """An option in a panel of the help; None: its help text is that of the setting with its name."""
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=more.pop("show_default", True), **more)


@contextmanager
def resumable() -> Iterator[None]:
    """Work that the same command resumes: Ctrl-C says so."""
    try:
        yield
    except KeyboardInterrupt:
        print("syntagma: stopped; run the same command again to go on", file=sys.stderr)
        raise typer.Exit(130) from None


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


Device = Annotated[
    str,
    typer.Option(
        "--device", rich_help_panel="Machine", help="auto, cpu, cuda, cuda:1 or mps; auto is a GPU where there is one."
    ),
]
Precision = Annotated[
    str | None,
    typer.Option(
        "--precision",
        rich_help_panel="Machine",
        help="Compute with torch in fp32, bf16 or fp16.",
        show_default="as stored on the CPU, fp32 elsewhere",
    ),
]

AsJson = Annotated[
    bool,
    typer.Option("--json", rich_help_panel="Output", help="Say on standard output what was made, as one JSON object."),
]


def report(as_json: bool, sentence: str, **facts: Any) -> None:
    """Say what was made: a sentence on standard error, or a JSON object on standard output."""
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
    else:
        print(f"syntagma: {sentence}", file=sys.stderr)


@contextmanager
def progress(what: str, total: Callable[[], int | None]) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr, if that is a terminal, to be called with how many more are done."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total())
        yield lambda done: bar.advance(task, done)


def count_lines(path: str) -> int | None:
    """How many lines a plain file has; None where it cannot be read twice or is packed."""
    if not Path(path).is_file() or path.endswith(".gz"):
        return None
    with open(path, "rb") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))


def read_labels(text: str) -> tuple[str, ...]:
    """The constituent labels that a user names, apart by commas or spaces.

    >>> read_labels("S,NP VP, PP")
    ('S', 'NP', 'VP', 'PP')
    """
    from syntagma.errors import ConfigError
    from syntagma.tree import check_label

    labels = tuple(text.replace(",", " ").split())
    if not labels or len(set(labels)) != len(labels):
        raise ConfigError(f"--labels {text!r} names none or some twice", remedy="name each label once, such as S,NP,VP")
    for label in labels:
        check_label(label)
        if not _LABEL.fullmatch(label):
            what = f"--labels: {label!r} does not look like a label of constituents"
            raise ConfigError(what, remedy="name labels as the trees have them, such as S,NP,VP,PP")
    return labels
