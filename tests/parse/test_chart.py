from __future__ import annotations

from functools import cache

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from syntagma.parse.chart import Scores, Spans, decode, span_index, span_number
from syntagma.parse.loss import IGNORED, margin_loss, to_chart

charts = st.integers(1, 6).flatmap(
    lambda size: arrays(np.float32, (2, size + 1, size + 1), elements=st.floats(-4, 4, width=16))
)


def brute_force(scores: Scores, length: int) -> tuple[float, list[Spans]]:
    """The best score of all binary trees, and all of these."""

    @cache
    def trees(start: int, end: int) -> list[Spans]:
        if end == start + 1:
            return [[(start, end)]]
        return [
            [(start, end), *left, *right]
            for split in range(start + 1, end)
            for left in trees(start, split)
            for right in trees(split, end)
        ]

    every = trees(0, length)
    return max(total(scores, tree) for tree in every), every


def total(scores: Scores, tree: Spans) -> float:
    return float(sum(scores[start, end] for start, end in tree))


@given(charts)
def test_the_best_of_all_trees_is_found(scores: Scores) -> None:
    size = scores.shape[1] - 1
    lengths = [size, max(1, size - 2)]
    for chart, length, found in zip(scores, lengths, decode(scores, lengths), strict=True):
        best, every = brute_force(chart, length)
        assert found in every
        assert np.isclose(total(chart, found), best, atol=1e-4)


@given(charts)
def test_a_sentence_is_decoded_alike_alone_and_in_a_batch(scores: Scores) -> None:
    size = scores.shape[1] - 1
    length = max(1, size - 1)
    together = decode(scores, [size, length])
    assert decode(scores[1:, : length + 1, : length + 1], [length]) == together[1:]


def test_spans_are_numbered_as_listed() -> None:
    starts, ends = span_index(7)
    assert [span_number(int(s), int(e), 7) for s, e in zip(starts, ends, strict=True)] == list(range(28))
    values = torch.arange(28.0)[None]
    assert to_chart(values, 7)[0, 2, 5] == values[0, span_number(2, 5, 7)]


def gold_of(spans: dict[tuple[int, int], int], size: int) -> torch.Tensor:
    gold = torch.zeros((1, size * (size + 1) // 2), dtype=torch.long)
    for (start, end), label in spans.items():
        gold[0, span_number(start, end, size)] = label
    return gold


def test_the_margin_loss_is_the_worst_violation() -> None:
    """Two words, one label: gold has the root only.  The worst tree also labels both words: two wrong spans."""
    scores = torch.zeros(1, 3, 2, requires_grad=True)
    gold = gold_of({(0, 2): 1}, 2)
    loss = margin_loss(scores, gold, [2])
    assert loss.item() == 2.0
    loss.backward()
    assert scores.grad is not None
    assert scores.grad[0, :, 1].tolist() == [1.0, 0.0, 1.0]  # the root is in both trees


def test_the_margin_loss_is_zero_where_the_gold_tree_leads_by_enough() -> None:
    gold = gold_of({(0, 3): 1, (1, 3): 2}, 3)
    scores = torch.full((1, 6, 3), -5.0)
    scores[:, :, 0] = 0.0
    scores[0, span_number(0, 3, 3), 1] = 5.0
    scores[0, span_number(1, 3, 3), 2] = 5.0
    assert margin_loss(scores, gold, [3]).item() == 0.0
    assert margin_loss(-scores, gold, [3]).item() > 10.0


@given(st.integers(0, 10_000))
def test_padding_does_not_change_the_margin_loss(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    small = torch.randn(1, 6, 3, generator=generator)
    small[:, :, 0] = 0.0
    gold = gold_of({(0, 3): 1, (0, 2): 2}, 3)
    wide, wide_gold = torch.randn(2, 15, 3, generator=generator), torch.full((2, 15), IGNORED)
    wide[:, :, 0] = 0.0
    for start in range(3):
        for end in range(start + 1, 4):
            wide[0, span_number(start, end, 5)] = small[0, span_number(start, end, 3)]
            wide_gold[0, span_number(start, end, 5)] = gold[0, span_number(start, end, 3)]
    wide_gold[1] = gold_of({(0, 5): 1}, 5)
    alone = margin_loss(small, gold, [3]) + margin_loss(wide[1:], wide_gold[1:], [5])
    assert torch.allclose(margin_loss(wide, wide_gold, [3, 5]), alone, atol=1e-5)
