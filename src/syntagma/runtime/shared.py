"""Arrays that many rows read and none changes: keys and values of sources and contexts, each once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from syntagma.runtime.base import BoolArray, IdArray, ScoreArray

FORBIDDEN = np.float32(-1e9)
_FULL_ENOUGH = 0.7

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class EncodedSource:
    """A source [S] with its keys and values [H, S, D] for each decoder layer, and its copy keys [S, W], by name."""

    ids: IdArray
    arrays: Mapping[str, ScoreArray]


@dataclass(frozen=True, eq=False)
class Stack:
    """Arrays [P, ..., M, D] of P sources or contexts by name, where they are padding [P, M], and whose they are."""

    arrays: Mapping[str, Array]
    padding: BoolArray
    owners: tuple[Any, ...]
    values: dict[str, Any] = field(default_factory=dict, repr=False)
    """What a runtime has made of the arrays."""

    def __len__(self) -> int:
        return len(self.padding)

    @cached_property
    def mask(self) -> ScoreArray:
        """The mask of attention to them, [P, 1, 1, M]."""
        return np.where(self.padding, FORBIDDEN, np.float32(0))[:, None, None]

    @cached_property
    def ids(self) -> IdArray:
        """The ids of sources [P, M]; at padding any id will do."""
        table = np.zeros(self.padding.shape, np.int64)
        for number, source in enumerate(self.owners):
            table[number, : len(source.ids)] = source.ids
        return table

    @staticmethod
    def of_sources(sources: Sequence[EncodedSource]) -> Stack:
        """Sources encoded apart as one stack."""
        sizes = np.array([len(source.ids) for source in sources])
        longest = int(sizes.max(initial=0))
        padding = np.arange(longest) >= sizes[:, None]
        names = sources[0].arrays if sources else ()
        arrays = {name: join_padded([source.arrays[name][None] for source in sources], longest, -2) for name in names}
        return Stack(arrays, padding, tuple(sources))

    @staticmethod
    def join(stacks: Sequence[Stack]) -> Stack:
        """Those of all stacks, one after the other."""
        longest = max(stack.padding.shape[1] for stack in stacks)
        arrays = {name: join_padded([stack.arrays[name] for stack in stacks], longest, -2) for name in stacks[0].arrays}
        padding = join_padded([stack.padding for stack in stacks], longest, -1, True)
        return Stack(arrays, padding, tuple(owner for stack in stacks for owner in stack.owners))

    def take(self, used: IdArray) -> Stack:
        """Those places [U] only."""
        longest = int(np.count_nonzero(~self.padding[used], axis=1).max())
        arrays = {name: np.ascontiguousarray(array[used, ..., :longest, :]) for name, array in self.arrays.items()}
        return Stack(arrays, self.padding[used, :longest], tuple(self.owners[number] for number in used))


@dataclass(frozen=True, eq=False)
class SharedStack:
    """A stack, and the place [N] in it that each row looks at."""

    stack: Stack
    places: IdArray
    values: dict[str, Any] = field(default_factory=dict, repr=False)
    """What a runtime has made of the seats."""

    @cached_property
    def seats(self) -> tuple[IdArray, IdArray]:
        """Rows laid out by their place: the row at each seat [P, most], and each row's seat [N] among P * most.

        Where no row sits, the first row stands in.
        """
        counts = np.bincount(self.places, minlength=len(self.stack))
        order = np.argsort(self.places, kind="stable")
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order)) - (np.cumsum(counts) - counts)[self.places[order]]
        most = int(counts.max())
        seats = self.places * most + ranks
        layout = np.zeros(len(self.stack) * most, np.int64)
        layout[seats] = np.arange(len(seats))
        return layout.reshape(-1, most), seats

    def select(self, rows: IdArray) -> SharedStack:
        """For those rows [N]; places that nobody looks at any more go when they are many."""
        places = self.places[rows]
        if np.array_equal(places, self.places):
            return self
        used = np.flatnonzero(np.bincount(places, minlength=len(self.stack)))
        if not len(used) or len(used) > _FULL_ENOUGH * len(self.stack):
            return SharedStack(self.stack, places)
        return SharedStack(self.stack.take(used), np.searchsorted(used, places))

    @staticmethod
    def join(stacks: Sequence[SharedStack]) -> SharedStack:
        """One stack with the places and rows of all."""
        starts = np.cumsum([0, *(len(shared.stack) for shared in stacks)])
        places = [shared.places + start for shared, start in zip(stacks, starts, strict=False)]
        return SharedStack(Stack.join([shared.stack for shared in stacks]), np.concatenate(places))

    @staticmethod
    def of_sources(sources: Sequence[EncodedSource]) -> SharedStack:
        """A stack for rows with those sources, of which each stands on it once."""
        numbers = {source: number for number, source in enumerate(dict.fromkeys(sources))}
        return SharedStack(Stack.of_sources(list(numbers)), np.array([numbers[source] for source in sources], np.int64))

    @staticmethod
    def join_sources(stacks: Sequence[SharedStack]) -> SharedStack:
        """One stack with the rows of all, where the stacks may have sources in common."""
        largest = max((shared.stack for shared in stacks), key=len)
        numbers = {owner: number for number, owner in enumerate(largest.owners)}
        for shared in stacks:
            for owner in shared.stack.owners:
                numbers.setdefault(owner, len(numbers))
        new = list(numbers)[len(largest) :]
        stack = Stack.join([largest, Stack.of_sources(new)]) if new else largest
        places = [
            np.array([numbers[owner] for owner in shared.stack.owners], np.int64)[shared.places] for shared in stacks
        ]
        return SharedStack(stack, np.concatenate(places))


def join_padded(arrays: Sequence[Array], size: int, axis: int, value: Any = 0, *, left: bool = False) -> Array:
    """Rows of all arrays, each filled up with `value` to that size along a negative axis, on the right or the left."""
    shape = list(arrays[0].shape)
    shape[0], shape[axis] = sum(len(array) for array in arrays), size
    joined = np.full(shape, value, arrays[0].dtype) if value else np.zeros(shape, arrays[0].dtype)
    start = 0
    for array in arrays:
        used = slice(size - array.shape[axis], size) if left else slice(0, array.shape[axis])
        rows = joined[start : start + len(array)]
        rows.swapaxes(0, axis)[used] = array.swapaxes(0, axis)
        start += len(array)
    return joined


def pad_ids(rows: Sequence[Sequence[int] | IdArray], value: int = 0) -> IdArray:
    """Rows of ids [B, longest], shorter ones filled up with `value`."""
    table = np.full((len(rows), max(map(len, rows), default=0)), value, np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table
