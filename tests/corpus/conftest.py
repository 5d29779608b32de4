"""Small corpora for the tests: pairs of sentences with trees that a grammar of a few lines makes."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import syntagma.parse
from syntagma.corpus import Corpus, CorpusOptions, Input, prepare
from syntagma.text import split
from syntagma.tree import ROOT, Tree

SUBJECTS = ("I", "She", "Tom", "The old man", "Nobody")
VERBS = ("saw", "can't see", "ate", "didn't like")
OBJECTS = ("an apple", "the dog (a big one)", "it", "2.5 apples", '"that" thing')
ENDS = (".", "!", " today.", " in the garden.")


def right_branching(words: Sequence[str]) -> Tree:
    """A tree that needs no parser: (S (NP first) (VP second (NP ...)) last)."""
    leaves = [Tree("X", [word]) for word in words]
    if len(leaves) < 4:
        return Tree(ROOT, [Tree("S", leaves)])
    inner = Tree("PP" if len(leaves) % 2 else "NP", leaves[2:-1])
    return Tree(ROOT, [Tree("S", [Tree("NP", leaves[:1]), Tree("VP", [leaves[1], inner]), leaves[-1]])])


class FakeParser:
    """A parser without a model; it refuses sentences with the word FAIL and breaks on BUG."""

    name, version, labels = "fake", "3", ("TOP", "S", "NP", "VP", "PP", "ADJP", "X")

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        from syntagma.parse.base import SentenceError

        for number, words in enumerate(sentences):
            if "FAIL" in words:
                raise SentenceError("this one is too hard", number, "leave it out")
            if "BUG" in words:
                raise RuntimeError("broken")
        return [right_branching(words) for words in sentences]


@pytest.fixture
def fake_parser(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every parser is the fake one; the list holds the names asked for."""
    asked: list[str] = []

    def load(name: str) -> FakeParser:
        asked.append(name)
        return FakeParser()

    monkeypatch.setattr(syntagma.parse, "load_parser", load, raising=False)
    return asked


def sentences(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Pairs of sentences, some of them twice, some identical."""
    draw = random.Random(seed)

    def one() -> str:
        return f"{draw.choice(SUBJECTS)} {draw.choice(VERBS)} {draw.choice(OBJECTS)}{draw.choice(ENDS)}"

    return [(one(), one()) for _ in range(count)]


@pytest.fixture
def write_pairs(tmp_path: Path) -> Callable[[int], tuple[str, str]]:
    """Write pairs and their trees; the names of the two files."""

    def write(count: int) -> tuple[str, str]:
        pairs = sentences(count)
        (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
        trees = (f"{right_branching(split(b).texts())}\n" for _, b in pairs)
        (tmp_path / "pairs.trees").write_text("".join(trees), encoding="utf-8")
        return str(tmp_path / "pairs.tsv"), str(tmp_path / "pairs.trees")

    return write


@pytest.fixture
def made(tmp_path: Path, fake_parser: list[str]) -> Callable[..., Corpus]:
    """Prepare lines of TSV text with the fake parser."""

    def make(text: str, out: str = "out", inputs: tuple[Input, ...] = (), **options: object) -> Corpus:
        path = tmp_path / "in.tsv"
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        options.setdefault("vocab_size", 300)
        return prepare(CorpusOptions(inputs=(Input(str(path)), *inputs), **options), tmp_path / out, workers=1)  # type: ignore[arg-type]

    return make


@pytest.fixture
def hashes() -> Callable[[Path], dict[str, str]]:
    """Every file below a folder with the hash of its bytes."""

    def all_hashes(folder: Path) -> dict[str, str]:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    return all_hashes
