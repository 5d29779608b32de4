"""What all tests share: small data, no skipped tests where all are required, and a way to run the command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("house", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)
DATA = Path(__file__).resolve().parent / "data"
SHARED = Path(os.environ.get("SYNTAGMA_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let no test be skipped where the environment says so."""
    return _required((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let no module be skipped either."""
    return _required((yield))


def _required(report: Report) -> Report:
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("SYNTAGMA_REQUIRE_ALL"):
        report.outcome = "failed"
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.longrepr = f"{reason}; with SYNTAGMA_REQUIRE_ALL no test may be skipped"
    return report


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of the data that we may not ship."""
    if not SHARED.is_dir():
        pytest.skip("the data folder ../shared/data is not here")
    return SHARED


@pytest.fixture(scope="session")
def reference() -> Path:
    """Ten trees with the authors' levels, and a small checkpoint with the authors' traces."""
    return DATA / "reference"


@pytest.fixture(scope="session")
def pairs() -> tuple[list[str], list[str]]:
    """Sources and targets that say the same."""
    rows = [line.split("\t") for line in (DATA / "tatoeba" / "pairs.tsv").read_text("utf-8").splitlines()]
    return [source for source, _ in rows], [target for _, target in rows]


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
