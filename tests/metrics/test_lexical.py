from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from syntagma.metrics import ChrF, CopyRate, DLex, LengthRatio, Segment, lexical_distance

texts = st.text("abc é", max_size=15)


@given(texts, texts)
def test_distance_is_that_of_bags(a: str, b: str) -> None:
    shared = (Counter(a) & Counter(b)).total()
    expected = 1 - 2 * shared / (len(a) + len(b)) if a or b else 0.0
    assert lexical_distance(a, b) == pytest.approx(expected)
    assert lexical_distance(a, b) == lexical_distance(b, a)


@pytest.mark.parametrize(
    ("hyp", "src", "expected"),
    [("a b", "a b", 0.0), ("ab", "ba", 0.0), ("a b", "ab", 20.0), ("", "a", 100.0), ("", "", 0.0)],
)
def test_d_lex_counts_spaces_and_empty_texts(hyp: str, src: str, expected: float) -> None:
    assert DLex().corpus([Segment(hyp, src=src)])[0].value == pytest.approx(expected)


def test_copy_rate() -> None:
    segments = [Segment("a b", src="a  b"), Segment("A b", src="a b"), Segment("b", src="a"), Segment("", src="")]
    assert CopyRate().corpus(segments)[0].value == 50.0


@pytest.mark.parametrize(
    ("hyp", "refs", "expected"),
    [("a b", ("a b c d",), 50.0), ("a b", ("a b c d", "x y z"), 200 / 3), ("a", ("",), 0.0), ("", ("a",), 0.0)],
)
def test_length_ratio(hyp: str, refs: tuple[str, ...], expected: float) -> None:
    assert LengthRatio().corpus([Segment(hyp, refs)])[0].value == pytest.approx(expected)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=4))
def test_chrf_is_sacrebleus(rows: list[tuple[str, str, str]]) -> None:
    hyps, first, second = (list(column) for column in zip(*rows, strict=True))
    peer = CHRF()
    several = [Segment(a, (b, c)) for a, b, c in rows]
    assert ChrF().corpus(several)[0].value == pytest.approx(peer.corpus_score(hyps, [first, second]).score, abs=1e-9)
    single = [Segment(a, (b,)) for a, b, _ in rows]
    assert ChrF().corpus(single)[0].value == pytest.approx(peer.corpus_score(hyps, [first]).score, abs=1e-9)
