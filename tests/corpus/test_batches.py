from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntagma.corpus.batches import Batches

LENGTHS = st.integers(1, 3).flatmap(lambda k: st.lists(st.tuples(*[st.integers(1, 40)] * k), max_size=60))


@given(LENGTHS, st.integers(1, 300), st.integers(0, 5), st.integers(0, 4), st.none() | st.integers(1, 9))
def test_every_example_once_an_epoch_within_the_budget(
    lengths: list[tuple[int, ...]], budget: int, seed: int, epoch: int, most: int | None
) -> None:
    batches = Batches(lengths, budget, seed, most)
    found = list(batches.epoch(epoch))
    assert len(found) == len(batches)
    assert sorted(at for batch in found for at in batch) == list(range(len(lengths)))
    for batch in found:
        cost = len(batch) * sum(max(column) for column in zip(*(lengths[at] for at in batch), strict=True))
        assert len(batch) == 1 or (cost <= budget and len(batch) <= (most or cost))
    assert found == list(Batches(lengths, budget, seed, most).epoch(epoch))
    for position in (0, 1, len(found) // 2):
        assert list(batches.epoch(epoch, position)) == found[position:]


def test_epochs_and_seeds_differ() -> None:
    lengths = np.random.default_rng(1).integers(3, 30, 500)
    batches = Batches(lengths, 200, 1)
    first, second = list(batches.epoch(0)), list(batches.epoch(1))
    assert first != second
    assert sorted(map(sorted, first)) != sorted(map(sorted, second))
    assert first != list(Batches(lengths, 200, 2).epoch(0))


def test_resuming_gives_the_rest_of_an_unbroken_run() -> None:
    batches = Batches(np.arange(1, 40), 60, 3)
    unbroken = list(islice(batches.forever(), 70))
    for stop in (1, 17, 44):
        epoch, position = unbroken[stop][0]
        rest = list(islice(batches.forever(epoch, position), 70 - stop))
        assert rest == unbroken[stop:]
    assert list(Batches([], 5, 1).forever()) == []


def test_padding_is_small() -> None:
    lengths = np.random.default_rng(1).poisson(12, 5000) + 1
    batches = Batches(lengths, 2000, 1)
    padded = sum(len(batch) * lengths[batch].max() for batch in batches.epoch(0))
    assert lengths.sum() / padded > 0.95


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="room for one token"):
        Batches([1], 0, 1)
