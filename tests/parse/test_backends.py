"""Every backend keeps the protocol; benepar and Stanza are stood in for by modules of the same interface."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import syntagma.parse
from syntagma.errors import BracketError, ConfigError, InputError, SyntagmaError
from syntagma.parse.base import ParserBackend, SentenceError, load_parser
from syntagma.parse.brackets import BracketsParser

TREES = [
    "(TOP (S (NP (PRP I)) (VP (VBP nod)) (. .)))",
    "(TOP (S (`` ``) (VP (VB Go)) ('' '')))",
    "(TOP (NP (NN x) (PRN (-LRB- -LRB-) (NN y) (-RRB- -RRB-))))",
]
SENTENCES = [["I", "nod", "."], ['"', "Go", '"'], ["x", "(", "y", ")"]]


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    path = tmp_path / "trees.gz"
    path.write_bytes(gzip.compress("\n".join(TREES).encode()))
    return path


# -- brackets


def test_brackets_hands_out_its_trees_in_order(trees: Path) -> None:
    parser = load_parser(f"brackets:{trees}")
    assert isinstance(parser, ParserBackend)
    assert isinstance(parser, BracketsParser)
    assert parser.labels == ()
    first, rest = parser.parse(SENTENCES[:1]), parser.parse(SENTENCES[1:])
    assert [tree.words() for tree in first + rest] == [tuple(words) for words in SENTENCES]
    assert str(rest[0]) == "(TOP (S (`` \") (VP (VB Go)) ('' \")))"
    assert str(rest[1]) == TREES[2]
    with pytest.raises(SentenceError, match="has only 3 trees, and this sentence would need another"):
        parser.parse([["more"]])


def test_brackets_goes_on_where_it_was(trees: Path) -> None:
    parser = BracketsParser(trees)
    parser.skip(2)
    assert str(parser.parse(SENTENCES[2:])[0]) == TREES[2]
    with pytest.raises(InputError, match="it has only 3 trees"):
        parser.skip(1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["I", "nod"], r"line 1: tree 1 of .* has 3 words, the sentence 2; give the trees of this text"),
        (["I", "sit", "."], r"line 1: tree 1 of .* has the word 'nod' where the sentence has 'sit'"),
    ],
)
def test_brackets_over_other_words(trees: Path, words: list[str], message: str) -> None:
    with pytest.raises(SentenceError, match=message):
        BracketsParser(trees).parse([words])


def test_brackets_stays_aligned_after_a_bad_sentence(trees: Path) -> None:
    parser = BracketsParser(trees)
    with pytest.raises(SentenceError) as caught:
        parser.parse([SENTENCES[0], ["wrong"], SENTENCES[2]])
    assert caught.value.number == 1
    assert [str(tree) for tree in parser.parse([SENTENCES[0], SENTENCES[2]])] == [TREES[0], TREES[2]]


def test_brackets_says_where_its_file_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "bad.trees"
    path.write_text(TREES[0] + "\n(TOP (S x)\n")
    with pytest.raises(BracketError, match=r"bad\.trees, line 2, column 1: the bracket opened here is never closed"):
        BracketsParser(path).parse(SENTENCES)
    with pytest.raises(InputError, match="none: it cannot be opened"):
        BracketsParser(tmp_path / "none").parse(SENTENCES)
    with pytest.raises(ConfigError, match="lacks its file; name it as brackets:FILE"):
        load_parser("brackets")


# -- names


def test_unknown_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"there is no parser 'nope'; give a folder, a hub id, or a bundled name \(.*\)"
    ):
        load_parser("nope")
    with pytest.raises(ConfigError, match="there is no parser"):
        load_parser(str(tmp_path / "no" / "such" / "folder"))
    hub: Any = ModuleType("huggingface_hub")

    def refuse(*_: object, **__: object) -> str:
        raise OSError("the network is unreachable")

    hub.snapshot_download = refuse
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    with pytest.raises(ConfigError, match="'no-one/nothing' is no folder here, and it cannot be fetched from the hub"):
        load_parser("no-one/nothing")


def test_a_hub_name_is_fetched(monkeypatch: pytest.MonkeyPatch, tiny: Path) -> None:
    hub: Any = ModuleType("huggingface_hub")
    hub.snapshot_download = lambda name, allow_patterns: str(tiny)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    assert load_parser("some-one/something").name == "tiny"


def test_the_facade_takes_raw_text(tiny: Path) -> None:
    parser = syntagma.parse.Parser.from_pretrained(str(tiny))
    assert isinstance(parser, ParserBackend)
    tree = parser("I didn't go to John's house.")
    assert tree.words() == ("I", "did", "n't", "go", "to", "John", "'s", "house", ".")
    assert [tree.words() for tree in parser(["Go home", "the end"])] == [("Go", "home"), ("the", "end")]
    assert parser("don't go.", tokenized=True).words() == ("don't", "go.")
    assert parser.parse([["Go"]])[0].words() == ("Go",)
    assert (parser.name, parser.version, repr(parser)) == ("tiny", "1", "Parser('tiny', version '1')")
    assert "NP" in parser.labels
    with pytest.raises(InputError, match="sentence 2 is empty"):
        parser(["a", " "])
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = syntagma.parse.nothing


# -- benepar


def fake_benepar() -> Any:
    module: Any = ModuleType("benepar")
    module.InputSentence = lambda words: words

    class Model:
        def __init__(self, name: str) -> None:
            if name == "absent":
                raise LookupError("Resource absent not found")
            if name == "broken":
                raise AttributeError("T5TokenizerFast has no attribute")
            self._parser = SimpleNamespace(config={"label_vocab": {"": 0, "S": 1, "S::VP": 2, "NP": 3}})

        def parse_sents(self, sentences: list[list[str]]) -> Any:
            from nltk import Tree

            for words in sentences:
                escaped = (word.replace("(", "-LRB-").replace(")", "-RRB-") for word in words)
                yield Tree("TOP", [Tree("S", [Tree("NN", [word]) for word in escaped])])

    module.Parser = Model
    return module


def test_benepar(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nltk")
    monkeypatch.setitem(sys.modules, "benepar", fake_benepar())
    parser = load_parser("benepar")
    assert isinstance(parser, ParserBackend)
    assert parser.name == "benepar:benepar_en3"
    assert parser.labels == ("NP", "S", "TOP", "VP")
    assert [str(tree) for tree in parser.parse([["a", "("]])] == ["(TOP (S (NN a) (NN -LRB-)))"]
    with pytest.raises(SentenceError, match="no words"):
        parser.parse([[]])
    with pytest.raises(ConfigError, match=r"weights of 'absent' are not on this machine; fetch them with: python -c"):
        load_parser("benepar:absent")
    with pytest.raises(ConfigError, match=r"cannot load 'broken' \(AttributeError.*needs transformers before 4\.40"):
        load_parser("benepar:broken")


# -- stanza


def fake_stanza() -> Any:
    module: Any = ModuleType("stanza")
    module.__version__ = "1.10.1"

    class Pipeline:
        def __init__(self, language: str, **options: Any) -> None:
            assert options["tokenize_pretokenized"]
            assert options["download_method"] is None
            if language != "en":
                raise FileNotFoundError(f"Resources file not found for {language}\nmore")
            self.processors = {"constituency": SimpleNamespace(get_constituents=lambda: {"ROOT", "S", "NP"})}

        def __call__(self, sentences: list[list[str]]) -> Any:
            trees = (" ".join(f"(NN {word})" for word in words) for words in sentences)
            return SimpleNamespace(sentences=[SimpleNamespace(constituency=f"(ROOT (S {tree}))") for tree in trees])

    module.Pipeline = Pipeline
    return module


def test_stanza(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stanza", fake_stanza())
    parser = load_parser("stanza")
    assert isinstance(parser, ParserBackend)
    assert (parser.name, parser.version, parser.labels) == ("stanza:en", "1.10.1", ("NP", "S", "TOP"))
    assert [str(tree) for tree in parser.parse([["I", "nod"]])] == ["(TOP (S (NN I) (NN nod)))"]
    assert parser.parse([]) == []
    with pytest.raises(SentenceError, match="no words"):
        parser.parse([[]])
    with pytest.raises(ConfigError, match=r"for 'xx' cannot be loaded \(Resources file not found for xx\); fetch them"):
        load_parser("stanza:xx")


@pytest.mark.parametrize("name", ["benepar", "stanza"])
def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SyntagmaError, match=rf"needs the package {name}, .* 'syntagma\[{name}\]'"):
        load_parser(name)
