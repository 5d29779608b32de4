from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from syntagma.errors import ConfigError
from syntagma.metrics import Bleu, IBleu, Segment, SelfBleu
from syntagma.metrics.bleu import common

CASES = [
    # hypothesis, references, BLEU
    ("the cat sat on the mat", ("the cat sat on the mat",), 100.0),
    ("the cat sat on the mat", ("the cat sat on a mat",), 53.7285),
    ("the the the the", ("the cat sat on the mat",), 11.5216),
    ("a b c", ("a b c",), 0.0),  # no order 4 at all: undefined, 0 as in sacrebleu
    ("x y z w", ("a b c d",), 0.0),
    ("", ("a b c d",), 0.0),
    ("a b c d", ("",), 0.0),
    ("a b c d e", ("a b c d", "a b c d e f"), 100.0),
]


def value(metric: Bleu, *segments: Segment) -> float:
    return metric.corpus(segments)[0].value


@pytest.mark.parametrize(("hyp", "refs", "expected"), CASES)
def test_bleu_of_one_segment(hyp: str, refs: tuple[str, ...], expected: float) -> None:
    assert value(Bleu(), Segment(hyp, refs)) == pytest.approx(expected, abs=1e-4)


words = st.lists(st.sampled_from("abcde"), max_size=12).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=5))
def test_equal_to_sacrebleu(rows: list[tuple[str, str, str]]) -> None:
    hyps, first, second = (list(column) for column in zip(*rows, strict=True))
    segments = [Segment(hyp, refs) for hyp, *refs in [(a, b, c) for a, b, c in rows] for refs in [tuple(refs)]]
    peer = BLEU(tokenize="none", force=True)
    assert value(Bleu(), *segments) == pytest.approx(peer.corpus_score(hyps, [first, second]).score, abs=1e-9)
    single = [Segment(a, (b,)) for a, b, _ in rows]
    assert value(Bleu(), *single) == pytest.approx(peer.corpus_score(hyps, [first]).score, abs=1e-9)


def test_segment_scores_are_sacrebleus_sentence_bleu(pairs: tuple[list[str], list[str]]) -> None:
    src, tgt = pairs
    metric, peer = Bleu(), BLEU(tokenize="none", force=True, effective_order=True)
    found = metric.segment_scores(metric.statistics([Segment(a, (b,)) for a, b in zip(src, tgt, strict=True)]))[:, 0]
    expected = [peer.sentence_score(a, [b]).score for a, b in zip(src, tgt, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("tokenize", ["13a", "intl", "char", "zh"])
def test_tokenisations_are_sacrebleus(tokenize: str) -> None:
    hyps, refs = ["Hello, world! It's 5.5 km.", "我爱你们。"], ["Hello world! It is 5.5km.", "我爱他们。"]
    segments = [Segment(a, (b,)) for a, b in zip(hyps, refs, strict=True)]
    assert value(Bleu(tokenize), *segments) == pytest.approx(BLEU(tokenize=tokenize).corpus_score(hyps, [refs]).score)


def test_case_counts_unless_told() -> None:
    segment = Segment("The Cat Sat Down", ("the cat sat down",))
    assert value(Bleu(), segment) == 0.0
    assert value(Bleu(lowercase=True), segment) == pytest.approx(100.0)


def test_self_bleu_is_bleu_against_the_source() -> None:
    segment = Segment("a b c d e", ("x",), src="a b c d f")
    assert value(SelfBleu(), segment) == pytest.approx(value(Bleu(), Segment("a b c d e", ("a b c d f",))))


@pytest.mark.parametrize("r", [0.0, 0.5, 0.7, 1.0])
def test_ibleu_combines_corpus_figures(r: float) -> None:
    segments = [Segment("a b c d e", ("a b c d f",), "a b x d e"), Segment("p q r s", ("p q r s",), "q p s r")]
    expected = r * value(Bleu(), *segments) - (1 - r) * value(SelfBleu(), *segments)
    assert value(IBleu(r), *segments) == pytest.approx(expected)
    assert f"r:{r}" in IBleu(r).signature()


@pytest.mark.parametrize("r", [-0.1, 1.1])
def test_ibleu_refuses_other_weights(r: float) -> None:
    with pytest.raises(ConfigError, match="from 0 to 1"):
        IBleu(r)


def test_unknown_tokenisation() -> None:
    with pytest.raises(ConfigError, match="13a"):
        Bleu("moses")


@pytest.mark.parametrize(
    ("grams", "others", "expected"),
    [
        ("aab", ["ab"], 2),
        ("aab", ["aab"], 3),
        ("ab", ["aab"], 2),
        ("aab", ["ab", "aac"], 3),
        ("", ["a"], 0),
        ("a", [], 0),
    ],
)
def test_common(grams: str, others: list[str], expected: int) -> None:
    assert common(grams, *others) == expected
