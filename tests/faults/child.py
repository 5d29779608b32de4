"""What a process of these tests does (by name, so not in a test's own file)."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

from syntagma.cli import _guarded, app


def run(arguments: list[str], folder: Path, largest: int | None) -> None:
    """The command in a folder, with no file larger than so many bytes; its words go to the file `told`."""
    os.chdir(folder)
    stream = os.open("told", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor in (1, 2):
        os.dup2(stream, descriptor)
    if largest is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    sys.exit(_guarded(lambda: app(arguments)))
