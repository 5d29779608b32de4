from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from syntagma.cli import parse as commands
from syntagma.cli import parser as family
from syntagma.errors import BracketError, InputError, SyntagmaError

app = typer.Typer()
commands.register(app)
family.register(app)


def run(*arguments: str | Path, stdin: str | bytes = "") -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.stderr
    return result


@pytest.fixture
def parse(tiny: Path) -> Any:
    return lambda *arguments, stdin="": run("parse", "--parser", tiny, *arguments, stdin=stdin)


def test_arguments_are_parsed_in_order(parse: Any) -> None:
    lines = parse("Go home", "I didn't.", "the end").stdout.splitlines()
    assert [line.startswith("(TOP (") for line in lines] == [True] * 3
    assert " n't)" in lines[1]


def test_empty_lines_stay_empty(parse: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "CHUNK", 2)
    shown = parse(stdin="Go home\n\n  \nthe end\n\n").stdout
    lines = shown.split("\n")
    assert [bool(line) for line in lines] == [True, False, False, True, False, False]
    assert parse(stdin="").stdout == ""


def test_words_that_are_already_apart(parse: Any, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("don't saw (the) dog.\n")
    tree = parse("--tokenized", "-i", tmp_path / "text").stdout
    assert "don't)" in tree
    assert "-LRB-the-RRB-)" in tree
    assert "dog.)" in tree


def test_json_and_drawing(parse: Any) -> None:
    record, empty = (json.loads(line) for line in parse("--json", "Go!", "").stdout.splitlines())
    assert record["words"] == ["Go", "!"]
    assert record["tree"].startswith("(TOP ")
    assert empty == {"text": "", "words": [], "tree": None}
    assert "Go" in parse("--draw", "Go home").stdout.splitlines()[-2]


def test_a_bad_line_stops_or_is_skipped(parse: Any) -> None:
    text = "a\n\n" + "a " * 401 + "\nthe end\n"
    with pytest.raises(SyntagmaError, match="standard input, line 3: the sentence has 401 words"):
        parse(stdin=text)
    result = parse("--bad", "skip", stdin=text)
    assert [bool(line) for line in result.stdout.splitlines()] == [True, False, False, True]
    assert "1 of 4 lines could not be parsed" in result.stderr
    with pytest.raises(InputError, match="standard input, line 2, column 1: the byte 0xff is not UTF-8"):
        parse(stdin=b"a\n\xff\n")
    assert len(parse("--bad", "skip", stdin=b"a\n\xff\n").stdout.splitlines()) == 2
    with pytest.raises(InputError, match="no-file: it cannot be opened"):
        parse("-i", "no-file")


def test_a_file_of_trees_is_a_parser(treebank: Path) -> None:
    shown = run("parse", "--parser", f"brackets:{treebank / 'dev.trees'}", stdin="I saw the dog.\n\nthe dog saw me.\n")
    assert shown.stdout.splitlines()[2] == "(TOP (S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (PRP me))) (. .)))"
    with pytest.raises(SyntagmaError, match="standard input, line 2: tree 2 of"):
        run("parse", "--parser", f"brackets:{treebank / 'dev.trees'}", stdin="I saw the dog.\nsomething else\n")


def test_a_long_run_tells_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    progress = commands._Progress(every=0.0)
    progress.tell(1000)
    progress.end(1500)
    assert capsys.readouterr().err.startswith("syntagma: 1,000 lines, ")
    silent = commands._Progress()
    silent.tell(10)
    silent.end(10)
    assert capsys.readouterr().err == ""


def test_lines_are_read_as_they_are_needed(parse: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first chunk is out, only the next has been read."""
    monkeypatch.setattr(commands, "CHUNK", 3)
    read: list[int] = []
    ahead: list[int] = []

    def endless(_: str) -> Iterator[str]:
        for number in range(12):
            read.append(number)
            yield "Go home"

    monkeypatch.setattr("syntagma.files.scan_lines", endless)
    monkeypatch.setattr(commands._Progress, "tell", lambda self, count: ahead.append(len(read) - count))
    parse()
    assert max(ahead) == 0


# -- parser score


def test_score_of_a_parser(tiny: Path, treebank: Path) -> None:
    shown = run("parser", "score", treebank / "dev.trees", "--parser", tiny, "--json").stdout
    figures = json.loads(shown)
    assert figures["all"]["sentences"] == 7
    assert figures["all"]["f1"] > 80
    assert figures["labels"] == ["S", "NP", "VP", "PP"]
    table = run("parser", "score", treebank / "dev.trees", "--parser", tiny, "--lower")
    assert "labelled F1" in table.stdout
    assert "sentences a second" in table.stderr


def test_score_of_a_file(treebank: Path, tmp_path: Path) -> None:
    gold = treebank / "dev.trees"
    figures = json.loads(run("parser", "score", gold, "--predicted", gold, "--json").stdout)
    assert figures["all"]["f1"] == figures["pruned"]["exact_match"] == 100.0
    (tmp_path / "short").write_text("(TOP (NP (NN a)))\n")
    with pytest.raises(InputError, match="short, line 1: the parse has 1 words, the gold tree 5"):
        run("parser", "score", gold, "--predicted", tmp_path / "short")
    (tmp_path / "less").write_text(gold.read_text().splitlines()[0])
    with pytest.raises(InputError, match="less: it has not as many trees as the gold file"):
        run("parser", "score", gold, "--predicted", tmp_path / "less")
    (tmp_path / "empty").write_text("")
    with pytest.raises(InputError, match="empty: it holds no tree"):
        run("parser", "score", tmp_path / "empty", "--predicted", tmp_path / "empty")
    (tmp_path / "bad").write_text("(TOP")
    with pytest.raises(BracketError, match="bad, line 1"):
        run("parser", "score", tmp_path / "bad", "--predicted", gold)


# -- parser train


def test_train_makes_a_parser(encoder: Path, treebank: Path, tmp_path: Path) -> None:
    options = ("--out", tmp_path / "run", "--encoder", encoder, "--epochs", "1", "batch_pieces=64")
    told = json.loads(run("parser", "train", treebank, "--silver", treebank, *options).stdout)
    assert told["dev"]["sentences"] == 7
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "checkpoints", "log.jsonl", "model", "train.json",
    ]  # fmt: skip
    tree = run("parse", "--parser", told["model"], "Go home").stdout
    assert tree.startswith("(TOP ")
    assert json.loads(run("parser", "train", treebank, "--silver", treebank, *options).stdout) == told
    with pytest.raises(SyntagmaError, match="'colour' is not a setting of ParserTrainConfig"):
        run("parser", "train", treebank, "--out", tmp_path, "colour=red")


def test_parsers_are_exported_to_share(tiny: Path, tmp_path: Path) -> None:
    card = tmp_path / "card.md"
    card.write_text("# mine\n")
    run("parser", "export", tiny, tiny, "--out", tmp_path / "shared", "--version", "7", "--card", card)
    settings = json.loads((tmp_path / "shared" / "config.json").read_text())
    assert settings["version"] == "7"
    assert (tmp_path / "shared" / "README.md").read_text() == "# mine\n"
    assert (tmp_path / "shared" / "model.safetensors").stat().st_size <= (tiny / "model.safetensors").stat().st_size
    same = [run("parse", "--parser", folder, "I saw the dog .").stdout for folder in (tiny, tmp_path / "shared")]
    assert same[0] == same[1]
    with pytest.raises(InputError, match="it exists already; give a new folder"):
        run("parser", "export", tiny, "--out", tmp_path / "shared")
    with pytest.raises(SyntagmaError, match="there is no parser 'nowhere'"):
        run("parser", "export", "nowhere", "--out", tmp_path / "other")
    assert not (tmp_path / "other").exists()
