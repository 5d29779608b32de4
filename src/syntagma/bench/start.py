"""`syntagma bench start`: how long a command takes from nothing, against importing torch alone."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from syntagma.bench.report import Measurement, median_of
from syntagma.errors import InputError, Place

_TEXT = "It seems like he has made a mistake."
PARAPHRASE = "syntagma paraphrase, one sentence"
_COMMANDS = {
    "syntagma --version": ["--version"],
    "syntagma parse, one sentence": ["parse", _TEXT],
    PARAPHRASE: ["paraphrase", _TEXT],
    "syntagma translate, one sentence": ["translate", "Er hat einen Fehler gemacht."],
}


def run(data: Path | None = None, *, quick: bool = False) -> Iterator[Measurement]:
    """A row for each command, cold: a fresh process each time, the median of three.

    `data` is the folder of this project: then also how large a fresh environment is after `pip install` of it.
    """
    runs = 1 if quick else 3
    times = median_of(runs, _importing_torch, *(partial(_syntagma, words) for words in _COMMANDS.values()))
    torch, *own = times
    for name, seconds in zip(_COMMANDS, own, strict=True):
        yield Measurement(
            f"{name}, median of {runs}", 1000 * seconds, "ms", "import torch", 1000 * torch, torch / seconds
        )
    paraphrase = own[list(_COMMANDS).index(PARAPHRASE)]
    yield Measurement("a cold paraphrase, as a share of `import torch`", 100 * paraphrase / torch, "%")
    yield Measurement("of which loading the parser's graph", 1000 * median_of(runs, _load_parser)[0], "ms")
    if data is not None and not quick:
        yield from _environment(data)


def _environment(project: Path) -> Iterator[Measurement]:
    """How many megabytes a fresh environment has after `pip install` of a project, and how many of them are ours."""
    if not (project / "pyproject.toml").is_file():
        raise InputError("this is no project to install", Place(str(project)), "give the folder of the repository")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        done = subprocess.run([python, "-m", "pip", "install", "-q", project], capture_output=True, text=True)
        if done.returncode:
            what = f"pip could not install it ({done.stderr.strip().splitlines()[-1]})"
            raise InputError(what, Place(str(project)), "see that pip reaches its packages")
        total, own = _megabytes(Path(folder).rglob("*")), _megabytes(Path(folder).rglob("syntagma/**/*"))
    yield Measurement("a fresh environment after `pip install .`", total, "MB")
    yield Measurement("of which ours, weights included", own, "MB")


def _megabytes(paths: Iterable[Path]) -> float:
    return sum(path.stat().st_size for path in paths if path.is_file() and not path.is_symlink()) / 1e6


def _syntagma(words: list[str]) -> None:
    subprocess.run([sys.executable, "-m", "syntagma", *words], check=True, capture_output=True)


def _importing_torch() -> None:
    subprocess.run([sys.executable, "-c", "import torch"], check=True, capture_output=True)


def _load_parser() -> None:
    from syntagma.parse import load_parser

    load_parser().parse([["Go"]])
