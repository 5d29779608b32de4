"""Examples into batches: a budget of tokens, like lengths together, an order that (seed, epoch) decides, and padding.

>>> batches = Batches(np.array([3, 9, 3, 4, 8]), budget=18, seed=1)
>>> sorted(sorted(batch) for batch in batches.epoch(0))
[[0, 2, 3], [1, 4]]
>>> [place for place, _ in zip((where for where, _ in batches.forever(epoch=4, position=1)), range(3))]
[(4, 1), (5, 0), (5, 1)]
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = "npt.NDArray[np.int64]"


class Batches:
    """Lists of example numbers; every example is in exactly one batch of an epoch.

    `lengths` is (n), or (n, k) where an example has several sequences, such as its source and its levels.  A batch
    costs its number of examples times the sum of the longest of each kind: its tokens with the padding.  Batches cost
    at most `budget` and have at most `most` examples; an example that alone costs more is a batch of its own.
    """

    def __init__(self, lengths: npt.ArrayLike, budget: int, seed: int, most: int | None = None) -> None:
        table = np.asarray(lengths, np.int32)
        self.lengths = table[:, None] if table.ndim == 1 else table
        self.budget = budget
        self.seed = seed
        self.most = most or len(table)
        if budget < 1 or self.most < 0:
            raise ValueError("a batch has room for one token at least")

    def __len__(self) -> int:
        """The number of batches, the same in every epoch."""
        return len(self._bounds) - 1

    def epoch(self, epoch: int, position: int = 0) -> Iterator[list[int]]:
        """The batches of one epoch, from `position` on."""
        draw = np.random.Generator(np.random.PCG64([self.seed, epoch]))
        chance = draw.permutation(len(self.lengths))
        order = chance[np.lexsort(self._columns(chance))]  # by length; among equals as chance has it
        turn = draw.permutation(len(self))
        for number in turn[position:]:
            yield order[self._bounds[number] : self._bounds[number + 1]].tolist()

    def forever(self, epoch: int = 0, position: int = 0) -> Iterator[tuple[tuple[int, int], list[int]]]:
        """Batches, epoch after epoch, each with its (epoch, position): what a checkpoint keeps to go on there."""
        while len(self):
            for number, batch in enumerate(self.epoch(epoch, position), position):
                yield (epoch, number), batch
            epoch, position = epoch + 1, 0

    def _columns(self, order: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.integer], ...]:
        """The sort keys, the last the first to count: the sum of an example's lengths, then each of them."""
        rows = self.lengths[order]
        return (*rows.T, rows.sum(axis=1))

    @cached_property
    def _bounds(self) -> list[int]:
        """Where batches begin and end among the examples sorted by length: the same in every epoch."""
        rows = self.lengths[np.lexsort(self._columns(np.arange(len(self.lengths))))]
        bounds = [0]
        while bounds[-1] < len(rows):
            start = bounds[-1]
            room = max(1, min(self.most, self.budget // max(1, int(rows[start].sum()))))  # as if none were longer
            longest = np.maximum.accumulate(rows[start : start + room], axis=0).sum(axis=1, dtype=np.int64)
            costs = longest * np.arange(1, len(longest) + 1)
            bounds.append(start + max(1, int(np.searchsorted(costs, self.budget, side="right"))))
        return bounds
