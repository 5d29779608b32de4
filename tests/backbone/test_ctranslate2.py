"""Exported models give what torch gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from search_models import TEXTS, random_model
from syntagma.backbone.ctranslate2 import Translator, export
from syntagma.backbone.errors import BackboneError
from syntagma.backbone.storage import from_pretrained, make_backbone
from syntagma.errors import ConfigError, SyntagmaError
from syntagma.search import Generator, SearchOptions
from syntagma.text import Subwords, split

pytest.importorskip("ctranslate2")
OPTIONS = SearchOptions(max_depth=4, max_tokens=12, beam=5)
SOURCES = [*TEXTS, "I ate", "He can't", "an apple is not a mistake, is it?"]


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return Subwords.train([split(text).words for text in TEXTS * 3], size=300)


def outputs(generator: Generator, texts: list[str], **options: Any) -> list[list[tuple[str, float]]]:
    found = []
    for one in generator.stream(texts, options=OPTIONS.changed(options), batch=4):
        assert not isinstance(one, SyntagmaError)
        found.append([(output.text, output.score) for output in one])
    return found


def assert_same(ours: list[list[tuple[str, float]]], theirs: list[list[tuple[str, float]]]) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        assert [text for text, _ in mine] == [text for text, _ in other]
        assert [score for _, score in mine] == pytest.approx([score for _, score in other], abs=1e-3)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("architecture", ["concat", "seq2seq"])
def test_an_export_writes_the_same(subwords: Subwords, tmp_path: Path, architecture: Any, norm: str) -> None:
    network = random_model(subwords, 1, architecture, norm=norm)
    export(tmp_path / "out", network, subwords, {})
    exported = Generator.from_pretrained(tmp_path / "out")
    assert isinstance(exported.network, Translator)
    ours = Generator(network, subwords)
    for beam in (1, 5):
        assert_same(outputs(ours, SOURCES, beam=beam), outputs(exported, SOURCES, beam=beam))
    if architecture == "concat":
        wish = {"template": "(S (NP) (VP (NP)))", "control": "hard", "beam": 3, "max_tokens": 12, "max_depth": 4}
        assert exported(TEXTS[0], **wish)[0].text == ours(TEXTS[0], **wish)[0].text


@pytest.mark.parametrize("kind", ["bart", "t5", "marian"])
def test_a_backbone_is_exported(bases: dict[str, Path], tmp_path: Path, kind: str) -> None:
    network, vocabulary, _ = make_backbone(str(bases[kind]), ("S", "NP", "VP", "PP"))
    network.eval()
    export(tmp_path / "out", network, vocabulary, {})
    texts = ["I saw the fish", "you liked an apple on the mat"]
    assert_same(
        outputs(Generator(network, vocabulary), texts), outputs(Generator.from_pretrained(tmp_path / "out"), texts)
    )


def test_what_cannot_be_exported(subwords: Subwords, bases: dict[str, Path], tmp_path: Path) -> None:
    for changes in ({"copy": True}, {"slots": True}):
        with pytest.raises(ConfigError, match="without copying and slots; train with architecture=concat or seq2seq"):
            export(tmp_path / "out", random_model(subwords, 1, "concat", **changes), subwords, {})
    with pytest.raises(ConfigError, match="CTranslate2 holds only models with one encoder"):
        export(tmp_path / "out", random_model(subwords), subwords, {})
    network, vocabulary, _ = make_backbone(str(bases["gpt2"]), ("S", "NP", "VP", "PP"))
    with pytest.raises(BackboneError, match=r"cannot hold this backbone \(GPT2Config\)"):
        export(tmp_path / "out", network, vocabulary, {})
    assert not (tmp_path / "out").exists()
    export(tmp_path / "done", random_model(subwords, 1, "concat"), subwords, {})
    loaded = from_pretrained(tmp_path / "done")
    with pytest.raises(ConfigError, match="an export already"):
        export(tmp_path / "twice", loaded.network, loaded.subwords, {})
