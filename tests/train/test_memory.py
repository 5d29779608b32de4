"""What is held for each pair of a corpus larger than memory: planning batches, counting sources, knowing pairs seen."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import pytest

from syntagma.corpus.batches import Batches
from syntagma.corpus.hashing import KeySet
from syntagma.corpus.store import Split
from syntagma.train.distillation import _Sources

FEW, MANY = 20_000, 60_000


class Sources:
    """A split with different sources that are made when they are asked for."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def sources(self) -> Iterator[str]:
        return (f"source {number}" for number in range(self.count))


def plan(pairs: int) -> object:
    lengths = np.random.default_rng(1).integers(5, 60, (pairs, 3), np.int32)
    return next(Batches(lengths, 8000, seed=1).epoch(0))


def count(pairs: int) -> object:
    return _Sources.of(cast(Split, Sources(pairs)), None, 1)


def remember(pairs: int) -> object:
    seen = KeySet()
    for start in range(0, pairs, 5000):
        seen.add(np.arange(start, start + 5000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    return seen


def peak(work: Callable[[int], Any], pairs: int) -> int:
    tracemalloc.start()
    try:
        work(pairs)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("work", "most"), [(plan, 110), (count, 90), (remember, 20)])
def test_a_pair_takes_a_few_bytes(work: Callable[[int], Any], most: int) -> None:
    grown = peak(work, MANY) - peak(work, FEW)
    assert grown / (MANY - FEW) < most
