"""A translator without a model, and tiny random ones in folders of both kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from network.backbone.tiny import make_base
from syntagma.corpus.backtranslation import build
from syntagma.corpus.backtranslation.filters import FILTERS
from syntagma.corpus.backtranslation.translators import Decoding, convert_marian

MANY = [name for name in FILTERS if name not in ("similarity", "unknown-word")]
"""Filters that what random models write would not pass."""


@dataclass
class FakeTranslator:
    """Translates what it is told to, and everything else by turning it round."""

    known: dict[str, list[str]] = field(default_factory=dict)
    seeds: list[int] = field(default_factory=list)

    def translate(self, texts: Sequence[str], decoding: Decoding, seed: int) -> list[list[str]]:
        self.seeds.append(seed)
        return [self.known.get(text, [text[::-1]])[: decoding.candidates] for text in texts]


@dataclass
class FakeFolder:
    translator: FakeTranslator

    def load(self) -> FakeTranslator:
        return self.translator


@dataclass
class Fakes:
    """The two translators, by the names of their folders."""

    there: FakeTranslator = field(default_factory=FakeTranslator)
    back: FakeTranslator = field(default_factory=FakeTranslator)


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Fakes:
    """Every run translates with these."""
    made = Fakes()
    monkeypatch.setattr(build, "kind_of", lambda folder: "fake")
    monkeypatch.setattr(build, "hash_folder", lambda folder: f"hash of {folder}")
    monkeypatch.setattr(build, "open_folder", lambda name, converted: FakeFolder(getattr(made, name)))
    return made


@pytest.fixture(scope="session")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Marian model as Hugging Face stores it."""
    pytest.importorskip("sentencepiece")
    return make_base(tmp_path_factory.mktemp("models") / "marian", "marian")


@pytest.fixture(scope="session")
def ctranslate2(marian: Path) -> Path:
    """The same model as CTranslate2 stores it, with its sentencepiece file."""
    pytest.importorskip("ctranslate2")
    return make_translator(marian, marian.with_name("ctranslate2"))


def make_translator(marian: Path, folder: Path) -> Path:
    """A Marian model as CTranslate2 stores it, with its sentencepiece file."""
    convert_marian(marian, folder)
    (folder / "source.spm").write_bytes((marian / "source.spm").read_bytes())
    return folder
