"""Where a decoder stands in many infills at once.

A row is one partial infill.  Rows may be at different lengths, belong to different sources and contexts, go on, repeat,
leave (`select`) and be joined by others (`join`): a search keeps all that is alive in one state.

What rows only read, the keys and values of their source and their context, is not copied for each row: `SharedKV` keeps
them once for each source or context, and the rows that read the same ones attend together.

What a step must know beforehand (lengths, which row reads what) stands on the host, so that no step waits for the
device; what the device needs of it comes as one `Feed`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

from syntagma.network.config import ModelConfig
from syntagma.network.layers import FORBIDDEN, AttentionBlock, KeyValue

IntArray = npt.NDArray[np.int64]

_GROWTH = 4
_FULL_ENOUGH = 0.7


@dataclass(frozen=True)
class SharedKV:
    """Keys and values [P, H, M, D] of each decoder layer, what of them may be seen [P, 1, 1, M], and which of the P
    each row reads, `places` [N].

    `seats` [N] lays the rows out as [P, most rows at one place], so that one attention serves a whole place.  Where
    all seats are taken and in order (`full`), that is a view of the rows.
    """

    layers: tuple[KeyValue, ...]
    mask: Tensor
    places: IntArray
    seats: IntArray
    most: int
    full: bool

    @staticmethod
    def of(layers: tuple[KeyValue, ...], mask: Tensor, places: IntArray) -> SharedKV:
        """For rows that read `places` [N]."""
        counts = np.bincount(places, minlength=len(mask))
        order = np.argsort(places, kind="stable")
        ranks = np.empty_like(places)
        ranks[order] = np.arange(len(places)) - (counts.cumsum() - counts)[places[order]]
        most = int(counts.max())
        seats = places * most + ranks
        full = len(seats) == most * len(mask) and bool((seats[1:] > seats[:-1]).all())
        return SharedKV(layers, mask, places, seats, most, full)

    def pack(self, rows: Tensor, seats: Tensor) -> Tensor:
        """Values of rows [N, L, ...] as [P, most * L, ...]; zeros where no row sits."""
        size, inner = len(self.mask), rows.shape[1]
        if not self.full:
            packed = rows.new_zeros(size * self.most, *rows.shape[1:])
            rows = packed.index_copy_(0, seats, rows)
        return rows.reshape(size, self.most * inner, *rows.shape[2:])

    def unpack(self, packed: Tensor, seats: Tensor, inner: int) -> Tensor:
        """The rows [N, L, ...] again from [P, most * L, ...], L being `inner`."""
        rows = packed.reshape(len(self.mask) * self.most, inner, *packed.shape[2:])
        return rows if self.full else rows.index_select(0, seats)

    def seated(self, layer: int, seats: Tensor) -> SeatedKV:
        """One decoder layer's view of what it attends to."""
        return SeatedKV(self, layer, seats)

    def select(self, rows: IntArray, also: Callable[[Tensor], None] | None = None) -> SharedKV:
        """For those rows; places that no row reads any more go when they are many, and `also` hears which stay."""
        places = self.places[rows]
        if len(places) == len(self.places) and np.array_equal(places, self.places):
            return self
        used = np.unique(places)
        if len(used) > _FULL_ENOUGH * len(self.mask):
            return SharedKV.of(self.layers, self.mask, places)
        kept = torch.from_numpy(used).to(self.mask.device)
        if also is not None:
            also(kept)
        moved = np.searchsorted(used, places)
        return SharedKV.of(tuple(layer.select(kept) for layer in self.layers), self.mask[kept], moved)

    @staticmethod
    def join(several: Sequence[SharedKV]) -> SharedKV:
        """The places and rows of all, one after the other."""
        starts = np.cumsum([0, *(len(shared.mask) for shared in several)])
        return SharedKV.of(
            join_layers([shared.layers for shared in several]),
            join_padded([shared.mask for shared in several], 3, lowest(several[0].mask.dtype)),
            np.concatenate([shared.places + start for shared, start in zip(several, starts, strict=False)]),
        )


class SeatedKV(NamedTuple):
    """One decoder layer's view of what rows share; rows that read the same attend together."""

    shared: SharedKV
    layer: int
    seats: Tensor

    def __call__(self, block: AttentionBlock, states: Tensor) -> Tensor:
        """Let states [N, L, W] attend through a block."""
        shared, attention = self.shared, block.attention
        packed = shared.pack(attention.query(block.before(states)), self.seats)
        values = attention.attend(packed, shared.layers[self.layer], shared.mask)
        return block.after(states, attention.output(shared.unpack(values, self.seats, states.shape[1])))


@dataclass(frozen=True)
class Feed:
    """The inputs of one step on the device: tokens, their positions and the part each is in, [N, L] each; the
    seats [N] and places [N] of the rows in what they share."""

    tokens: Tensor
    positions: Tensor
    part_index: Tensor
    source_seats: Tensor
    source_places: Tensor
    context_seats: Tensor


@dataclass
class DecoderState:
    """The sources and contexts of every row, and the keys and values of its tokens: [N, H, *, D] for each layer."""

    config: ModelConfig
    sources: SharedKV
    contexts: SharedKV | None
    source_ids: Tensor
    """Of each place among the sources, [P, S]."""
    copy_keys: Tensor | None
    """Likewise, [P, S, W]."""
    keys: list[Tensor]
    values: list[Tensor]
    lengths: IntArray
    parts: IntArray

    @staticmethod
    def begin(
        config: ModelConfig, sources: SharedKV, contexts: SharedKV | None, source_ids: Tensor, copy_keys: Tensor | None
    ) -> DecoderState:
        """Before the first token."""
        shape = sources.layers[0].keys
        rows = len(sources.places)
        empty = [shape.new_zeros(rows, shape.shape[1], _GROWTH, shape.shape[3]) for _ in sources.layers]
        zeros = np.zeros(rows, np.int64)
        return DecoderState(
            config, sources, contexts, source_ids, copy_keys,
            empty, [keys.clone() for keys in empty], zeros, zeros.copy(),
        )  # fmt: skip

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.lengths)

    # -- a step: select, plan, gather, write

    def select(self, rows: IntArray) -> DecoderState:
        """A state of those rows [N], which may repeat; `gather` must follow, as the caches are still those of before.

        So what the step needs can be planned and sent to the device together with the rows.
        """
        if len(rows) == len(self) and np.array_equal(rows, np.arange(len(self))):
            return self
        contexts = None if self.contexts is None else self.contexts.select(rows)
        made = replace(self, lengths=self.lengths[rows], parts=self.parts[rows], contexts=contexts)

        def keep(places: Tensor) -> None:
            made.source_ids = self.source_ids[places]
            made.copy_keys = None if self.copy_keys is None else self.copy_keys[places]

        made.sources = self.sources.select(rows, keep)
        return made

    def gather(self, rows: Tensor, size: int) -> None:
        """Take the caches of rows [N] of the state that this was selected from, as far as any was written, `size`."""
        size = max(1, -(-size // _GROWTH)) * _GROWTH  # the longest row may have left
        self.keys = [keys[:, :, :size].index_select(0, rows) for keys in self.keys]
        self.values = [values[:, :, :size].index_select(0, rows) for values in self.values]

    def plan(self, tokens: IntArray) -> list[IntArray]:
        """The fields of a `Feed` for tokens [N, L], on the host; the rows count them as read."""
        config = self.config
        positions = self.lengths[:, None] + np.arange(tokens.shape[1])
        parts = self.parts[:, None] + (tokens == config.part).cumsum(axis=1)
        self.lengths = self.lengths + (tokens != config.pad).sum(axis=1)
        self.parts = parts[:, -1]
        seats = self.sources.seats if self.contexts is None else self.contexts.seats
        part_index = np.minimum(parts, config.max_open_labels - 1)
        return [tokens, positions, part_index, self.sources.seats, self.sources.places, seats]

    def write(self, layer: int, fresh: KeyValue, feed: Feed, first: int | None, size: int) -> KeyValue:
        """Put keys and values [N, H, L, D] of new tokens into the cache; all that was written, up to `size`.

        `first` is where the new tokens of all rows begin, None where rows are at different lengths.
        """
        while self.keys[layer].shape[2] < size:
            self.keys[layer] = F.pad(self.keys[layer], (0, 0, 0, _GROWTH))
            self.values[layer] = F.pad(self.values[layer], (0, 0, 0, _GROWTH))
        keys, values = self.keys[layer], self.values[layer]
        if first is not None:
            keys[:, :, first:size], values[:, :, first:size] = fresh
        else:
            rows = torch.arange(len(self), device=keys.device)[:, None]
            keys[rows, :, feed.positions] = fresh.keys.transpose(1, 2)
            values[rows, :, feed.positions] = fresh.values.transpose(1, 2)
        return KeyValue(keys[:, :, :size], values[:, :, :size])

    def written(self, layer: int, feed: Feed, first: int | None, size: int, mask: Tensor | None) -> WrittenKV:
        """One decoder layer's view of what the rows have written, the new tokens included."""
        return WrittenKV(self, layer, feed, first, size, mask)

    @staticmethod
    def join(states: Sequence[DecoderState]) -> DecoderState:
        """The rows of all states, one after the other."""
        if len(states) == 1:
            return states[0]
        first = states[0]
        contexts = [state.contexts for state in states if state.contexts is not None]
        copies = [state.copy_keys for state in states if state.copy_keys is not None]
        return DecoderState(
            first.config,
            SharedKV.join([state.sources for state in states]),
            SharedKV.join(contexts) if contexts else None,
            join_padded([state.source_ids for state in states], 1, first.config.pad),
            join_padded(copies, 1) if copies else None,
            [join_padded(list(layer), 2) for layer in zip(*(state.keys for state in states), strict=True)],
            [join_padded(list(layer), 2) for layer in zip(*(state.values for state in states), strict=True)],
            np.concatenate([state.lengths for state in states]),
            np.concatenate([state.parts for state in states]),
        )


class WrittenKV(NamedTuple):
    """One decoder layer's view of what rows have written; the new tokens are written into the cache first."""

    state: DecoderState
    layer: int
    feed: Feed
    first: int | None
    size: int
    mask: Tensor | None

    def __call__(self, block: AttentionBlock, states: Tensor) -> Tensor:
        """Let states [N, L, W] attend through a block."""
        before = block.before(states)
        cache = self.state.write(self.layer, block.attention.project_kv(before), self.feed, self.first, self.size)
        return block.after(states, block.attention(before, cache, self.mask))


def join_layers(rows: Sequence[tuple[KeyValue, ...]]) -> tuple[KeyValue, ...]:
    """Each layer's keys and values of all rows, padded to the longest."""
    return tuple(
        KeyValue(join_padded([cache.keys for cache in layer], 2), join_padded([cache.values for cache in layer], 2))
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


def lowest(dtype: torch.dtype) -> float:
    """The value that an attention mask of that type adds where nothing may be seen."""
    return max(FORBIDDEN, torch.finfo(dtype).min)
