from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from syntagma.cli import prepare as commands
from syntagma.errors import ConfigError, SyntagmaError

Write = Callable[[int], tuple[str, str]]


def run(*arguments: str, text: str | None = None) -> str:
    return invoke(*arguments, text=text).stdout


def invoke(*arguments: str, text: str | None = None) -> Any:
    app = typer.Typer()
    app.callback()(lambda: None)
    commands.register(app)
    result = CliRunner().invoke(app, arguments, input=text, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_prepare_and_info(tmp_path: Path, write_pairs: Write) -> None:
    pairs, trees = write_pairs(60)
    out = str(tmp_path / "out")
    assert (
        run("prepare", pairs, "--trees", trees, "--out", out, "--vocab-size", "400", "--workers", "1", "--dev", "5")
        == ""
    )
    figures = json.loads(run("corpus", "info", out, "--json"))
    assert figures["counts"]["rows"] == 60
    assert figures["splits"]["dev"]["pairs"] == 5
    assert len(figures["examples"]) == 3
    shown = run("corpus", "info", out, "--examples", "1")
    assert "levels a sentence" in shown
    assert "┌" in shown


def test_all_options_arrive(tmp_path: Path, fake_parser: list[str]) -> None:
    (tmp_path / "s.de").write_text("Ich sehe.\nNein.\nGut\n")
    (tmp_path / "s.en").write_text("I see it.\nNo way.\nGood\n")
    sides = [str(tmp_path / "s.de"), "--target", str(tmp_path / "s.en")]
    split = f"dev={tmp_path / 's.de'},{tmp_path / 's.en'}"
    out = tmp_path / "out"
    more = (
        "--both-ways --min-words 1 --max-ratio 4 --labels S,NP --label-noise 0.5 --seed 3 --workers 1 --vocab-size 300"
    )
    with pytest.raises(SyntagmaError, match="no training pair was kept, most often for the reason 'held-out'"):
        run("prepare", *sides, "--split", split, "--out", str(out), *more.split())
    run("prepare", *sides, "--out", str(out), "--overwrite", *more.split())
    facts = json.loads((out / "corpus.json").read_text())
    assert facts["counts"]["pairs_kept"] == 6
    assert facts["labels"] == ["S", "NP"]
    assert fake_parser == ["neural", "neural"]


def test_standard_input(tmp_path: Path, fake_parser: list[str]) -> None:
    out = tmp_path / "out"
    made = invoke(
        "prepare", "-", "--out", str(out), "--workers", "1", "--vocab-size", "300", "--json", text="a\tI see it.\n"
    )
    assert json.loads(made.stdout)["splits"] == {"train": 1}
    assert "there are no pairs for dev, which `syntagma train` needs; add --dev N or --split dev=FILE" in made.stderr
    assert json.loads((out / "corpus.json").read_text())["counts"]["pairs_kept"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "b", "--target", "c"], "2 files of sources and 1 of targets"),
        (["a", "--split", "dev"], "'dev' cannot be read; write it as dev=FILE"),
        (["a", "--split", "valid=x"], "'valid' is not a split"),
        (["no-such-file"], "no-such-file: there is no such file; check the path"),
    ],
)
def test_wrong_arguments(tmp_path: Path, arguments: list[str], message: str) -> None:
    with pytest.raises((ConfigError, SyntagmaError), match=message):
        run("prepare", *arguments, "--out", str(tmp_path / "out"), "--workers", "1")
