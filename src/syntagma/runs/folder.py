"""A run's folder: which run owns it, and how that run ended.

OUT/train.json     the settings
OUT/log.jsonl      what happened, a JSON object a line
OUT/checkpoints/   the last two checkpoints
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from syntagma.errors import ConfigError, Place
from syntagma.settings import Settings

SETTINGS = "train.json"
CHECKPOINTS = "checkpoints"


@dataclass(frozen=True)
class RunResult:
    """How a run ended."""

    step: int
    seconds: float
    figures: dict[str, float]
    """Of the last validation."""
    signal: int | None = None
    """The signal that stopped it, where it is not finished."""
    main: bool = True
    """Whether this is the process that speaks for all."""


def claim(folder: Path, settings: Settings, apart_from: Collection[str] = ()) -> None:
    """Write the settings into a new folder; refuse one with other settings, or with something else in it."""
    path = folder / SETTINGS
    problem = None
    if path.exists():
        changed = type(settings).load(path).differences(settings, apart_from)
        if changed:
            problem = f"a run with other settings is here ({'; '.join(changed)})"
    elif folder.exists() and (not folder.is_dir() or any(inside.suffix != ".part" for inside in folder.iterdir())):
        problem = "it holds something else than a run"
    else:
        settings.save(path)
    if problem is not None:
        raise ConfigError(problem, Place(str(folder)), "give another --out, or the settings in its train.json")
