"""`syntagma bench start`: how long a command takes from nothing, against importing torch alone."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from syntagma.bench.report import Measurement, best_of

_TEXT = "It seems like he has made a mistake."
_COMMANDS = {
    "syntagma --version": ["--version"],
    "syntagma parse, one sentence": ["parse", _TEXT],
    "syntagma paraphrase, one sentence": ["paraphrase", _TEXT],
    "syntagma translate, one sentence": ["translate", "Er hat einen Fehler gemacht."],
}


def run(data: Path | None = None, *, quick: bool = False) -> Iterator[Measurement]:
    """A row for each command, cold: a fresh process each time; `data` is not used."""
    runs = 1 if quick else 5
    times = best_of(runs, _importing_torch, *(partial(_syntagma, words) for words in _COMMANDS.values()))
    torch, *ours = times
    for name, seconds in zip(_COMMANDS, ours, strict=True):
        yield Measurement(name, 1000 * seconds, "ms", "import torch", 1000 * torch, torch / seconds)
    yield Measurement("of which loading the parser's graph", 1000 * min(_load_parser() for _ in range(runs)), "ms")


def _syntagma(words: list[str]) -> None:
    subprocess.run([sys.executable, "-m", "syntagma", *words], check=True, capture_output=True)


def _importing_torch() -> None:
    subprocess.run([sys.executable, "-c", "import torch"], check=True, capture_output=True)


def _load_parser() -> float:
    from syntagma.parse import load_parser

    start = time.perf_counter()
    load_parser().parse([["Go"]])
    return time.perf_counter() - start
