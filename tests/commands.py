"""Every command of the command line, by its name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer.main

from syntagma.cli import app


def leaves(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """A command, or all below it, with their names."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for word, below in inner.items():
        yield from leaves(below, f"{name} {word}".strip())


COMMANDS: dict[str, Any] = dict(leaves(typer.main.get_command(app)))
