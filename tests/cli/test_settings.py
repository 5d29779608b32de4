"""Settings as key=value, and the flags that they once were."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commands import COMMANDS
from syntagma import aliases
from syntagma.cli import app
from syntagma.cli.settings import explain_flags, modern, read_settings, split_settings
from syntagma.errors import ConfigError
from syntagma.search import SearchOptions, SteeredText
from syntagma.settings import describe

SEARCH = "syntagma.search.options:SearchOptions"
GENERATE = "syntagma.cli.generate:GenerateSettings"
CORPUS = "syntagma.corpus.options:CorpusOptions"


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aliases, "_warned", set())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--alpha", "0.5", "text"], ["alpha=0.5", "text"]),
        (["--alpha=0.5"], ["alpha=0.5"]),
        (["--search", "alpha=0.5", "--search=beam=2"], ["alpha=0.5", "beam=2"]),
        (["--search", "paper", "text"], ["--search", "paper", "text"]),
        (["--forbid-copy", "--no-split"], ["forbid_copy=true", "split=false"]),
        (["--no-adjacent-repeats"], ["no_adjacent_repeats=true"]),
        (["--adjacent-repeats"], ["no_adjacent_repeats=false"]),
        (["--no-coin", "--rank", "whole"], ["known_words_only=true", "rerank=seq2seq"]),
        (["--engine", "ray", "--workers", "2"], ["executor=ray", "workers=2"]),
        (["--jsonl", "--no-jsonl", "--sample"], ["jsonl=true", "jsonl=false", "sample=true"]),
        (["--control", "hard", "--exemplar", "Did he?"], ["control=hard", "exemplar=Did he?"]),
        (["--must-not", "a", "--must-not", "b"], ["must_not=a", "must_not=b"]),
        (["--beam", "3", "--alhpa", "1"], ["--beam", "3", "--alhpa", "1"]),
        (["--no-alpha", "--source"], ["--no-alpha", "--source"]),
        (["--", "--alpha"], ["--", "--alpha"]),
    ],
)
def test_former_flags(given: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert list(modern(given, ["--beam"], [SEARCH, GENERATE], "--search")) == expected
    assert ("is now" in capsys.readouterr().err) == (given != expected)


def test_a_former_flag_whose_present_form_is_a_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(modern(["--engine", "ray"], ["--executor"], [CORPUS])) == ["--executor", "ray"]
    assert "is now --executor" in capsys.readouterr().err


@pytest.mark.parametrize("given", [["--engine", "ctranslate2"], ["--engine=ctranslate2"]])
def test_a_former_engine_is_one_error(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match=r"^CTranslate2 runs models in `syntagma bench` only; leave --engine out"):
        list(modern(given, ["--beam"], [SEARCH, GENERATE], "--search"))
    assert capsys.readouterr().err == ""


def test_the_flag_that_was_given_is_the_one_that_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    list(modern(["--engine", "ray"], ["--beam"], [SEARCH, GENERATE], "--search"))
    told = "syntagma: '--engine' is now executor=ray; the old name goes with the next release\n"
    assert capsys.readouterr().err == told


def test_settings_stand_among_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd=name.tsv").touch()
    files, settings = split_settings(["a.tsv", "max_words=4", "odd=name.tsv", "max_wrods=3", "b/x=1"], CORPUS)
    assert (files, settings) == (["a.tsv", "odd=name.tsv", "b/x=1"], ["max_words=4", "max_wrods=3"])


def test_settings_of_several_classes() -> None:
    assert read_settings(["workers=2", "alpha=0.5", "coin=false"], SEARCH, GENERATE) == [
        {"alpha": 0.5, "known_words_only": True},
        {"workers": 2},
    ]
    with pytest.raises(ConfigError, match="'wokers' is not a setting of this command; did you mean 'workers'"):
        read_settings(["wokers=2"], SEARCH, GENERATE)


def test_texts_with_an_equals_sign_are_texts() -> None:
    texts = ["He said that E = mc2.", "x = 1", "5=5", "If a=b, then b=a."]
    assert split_settings([*texts, "alpha=0.5", "alhpa=0.5"], SEARCH) == (texts, ["alpha=0.5", "alhpa=0.5"])


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
    from syntagma.cli.generate import GenerateSettings
    from syntagma.corpus.backtranslation.options import BacktranslationOptions
    from syntagma.corpus.options import CorpusOptions
    from syntagma.network.config import ModelConfig
    from syntagma.parse.settings import ParserTrainConfig
    from syntagma.train.config import TrainConfig

    ids = {"pad", "start", "end", "sep", "part"}
    kinds = (
        SearchOptions, SteeredText, GenerateSettings, TrainConfig, ModelConfig, CorpusOptions, BacktranslationOptions,
        EvaluateSettings, ParserTrainConfig,
    )  # fmt: skip
    for kind in kinds:
        assert [line.name for line in describe(kind) if not line.help.endswith(".") and line.name not in ids] == []


@pytest.mark.parametrize(
    ("command", "most"),
    [("generate", 17), ("paraphrase", 17), ("prepare", 16), ("evaluate", 15), ("backtranslate", 14), ("distill", 13)],
)
def test_commands_have_few_options(command: str, most: int) -> None:
    assert len(COMMANDS[command].params) <= most


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_headings_and_an_example(command: str) -> None:
    options = [parameter for parameter in COMMANDS[command].params if parameter.param_type_name == "option"]
    if len(options) > 9:
        assert [option.name for option in options if option.rich_help_panel is None and not option.hidden] == []
    assert f"Example: syntagma {command} " in (COMMANDS[command].help or "")


def test_flags_are_read_off_the_settings() -> None:
    flags = {parameter.name: parameter for parameter in COMMANDS["generate"].params}
    explain_flags(COMMANDS["generate"])
    told = {line.name: line.help for kind in (SearchOptions, SteeredText) for line in describe(kind)}
    for name in ("beam", "template", "start"):
        assert flags[name].help == told[name]
    assert flags["must"].help == f"{told['must']} Repeat it for several."
    assert (flags["must"].multiple, flags["beam"].multiple) == (True, False)
    wrong = CliRunner().invoke(app, ["generate", "--model", "paraphrase-en", "control=firm", "x"])
    assert isinstance(wrong.exception, ConfigError)
    assert wrong.exception.remedy == "give a value: soft, hard or none"


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
