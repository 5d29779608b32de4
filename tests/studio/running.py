"""The service as a process that the tests, and the script of the screenshots, start, kill and start again."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LAUNCH = {"executable_path": CHROMIUM, "args": ["--no-sandbox", "--disable-gpu"]}


class Service:
    """`syntagma serve` on a port of its own."""

    def __init__(self, folder: Path, *arguments: str | Path, model: str | Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        # A busy machine is not a broken page: nobody is refused because it is slow.
        self._arguments = ["--model", str(model), "--threads", "1", "--patience", "30", *map(str, arguments)]
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        """Start it and wait until it serves."""
        command = [sys.executable, "-m", "syntagma", "serve", "--port", str(self.port), *self._arguments]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        log = self._folder / "serve.log"
        with log.open("w") as errors:
            process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=self._folder, env=environment
            )
            assert process.stderr is not None
            for line in process.stderr:
                errors.write(line)
                if "serving " in line:
                    break
            else:
                raise RuntimeError(f"the service did not start: {log.read_text()}")
        self._process = process

    def kill(self) -> None:
        """End it without a word."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stderr is not None
            self._process.stderr.close()
            self._process = None
