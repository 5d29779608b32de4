"""What several commands share."""

from __future__ import annotations

import os
import shutil
import sys


def colour() -> bool:
    """Whether standard output shows colours: a terminal, unless NO_COLOR is set; FORCE_COLOR decides otherwise."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def columns() -> int | None:
    """The width of the terminal; None where the output goes to a file, which has none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
