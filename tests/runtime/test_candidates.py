"""The best of many scores, whatever their number, with equal ones among them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntagma.network.config import ModelConfig
from syntagma.runtime.base import Draw, Mask, WordSet
from syntagma.runtime.candidates import Selector, best, draw_tokens


@given(
    rows=st.integers(1, 12), size=st.sampled_from([3, 50, 4096, 5000, 8000, 8191]), k=st.integers(0, 12),
    levels=st.sampled_from([2, 30, 1 << 30]), gone=st.sampled_from([0.0, 0.5, 1.0]), seed=st.integers(0, 999),
)  # fmt: skip
def test_the_best_come_first_and_lower_ids_before_higher(
    rows: int, size: int, k: int, levels: int, gone: float, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    scores = chance.integers(0, levels, (rows, size)).astype(np.float32)
    scores[chance.random((rows, size)) < gone] = -np.inf
    found = best(scores, k)
    for row, columns in zip(scores, found, strict=True):
        wanted = np.argsort(-row, kind="stable")[:k]
        possible = row[wanted] > -np.inf
        assert columns[: possible.sum()].tolist() == wanted[possible].tolist()
        assert len(set(columns.tolist())) == min(k, size)


@pytest.mark.parametrize("size", [5, 7900])
def test_words_of_any_number(size: int) -> None:
    config = ModelConfig(8000, labels=(5, 6))
    chance = np.random.default_rng(0)
    scores = chance.random((4, 8000)).astype(np.float32)
    words = WordSet(np.sort(chance.choice(np.arange(7, 8000), size, replace=False)))
    expected = scores[2].copy()
    controls = np.zeros((4, 4), np.bool_)
    mask = Mask(controls, [None, words, words, None])
    found = Selector(config).select(scores, None, mask, 4)
    order = words.ids[np.argsort(-expected[words.ids])][:4]
    assert found.tokens[2].tolist() == order.tolist()
    assert found.scores[2].tolist() == expected[order].tolist()
    assert not set(found.tokens[0]) & set(range(7))


def test_ids_that_stand_in_sources_only_are_never_written() -> None:
    scores = np.zeros((1, 20), np.float32)
    pairs = np.array([[0, 12], [0, 25]])
    mask = Mask(np.zeros((1, 4), np.bool_), [WordSet(np.arange(10, 30))], pairs[1:], pairs)
    found = Selector(ModelConfig(30, labels=(5, 6), outputs=20)).select(scores, None, mask, 3)
    assert found.tokens.tolist() == [[10, 11, 12]]
    assert found.asked.tolist() == [0.0, -np.inf]


def test_draws_reach_beyond_the_likeliest() -> None:
    scores = np.zeros((3, 5000), np.float32)  # all alike, so a draw falls where its number says
    draw = Draw(np.array([0.0, 0.5001, 0.99999]))
    assert draw_tokens(scores, draw)[:, 0].tolist() == [0, 2500, 4999]
    half = Draw(np.array([0.0, 0.5001, 0.9001]), top_p=0.4999)
    assert draw_tokens(scores, half)[:, 0].tolist() == [0, 1250, 2250]
    assert draw_tokens(np.full((1, 9), -np.inf, np.float32), Draw(np.array([0.5]))).tolist() == [[0]]
