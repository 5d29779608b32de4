"""Settings as key=value, and the flags that they once were."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from syntagma import aliases
from syntagma.cli import app
from syntagma.cli.settings import modern, split_settings

SEARCH = "syntagma.search.options:SearchOptions"
CORPUS = "syntagma.corpus.options:CorpusOptions"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aliases, "_warned", set())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--alpha", "0.5", "text"], ["--search", "alpha=0.5", "text"]),
        (["--alpha=0.5"], ["--search", "alpha=0.5"]),
        (["--forbid-copy", "--no-split"], ["--search", "forbid_copy=true", "--search", "split=false"]),
        (["--no-adjacent-repeats"], ["--search", "no_adjacent_repeats=true"]),
        (["--adjacent-repeats"], ["--search", "no_adjacent_repeats=false"]),
        (["--no-coin", "--rank", "whole"], ["--search", "known_words_only=true", "--search", "rerank=seq2seq"]),
        (["--engine", "ray"], ["--executor", "ray"]),
        (["--beam", "3", "--alhpa", "1"], ["--beam", "3", "--alhpa", "1"]),
        (["--no-alpha"], ["--no-alpha"]),
        (["--", "--alpha"], ["--", "--alpha"]),
    ],
)
def test_former_flags(given: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert list(modern(given, ["--beam", "--executor"], SEARCH, "--search")) == expected
    assert ("is now" in capsys.readouterr().err) == (given != expected)


def test_settings_stand_among_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd=name.tsv").touch()
    files, settings = split_settings(["a.tsv", "max_words=4", "odd=name.tsv", "max_wrods=3", "b/x=1"], CORPUS)
    assert (files, settings) == (["a.tsv", "odd=name.tsv", "b/x=1"], ["max_words=4", "max_wrods=3"])


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("train", ("lr", "number", "0.0007", "The highest learning rate.")),
        ("train", ("dropout", "number", "0.1", "The share of states that training drops.")),
        ("generate", ("alpha", "number", "0.8")),
        ("prepare", ("max_words", "whole number", "128")),
        ("evaluate", ("tokenize", "none, 13a, intl, char or zh", "none")),
    ],
)
def test_all_settings_are_listed(command: str, line: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(app, [command, "--settings"])
    assert shown.exit_code == 0
    assert any(all(cell in row for cell in line) for row in shown.stdout.splitlines())


def test_every_setting_is_described() -> None:
    from syntagma.cli.evaluate import EvaluateSettings
    from syntagma.corpus.options import CorpusOptions
    from syntagma.network.config import ModelConfig
    from syntagma.parse.settings import ParserTrainConfig
    from syntagma.search import SearchOptions
    from syntagma.settings import describe
    from syntagma.train.config import TrainConfig

    ids = {"pad", "start", "end", "sep", "part"}
    for kind in (SearchOptions, TrainConfig, ModelConfig, CorpusOptions, EvaluateSettings, ParserTrainConfig):
        assert [line.name for line in describe(kind) if not line.help.endswith(".") and line.name not in ids] == []


@pytest.mark.parametrize("command", ["generate", "prepare", "evaluate"])
def test_commands_have_few_options(command: str) -> None:
    import typer

    parameters = typer.main.get_command(app).commands[command].params  # type: ignore[attr-defined]
    assert len(parameters) <= 31
    assert sum(parameter.rich_help_panel is None for parameter in parameters) <= 2  # arguments, and --help


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colours_where_none_are_wanted(variable: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    from syntagma.cli.common import colour

    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert colour()
    for name, value in variable.items():
        monkeypatch.setenv(name, value)
    assert not colour()


def test_the_shell_completes_commands() -> None:
    asked = {"_SYNTAGMA_COMPLETE": "complete_bash", "COMP_WORDS": "syntagma para", "COMP_CWORD": "1"}
    assert CliRunner().invoke(app, [], prog_name="syntagma", env=asked).stdout.split() == ["paraphrase"]
