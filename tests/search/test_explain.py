from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from search_models import TEXTS, random_generator, random_model
from syntagma.errors import ConfigError
from syntagma.network.storage import save_pretrained
from syntagma.runtime.onnx import OnnxRuntime
from syntagma.runtime.torch import TorchRuntime
from syntagma.search import Generator
from syntagma.search.explain import explain
from syntagma.text import Subwords, split
from syntagma.tree import Tree

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)


@pytest.mark.parametrize("seed", range(3))
def test_the_shares_add_up_to_the_scores(seed: int) -> None:
    generator = random_generator(SUBWORDS, seed, beam=3)
    explanation = explain(generator, TEXTS[0])
    best = explanation.outputs[0]
    assert best.text == generator(TEXTS[0])[0].text
    for level, shares in zip(best.trace, explanation.shares, strict=True):
        assert sum(share.score for share in shares) == pytest.approx(level.infill_score, abs=1e-3)
    assert len(explanation.depths) >= len(best.trace)
    for depth in explanation.depths:
        assert sum(node.winner for node in depth) == 1
        assert all(node.score <= depth[0].score for node in depth if not node.kept)
    json.dumps(explanation.to_dict())


def test_the_page_is_self_contained_and_escapes() -> None:
    generator = random_generator(SUBWORDS, 1, beam=2)
    explanation = explain(generator, "<script>alert(1)</script> & more")
    page = explanation.to_html()
    tags = _Tags()
    tags.feed(page)
    assert "script" not in tags.seen
    assert "&lt;script&gt;" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    ElementTree.fromstring(explanation.beam_svg())
    assert "TOP" not in page  # the root has one name
    assert "&lt;T&gt;" in explanation.beam_svg()


def test_a_start_without_labels_has_nothing_to_explain_but_itself() -> None:
    generator = random_generator(SUBWORDS, 1, beam=2)
    start = generator.steering(start="He left .")
    explanation = explain(generator, TEXTS[0], start)
    assert explanation.outputs[0].trace == ()
    assert "Level by level" not in explanation.to_html()
    assert "He left" in explanation.beam_svg()


def test_a_baseline_cannot_be_explained() -> None:
    with pytest.raises(ConfigError, match="no structure"):
        explain(Generator(TorchRuntime(random_model(SUBWORDS, 1, "seq2seq")), SUBWORDS), "x")


def test_the_search_runs_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`explain=` prints what the explained search found, and asks the network for nothing more."""
    from syntagma.cli.generate import generate

    save_pretrained(tmp_path / "model", random_model(SUBWORDS, 4), SUBWORDS, "# Random\n")
    steps = []
    step = OnnxRuntime.step

    def counted(self: OnnxRuntime, *given: Any) -> Any:
        steps.append(len(given[1]))
        return step(self, *given)

    monkeypatch.setattr(OnnxRuntime, "step", counted)
    model = str(tmp_path / "model")
    generate(model, [TEXTS[0], "max_depth=4"], beam=2)
    plain, first = len(steps), capsys.readouterr().out
    generate(model, [TEXTS[0], "max_depth=4", f"explain={tmp_path / 'why.html'}"], beam=2)
    assert len(steps) == 2 * plain > 0
    assert capsys.readouterr().out == first
    assert "<h2>Level by level</h2>" in (tmp_path / "why.html").read_text()


def test_the_parser_of_exemplars_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from syntagma.search import steering as module

    loaded = []

    class OneTree:
        def parse(self, texts: list[list[str]]) -> list[Tree]:
            return [Tree.read("(TOP (S (NP I) (VP nod)))")]

    monkeypatch.setattr("syntagma.parse.load_parser", lambda name: loaded.append(name) or OneTree())
    module.exemplar_parser.cache_clear()
    model = random_generator(SUBWORDS)
    for _ in range(3):
        assert str(model.steering(exemplar="I nod.").template) == "(S (NP) (VP))"
    assert loaded == ["neural"]
    module.exemplar_parser.cache_clear()
