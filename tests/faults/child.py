"""What a process of these tests does (by name, so not in a test's own file)."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import typer.main

from syntagma.cli import _guarded, app

COMMAND = typer.main.get_command(app)
FOLDER_OPERATIONS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")


class Fault(NamedTuple):
    """What happens to a command; 0 is never."""

    operation: int = 0
    """Killed just before this operation on a file or folder of its output."""
    seconds: float = 0.0
    """Ended after so much computing, wherever it is then, by a signal that nothing handles: as sudden as SIGKILL."""
    largest: int = 0
    """No file may become larger than so many bytes: to a program, a full disk is a write that fails."""


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
    if fault.largest:
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault.largest, fault.largest))
    operations = 0

    def watch(event: str, values: tuple[Any, ...]) -> None:
        nonlocal operations
        if event in FOLDER_OPERATIONS and _is_output(values[0]):
            operations += 1
            if operations == fault.operation:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    begun = time.process_time()
    if fault.seconds:
        signal.setitimer(signal.ITIMER_PROF, fault.seconds)
    status = _guarded(lambda: COMMAND(arguments))
    Path("cost").write_text(json.dumps(Cost(operations, time.process_time() - begun)))
    sys.exit(status)


def _is_output(path: object) -> bool:
    return isinstance(path, str | bytes | os.PathLike) and "out" in Path(os.fsdecode(path)).parts
