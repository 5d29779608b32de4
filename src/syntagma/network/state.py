"""Where a decoder stands in many infills at once.

A row is one hypothesis.  Rows may be at different lengths, belong to different sources and contexts, leave (`select`),
change places (`reorder`) and be joined by others (`join`): search keeps all that is alive in one state.

What rows only read, the keys and values of their source and their context, is not copied for each row: a `Shelf` keeps
one place for each source or context, and the rows that look at the same place ask together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from syntagma.network.config import ModelConfig
from syntagma.network.layers import FORBIDDEN, Memory

_GROWTH = 4
_FULL_ENOUGH = 0.7


@dataclass(frozen=True)
class Shelf:
    """Memories [P, H, M, D] of each decoder layer, what of them may be seen [P, 1, 1, M], and each row's place [N].

    `seats` [N] lays the rows out as [P, most rows at one place], so that one attention serves a whole place.  Where
    all seats are taken and in order (`full`), that is a view of the rows.
    """

    memories: tuple[Memory, ...]
    mask: Tensor
    places: Tensor
    seats: Tensor
    most: int
    full: bool

    @staticmethod
    def of(memories: tuple[Memory, ...], mask: Tensor, places: Tensor) -> Shelf:
        """A shelf for rows that look at `places` [N]."""
        counts = torch.bincount(places, minlength=len(mask))
        order = torch.argsort(places, stable=True)
        ranks = torch.empty_like(places)
        ranks[order] = torch.arange(len(places), device=places.device) - (counts.cumsum(0) - counts)[places[order]]
        most = int(counts.max())
        seats = places * most + ranks
        full = len(seats) == most * len(mask) and bool((seats[1:] > seats[:-1]).all())
        return Shelf(memories, mask, places, seats, most, full)

    def seated(self, rows: Tensor) -> Tensor:
        """Values of rows [N, ...] as [P, most, ...]; zeros where no row sits."""
        size = len(self.mask)
        if self.full:
            return rows.view(size, self.most, *rows.shape[1:])
        laid = rows.new_zeros(size * self.most, *rows.shape[1:])
        laid.index_copy_(0, self.seats, rows)
        return laid.view(size, self.most, *rows.shape[1:])

    def risen(self, laid: Tensor) -> Tensor:
        """The rows [N, ...] again from [P, most, ...]."""
        rows = laid.reshape(-1, *laid.shape[2:])
        return rows if self.full else rows.index_select(0, self.seats)

    def repeated(self, count: int) -> Shelf:
        """For rows that each look so many times, one after the other."""
        return self if count == 1 else Shelf.of(self.memories, self.mask, self.places.repeat_interleave(count))

    def select(self, rows: Tensor, also: Callable[[Tensor], None] | None = None) -> Shelf:
        """For those rows; places that nobody looks at any more go when they are many, and `also` hears which stay."""
        places = self.places[rows]
        used = torch.unique(places)
        if len(used) > _FULL_ENOUGH * len(self.mask):
            return Shelf.of(self.memories, self.mask, places)
        if also is not None:
            also(used)
        moved = torch.searchsorted(used, places)
        return Shelf.of(tuple(memory.select(used) for memory in self.memories), self.mask[used], moved)

    @staticmethod
    def join(shelves: Sequence[Shelf]) -> Shelf:
        """One shelf with the places and rows of all."""
        starts = [0]
        for shelf in shelves:
            starts.append(starts[-1] + len(shelf.mask))
        return Shelf.of(
            join_memories([shelf.memories for shelf in shelves]),
            join_padded([shelf.mask for shelf in shelves], 3, FORBIDDEN),
            torch.cat([shelf.places + start for shelf, start in zip(shelves, starts, strict=False)]),
        )


@dataclass
class DecoderState:
    """What every row attends to, and the keys and values of what it has written: [N, H, *, D] for each layer."""

    config: ModelConfig
    sources: Shelf
    contexts: Shelf | None
    source_ids: Tensor
    """Of each place on the shelf of sources, [P, S]."""
    copy_keys: Tensor | None
    """Likewise, [P, S, W]."""
    keys: list[Tensor]
    values: list[Tensor]
    lengths: Tensor
    parts: Tensor

    @staticmethod
    def begin(
        config: ModelConfig, sources: Shelf, contexts: Shelf | None, source_ids: Tensor, copy_keys: Tensor | None
    ) -> DecoderState:
        """Before the first token."""
        shape = sources.memories[0].keys
        rows = len(sources.places)
        empty = [shape.new_zeros(rows, shape.shape[1], _GROWTH, shape.shape[3]) for _ in sources.memories]
        zeros = torch.zeros(rows, dtype=torch.long, device=source_ids.device)
        return DecoderState(
            config, sources, contexts, source_ids, copy_keys,
            empty, [keys.clone() for keys in empty], zeros, zeros.clone(),
        )  # fmt: skip

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.lengths)

    def count_parts(self, tokens: Tensor) -> Tensor:
        """The part [N, K] that each row is in, now that it reads `tokens` [N, K]."""
        parts = self.parts[:, None] + (tokens == self.config.part).cumsum(dim=1)
        self.parts = parts[:, -1]
        return parts.clamp(max=self.config.max_slots - 1)

    def next_places(self, count: int) -> Tensor:
        """Where so many new tokens stand in their rows, [N, K]."""
        return self.lengths[:, None] + torch.arange(count, device=self.lengths.device)

    def self_mask(self, places: Tensor) -> Tensor:
        """What each row's new tokens at `places` [N, K] may see of its cache, themselves included: [N, 1, K, T]."""
        size = int(places.max()) + 1
        while self.keys[0].shape[2] < size:
            self.keys = [F.pad(keys, (0, 0, 0, _GROWTH)) for keys in self.keys]
            self.values = [F.pad(values, (0, 0, 0, _GROWTH)) for values in self.values]
        seen = torch.arange(size, device=places.device) <= places[:, :, None]
        mask = torch.zeros(seen.shape, device=seen.device).masked_fill_(~seen, FORBIDDEN)
        return mask[:, None]

    def remember(self, layer: int, fresh: Memory, places: Tensor) -> Memory:
        """Put keys and values [N, H, K, D] of new tokens into the cache at `places` [N, K]; all that was written."""
        keys, values, size = self.keys[layer], self.values[layer], int(places.max()) + 1
        first = size - places.shape[1]
        if int(self.lengths.min()) == first:  # all rows are equally long
            keys[:, :, first:size], values[:, :, first:size] = fresh
        else:
            rows = torch.arange(len(self), device=places.device)[:, None]
            keys[rows, :, places] = fresh.keys.transpose(1, 2)
            values[rows, :, places] = fresh.values.transpose(1, 2)
        return Memory(keys[:, :, :size], values[:, :, :size])

    def reorder(self, rows: Tensor) -> None:
        """Row i goes on from where row `rows[i]` was; both must have the same source and context."""
        self.lengths = self.lengths[rows]
        self.parts = self.parts[rows]
        size = -(-int(self.lengths.max()) // _GROWTH) * _GROWTH  # the longest row may have left
        self.keys = [keys[:, :, :size].index_select(0, rows) for keys in self.keys]
        self.values = [values[:, :, :size].index_select(0, rows) for values in self.values]

    def select(self, rows: Tensor) -> DecoderState:
        """A state of those rows, which may repeat."""
        made = replace(self)
        made.reorder(rows)

        def keep(places: Tensor) -> None:
            made.source_ids = self.source_ids[places]
            made.copy_keys = None if self.copy_keys is None else self.copy_keys[places]

        made.sources = self.sources.select(rows, keep)
        made.contexts = None if self.contexts is None else self.contexts.select(rows)
        return made

    @staticmethod
    def join(states: Sequence[DecoderState]) -> DecoderState:
        """One state with the rows of all."""
        if len(states) == 1:
            return states[0]
        first = states[0]
        contexts = [state.contexts for state in states if state.contexts is not None]
        copies = [state.copy_keys for state in states if state.copy_keys is not None]
        return DecoderState(
            first.config,
            Shelf.join([state.sources for state in states]),
            Shelf.join(contexts) if contexts else None,
            join_padded([state.source_ids for state in states], 1, first.config.pad),
            join_padded(copies, 1) if copies else None,
            [join_padded(list(layer), 2) for layer in zip(*(state.keys for state in states), strict=True)],
            [join_padded(list(layer), 2) for layer in zip(*(state.values for state in states), strict=True)],
            torch.cat([state.lengths for state in states]),
            torch.cat([state.parts for state in states]),
        )


def join_memories(rows: Sequence[tuple[Memory, ...]]) -> tuple[Memory, ...]:
    """Each layer's memories of all rows, padded to the longest."""
    return tuple(
        Memory(join_padded([memory.keys for memory in layer], 2), join_padded([memory.values for memory in layer], 2))
        for layer in zip(*rows, strict=True)
    )


def join_padded(tensors: Sequence[Tensor], dimension: int, value: float = 0.0) -> Tensor:
    """Rows of all tensors, each filled up with `value` to the greatest size along `dimension`."""
    size = max(tensor.shape[dimension] for tensor in tensors)
    filled = []
    for tensor in tensors:
        missing = size - tensor.shape[dimension]
        after = [0] * (2 * (tensor.dim() - 1 - dimension))
        filled.append(F.pad(tensor, [*after, 0, missing], value=value) if missing else tensor)
    return torch.cat(filled)
