"""The parser that ships with the package."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from syntagma.hub import bundled, find_folder, hash_file
from syntagma.parse.base import ParserBackend, load_parser
from syntagma.parse.shape import ParserConfig
from syntagma.tree import Tree, prune

FOLDER = find_folder("parser-en", "parser", "network") if "parser-en" in bundled("network") else None
pytestmark = pytest.mark.skipif(FOLDER is None, reason="the bundled parser is not here")


@pytest.fixture(scope="module")
def parser() -> ParserBackend:
    return load_parser()


def test_the_folder_is_whole_and_small() -> None:
    assert FOLDER is not None
    files = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    assert set(files) == {"README.md", "config.json", "model.safetensors", "parser.onnx", "tokenizer.json"}
    assert sum(files.values()) < 30e6
    assert all(os.access(path, os.R_OK) for path in FOLDER.iterdir())
    assert ParserConfig.load(FOLDER / "config.json").weights_sha256 == hash_file(FOLDER / "model.safetensors")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("I ate an apple .", "(TOP (S (NP I) (VP ate (NP an apple)) .))"),
        ("the dog chased the cat", "(TOP (S (NP the dog) (VP chased (NP the cat))))"),
        (
            "It seems like he has made a mistake .",
            "(TOP (S (NP It) (VP seems like (S (NP he) (VP has (VP made (NP a mistake))))) .))",
        ),
        ("She went to the market .", "(TOP (S (NP She) (VP went (PP to (NP the market))) .))"),
    ],
)
def test_everyday_sentences(parser: ParserBackend, text: str, tree: str) -> None:
    assert str(prune(parser.parse([text.split()])[0])) == tree


def test_case_and_punctuation_do_not_matter(parser: ParserBackend) -> None:
    words = ["The", "old", "man", "sold", "us", "three", "apples", "."]
    usual, lower, bare = parser.parse([words, [word.lower() for word in words], words[:-1]])
    assert prune(lower).spans() == prune(usual).spans()
    assert [span for span in bare.spans() if span.depth > 2] == [
        span for span in usual.spans() if span.depth > 2 and span.end < 8
    ]


def test_odd_input_still_has_a_tree(parser: ParserBackend) -> None:
    odd = [["("], ["?!"], ["…"] * 5, ["пример", "例え"], ["<NP>", "<c>"], ["a" * 3000], ["\u200b"], ["😀"] * 20]
    for words, tree in zip(odd, parser.parse(odd), strict=True):
        assert tree.words() == tuple(words)
        assert isinstance(tree, Tree)


def test_three_hundred_words_and_the_limit(parser: ParserBackend) -> None:
    words = ("the cat that saw the dog that ran " * 50).split()
    start = time.monotonic()
    assert parser.parse([words[:300]])[0].words() == tuple(words[:300])
    assert time.monotonic() - start < 10
    with pytest.raises(Exception, match="more than the 400 that parser-en parses"):
        parser.parse([words + words])


def test_gold_trees_of_all_kinds(parser: ParserBackend) -> None:
    """A fall of several points would be seen."""
    from syntagma.files import read_lines
    from syntagma.parse.score import score_trees

    gold = [Tree.read(line) for line in read_lines(Path(__file__).parents[1] / "data" / "gold.trees")]
    assert score_trees(gold, parser.parse([tree.words() for tree in gold])).f1 > 92


@pytest.mark.slow
def test_the_bench_has_its_rows(parser: ParserBackend) -> None:
    from syntagma.bench import parse as bench

    rows = list(bench.run(quick=True, threads=1, count=16))
    assert [row.unit for row in rows] == ["ms", "sentences/s", "ms"]
    assert all(row.ours > 0 for row in rows)
