"""The service as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from serve_models import SUBWORDS, growing_generator
from syntagma.network.storage import save_pretrained


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    about = {"search": {"max_depth": 4, "max_tokens": 10, "beam": 2}, "task": "paraphrase"}
    save_pretrained(folder, growing_generator().runtime.network, SUBWORDS, "# Random\n", about=about)
    return folder


class Running:
    """A server process."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process, self.address = process, address
        self.errors: list[str] = []
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)


@pytest.fixture
def server(model_folder: Path, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Start `syntagma serve` on a free port."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str | Path) -> Running:
        command = [sys.executable, "-m", "syntagma", "serve", "--port", "0", "--model", str(model_folder)]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            [*command, *map(str, arguments)], stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment
        )
        started.append(process)
        assert process.stderr is not None
        line = process.stderr.readline()
        assert "serving tiny at http://" in line, line + process.stderr.read()
        return Running(process, line.strip().rsplit(" ", 1)[1].rstrip("/"))

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()
