"""Processes that each hold all engines and write their share of the sentences on demand."""

from __future__ import annotations

from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from syntagma.bench.engines import Engine, load_engines
from syntagma.errors import SyntagmaError
from syntagma.process import keep_freed_memory


class Team:
    """So many processes with one thread each; their models are loaded once all of them have been made."""

    def __init__(self, data: Path, texts: list[str], size: int, folder: Path) -> None:
        context = get_context("spawn")
        self._members = []
        self._lines: list[Connection] = []
        for rank in range(size):
            end, member_end = context.Pipe()
            place = folder / f"member-{rank}"
            member = context.Process(target=_work, args=(member_end, data, texts[rank::size], place), daemon=True)
            member.start()
            member_end.close()  # so that a member that dies ends our waiting for it
            self._members.append(member)
            self._lines.append(end)
        self._names: list[str] = []
        for line in self._lines:  # until the last has loaded
            self._names = _heard(line)

    def engines(self) -> dict[str, Engine]:
        """Engines that have all members run the same at once."""
        return {name: self._shared(name) for name in self._names}

    def _shared(self, name: str) -> Engine:
        def run(beam: int, batch: int) -> list[int]:
            for line in self._lines:
                line.send((name, beam, batch))
            return [length for line in self._lines for length in _heard(line)]

        return run

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for line in self._lines:
            line.close()
        for member in self._members:
            member.join()


def _heard(line: Connection) -> Any:
    try:
        return line.recv()
    except EOFError:
        raise SyntagmaError("a process of the bench died", remedy="what it said stands above; run it again") from None


def _work(line: Connection, data: Path, texts: list[str], folder: Path) -> None:
    """Serve requests until the connection is closed."""
    import torch

    keep_freed_memory()
    torch.set_num_threads(1)
    engines = load_engines(data, texts, 1, folder)
    line.send(list(engines))
    while True:
        try:
            name, beam, batch = line.recv()
        except EOFError:
            return
        line.send(engines[name](beam, batch))
