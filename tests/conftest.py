"""What all tests share: random trees, the reference data, and a way to run the command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("house", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of training and reference data beside the repository."""
    if not SHARED.is_dir():
        pytest.skip("the data folder ../shared/data is not here")
    return SHARED


@pytest.fixture
def syntagma(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command as a user does, in an empty folder."""

    def run(
        *arguments: str | Path, stdin: str | bytes = b"", check: int | None = 0
    ) -> subprocess.CompletedProcess[str]:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        command = [sys.executable, "-m", "syntagma", *map(str, arguments)]
        environment = os.environ | {"NO_COLOR": "1", "COLUMNS": "100"}
        done = subprocess.run(command, input=data, capture_output=True, cwd=tmp_path, env=environment, timeout=300)
        result = subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())
        if check is not None:
            assert result.returncode == check, result.stderr
        return result

    return run
