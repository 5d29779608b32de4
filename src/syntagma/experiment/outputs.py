"""Outputs of systems for a test set as plain text: one file a system and setting, so a table can be made again.

A file `SYSTEM.beam5.txt` holds a line for each source.  It appears when it is whole; what is there already is not made
again, and what an interrupted run had of it is gone on with, if it is of the same model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from syntagma.errors import InputError, Place, SyntagmaError
from syntagma.experiment.tasks import Pairs
from syntagma.files import lines_begun, read_lines
from syntagma.search.parallel import Found


class System(NamedTuple):
    """A model and how it is searched."""

    name: str
    model: str
    beam: int
    version: str = ""
    """Tells models of the same name apart."""

    @property
    def file(self) -> str:
        """Where its outputs are kept."""
        return f"{self.name}.beam{self.beam}.txt"


def write_outputs(
    system: System, pairs: Pairs, folder: Path, generate: Callable[[Iterable[str]], Iterator[Found]]
) -> Path:
    """Generate a text for each source, unless that was done before; the file."""
    path = folder / system.file
    if path.exists():
        return path
    part = folder / f".{system.file}.{system.version}.part"
    for other in set(folder.glob(f".{system.file}.*.part")) - {part}:  # of a model that has changed since
        other.unlink()
    done = lines_begun(part)
    with open(part, "a", encoding="utf-8", newline="\n") as stream:
        for found in generate(source for source, _ in pairs[done:]):
            if isinstance(found, SyntagmaError):
                raise found
            stream.write((" ".join(found[0].text.splitlines()) if found else "") + "\n")
            stream.flush()
    part.rename(path)
    return path


def stored(folder: Path) -> Iterator[tuple[str, Path]]:
    """The systems whose outputs are in a folder, each named with its beam, beams in order."""
    for path in sorted(folder.glob("*.beam*.txt"), key=lambda path: (_beam(path), path.name)):
        yield f"{path.name.split('.beam')[0]}, beam {_beam(path)}", path


def _beam(path: Path) -> int:
    return int(path.name.rsplit(".beam", 1)[1].removesuffix(".txt"))


def read_outputs(path: Path, pairs: Pairs, part: bool = False) -> list[str]:
    """The stored texts, one for each pair; if the pairs are a part, the first of more."""
    lines = list(read_lines(path))
    if part:
        lines = lines[: len(pairs)]
    if len(lines) != len(pairs):
        raise InputError(
            f"it has {len(lines)} lines for {len(pairs)} sources", Place(str(path)), "delete it and generate it again"
        )
    return lines
