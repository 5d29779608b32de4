from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

from search_models import TEXTS, random_generator, random_model
from syntagma.errors import ConfigError
from syntagma.runtime.torch import TorchRuntime
from syntagma.search import Generator
from syntagma.search.explain import explain
from syntagma.text import Subwords, split

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


def test_a_baseline_cannot_be_explained() -> None:
    with pytest.raises(ConfigError, match="no structure"):
        explain(Generator(TorchRuntime(random_model(SUBWORDS, 1, "seq2seq")), SUBWORDS), "x")
