"""Parsers for other languages: training on dependencies, and warnings where a text is not in a parser's language."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from parse.test_commands import run
from parse.test_conllu import conllu
from parse.test_dependencies import HAT, HUT
from syntagma.errors import ConfigError, InputError
from syntagma.parse.converted import read_converted
from syntagma.parse.dependencies import Style
from syntagma.parse.languages import language_of, language_warning
from syntagma.parse.negra import from_negra
from syntagma.tree import Tree

GERMAN = "Ich habe das Buch nicht gelesen."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "german.conllu"
    path.write_text("\n\n".join("\n".join(conllu(HUT)) for _ in range(20)) + "\n", encoding="utf-8")
    return path


def test_convert_prints_trees(file: Path) -> None:
    lines = run("parser", "convert", file, "--style", "negra").stdout.splitlines()
    assert len(lines) == 20
    assert lines[0] == (
        "(TOP (S (NP (PRON Er)) (AUX hat) (VP (NP (DET den) (NOUN Mann) (PP (ADP mit) (NP (DET dem) (NOUN Hut)))) "
        "(VERB gesehen)) (PUNCT .)))"
    )


def test_convert_reads_standard_input_and_gzip(tmp_path: Path) -> None:
    text = "\n".join(conllu(HAT)) + "\n"
    (tmp_path / "a.conllu.gz").write_bytes(gzip.compress(text.encode()))
    assert run("parser", "convert", "-", stdin=text).stdout == run("parser", "convert", tmp_path / "a.conllu.gz").stdout


def test_a_bad_sentence_stops_or_is_skipped(file: Path, tmp_path: Path) -> None:
    with open(file, "a", encoding="utf-8") as stream:
        stream.write("\n" + "\n".join(conllu("1 a X 2 dep\n2 b X 1 dep")) + "\n")
    with pytest.raises(InputError, match=r"german\.conllu, line 201: the heads run in a cycle \(1 a, 2 b\)"):
        run("parser", "convert", file)
    shown = run("parser", "convert", file, "--bad", "skip", "--rejects", tmp_path / "rejects.jsonl")
    assert len(shown.stdout.splitlines()) == 20
    (reject,) = map(json.loads, (tmp_path / "rejects.jsonl").read_text().splitlines())
    assert reject == {"file": str(file), "line": 201, "reason": "the heads run in a cycle (1 a, 2 b)"}
    with pytest.raises(ConfigError, match="add --bad skip"):
        run("parser", "convert", file, "--rejects", tmp_path / "rejects.jsonl")


def test_every_tenth_sentence_is_for_scoring(file: Path) -> None:
    trees = read_converted([file], Style.penn)
    assert (len(trees.gold), len(trees.silver), len(trees.dev)) == (18, 0, 2)
    assert trees.gold[0].spans[0, 1] == "NP"


def test_or_the_file_that_is_named_so(file: Path) -> None:
    dev = file.with_name("de_x-ud-dev.conllu")
    dev.write_text("\n".join(conllu(HAT)), encoding="utf-8")
    trees = read_converted([file, dev], Style.penn)
    assert (len(trees.gold), len(trees.dev)) == (20, 1)
    with pytest.raises(ConfigError, match="this is a file to test on"):
        read_converted([file, dev.rename(dev.with_name("de_x-ud-test.conllu"))], Style.penn)


def test_too_few_sentences(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text("\n".join(conllu(HAT)))
    with pytest.raises(InputError, match="there are 1 sentences to learn from and 0 to score on"):
        read_converted([tmp_path / "a.conllu"], Style.penn)


def test_a_parser_is_trained_on_dependencies_and_says_its_language(file: Path, encoder: Path, tmp_path: Path) -> None:
    arguments = ("--conllu", file, "--style", "negra", "--out", tmp_path / "run", "--encoder", encoder)
    result = run("parser", "train", *arguments, "--epochs", "1", "span_width=8")
    assert "the trees look like the language 'de'" in result.stderr
    model = Path(json.loads(result.stdout)["model"])
    config = json.loads((model / "config.json").read_text())
    assert (config["name"], config["language"]) == ("parser-de", "de")
    assert language_of(str(model)) == "de"
    assert run("parse", "--parser", model, GERMAN).stderr == ""
    warning = run("parse", "--parser", model, "I have not read the book.").stderr
    assert "the text looks like English, but the parser" in warning
    assert "train one: syntagma parser train --conllu FILES --language en" in warning


def test_no_trees_at_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give a folder of trees, or --conllu FILE"):
        run("parser", "train", "--out", tmp_path / "run")


def test_languages_of_parsers(tiny: Path) -> None:
    names = {"parser-en": "en", "neural": "en", "stanza:de": "de", "benepar": "", "brackets:x": "", "no-such": ""}
    assert {name: language_of(name) for name in names} == names


@pytest.mark.parametrize("text", [GERMAN, "我没有读过这本书。"])
def test_a_target_in_another_language_gets_a_warning(text: str) -> None:
    assert "but the parser parser-en is for English; give a parser for it with --parser" in str(
        language_warning("parser-en", [text])
    )


@pytest.mark.parametrize("texts", [[], [""], ["42"], ["I have not read the book."]])
def test_no_warning_without_cause(texts: list[str]) -> None:
    assert language_warning("parser-en", texts) is None


@pytest.mark.parametrize(
    ("gold", "tree"),
    [
        ("(TOP (CS (S (NP (PPER er)) (VVFIN kam)) (KON und) (S (VVFIN ging))))",
         "(TOP (S (S (NP (PPER er)) (VVFIN kam)) (KON und) (S (VVFIN ging))))"),
        ("(TOP (VP (VZ (PTKZU zu) (VVINF gehen))))", "(TOP (VP (PTKZU zu) (VVINF gehen)))"),
        ("(TOP (PP (APPR in) (NP (PN (NE Costa) (NE Rica)))))", "(TOP (PP (APPR in) (NP (NE Costa) (NE Rica))))"),
        ("(TOP (PP (APPRART vom) (CH (FM A) (FM B))))", "(TOP (PP (APPRART vom) (NP (FM A) (FM B))))"),
        ("(TOP (NP (-- <h4>) (AP (ADJA neue)) (NN Wege) (-- </h4>)))", "(TOP (NP (ADJA neue) (NN Wege)))"),
    ],
)  # fmt: skip
def test_negra_labels(gold: str, tree: str) -> None:
    assert str(from_negra(Tree.read(gold))) == tree
    assert from_negra(Tree.read("(TOP (NP (-- <p>)))")) is None


def test_score_on_negra_trees(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "gold.trees").write_text("(TOP (CNP (-- <p>) (NP (NN Bier)) (KON und) (NP (NN Brot))))\n")
    figures = run("parser", "score", tmp_path / "gold.trees", "--negra", "--parser", tiny, "--json").stdout
    assert json.loads(figures)["pruned"]["sentences"] == 1
