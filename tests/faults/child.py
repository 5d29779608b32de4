"""What a process of these tests does (by name, so not in a test's own file)."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import typer.main

from faults.disk import limited
from syntagma.cli import _guarded, app

COMMAND = typer.main.get_command(app)
FOLDER_OPERATIONS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")


class Fault(NamedTuple):
    """What happens to a command; 0 is never.  Each kill is SIGKILL, which no program can answer."""

    operation: int = 0
    """It is killed just before this operation on a file or folder of its output."""
    seconds: float = 0.0
    """It is killed from outside after so much computing, wherever it is then."""
    room: int = 0
    """Its output is on a disk of so many bytes."""
    injected: bool = False
    """The disk is a pretended one: files that count what is written."""


NO_FAULT = Fault()


class Cost(NamedTuple):
    """What a command took, in the measures of a fault."""

    operations: int
    seconds: float


def run(arguments: list[str], folder: Path, fault: Fault) -> None:
    """The command in a folder, on one core and so in one process; its words go to `told`, what it took to `cost`."""
    os.chdir(folder)
    os.cpu_count = lambda: 1
    stream = os.open("told", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor in (1, 2):
        os.dup2(stream, descriptor)
    operations = 0

    def watch(event: str, values: tuple[Any, ...]) -> None:
        nonlocal operations
        if event in FOLDER_OPERATIONS and _is_output(values[0]):
            operations += 1
            if operations == fault.operation:
                os.kill(os.getpid(), signal.SIGKILL)

    with limited(folder / "out", fault.room, fault.injected):
        sys.addaudithook(watch)
        status = _guarded(lambda: COMMAND(arguments))
    Path("cost").write_text(json.dumps(Cost(operations, time.process_time())))
    sys.exit(status)


def _is_output(path: object) -> bool:
    return isinstance(path, str | bytes | os.PathLike) and "out" in Path(os.fsdecode(path)).parts
