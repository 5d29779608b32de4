"""`--device` and `--precision`: the same sentences from every command that runs a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from typer.main import get_command

from syntagma.cli import app
from syntagma.errors import ConfigError

COMMANDS = {
    "generate": ["generate", "I nod."],
    "parse": ["parse", "I nod."],
    "serve": ["serve", "--port", "0"],
    "distill": ["distill", "corpus", "--teacher", "paraphrase-en", "--out", "out"],
    "evaluate": ["evaluate", "--hyp", "a.txt", "--ref", "a.txt", "--metrics", "similarity"],
    "reproduce": ["reproduce", "paraphrase", "--data", "data"],
}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--device", "cuda:7"], "the device 'cuda:7' is not here; give another, or auto"),
        (["--device", "gpu"], "'gpu' is no device; give auto, cpu, cuda, cuda:1 or mps"),
        (["--precision", "fp8"], "'fp8' is no precision; give one of fp32, bf16, fp16"),
    ],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_not_there_is_said(
    command: str, given: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command == "serve":
        pytest.importorskip("fastapi")
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("I nod.\n")
    result = CliRunner().invoke(get_command(app), [*COMMANDS[command], *given])
    assert isinstance(result.exception, ConfigError), result.output
    told = str(result.exception)
    assert f"- {sentence}\n" in told if command == "reproduce" else told == sentence  # which lists all that is wrong
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt"]
