"""`syntagma levels`: trees into contexts and infills."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("levels")(levels)


def levels() -> None:
    """Turn bracketed trees into their levels."""
