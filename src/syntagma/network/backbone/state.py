"""Keys and values that a pretrained model's decoder has computed, for rows that come, go and change places.

All rows end at the same place of the cache, because every step adds one token to each.  A row that is shorter than
others has gaps, which `seen` marks; they may stand anywhere, since attention skips them and positions are counted, not
taken from the cache's length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from syntagma.network.layers import KeyValue
from syntagma.network.state import join_layers, join_padded

Layers = tuple[KeyValue, ...]
"""Keys and values [N, H, L, D] of each layer."""


def to_cache(layers: Layers) -> Any:
    """The library's cache with these keys and values, which are not copied."""
    from transformers.cache_utils import DynamicCache, DynamicLayer

    cache = DynamicCache()
    for kept in layers:
        layer = DynamicLayer()  # type: ignore[no-untyped-call]
        layer.lazy_initialization(kept.keys, kept.values)
        layer.keys, layer.values = kept.keys, kept.values
        cache.layers.append(layer)
    return cache


def from_cache(cache: Any) -> Layers:
    """The keys and values of the library's cache."""
    return tuple(KeyValue(layer.keys, layer.values) for layer in cache.layers)


@dataclass(frozen=True)
class EncodedIds:
    """Sources of a model that reads source and context together: nothing is computed before the context is known."""

    ids: Tensor

    def row(self, number: int, size: int) -> EncodedIds:
        """One source of that length alone."""
        return EncodedIds(self.ids[number : number + 1, :size])

    @staticmethod
    def stack(rows: Sequence[EncodedIds], pad: int) -> EncodedIds:
        """Several sources as one batch [B, S], padded."""
        return EncodedIds(join_padded([row.ids for row in rows], 1, pad))


@dataclass(frozen=True)
class EncodedCache:
    """Sources [B, S] read by a causal model: their keys and values, computed once for all levels and beams.

    `before` is the number of tokens that the model reads before every source.
    """

    ids: Tensor
    layers: Layers
    before: int

    def row(self, number: int, size: int) -> EncodedCache:
        """One source of that length alone."""
        row, end = slice(number, number + 1), size + self.before
        layers = tuple(KeyValue(m.keys[row, :, :end], m.values[row, :, :end]) for m in self.layers)
        return EncodedCache(self.ids[row, :size], layers, self.before)

    @staticmethod
    def stack(rows: Sequence[EncodedCache], pad: int) -> EncodedCache:
        """Several sources as one batch, padded."""
        if len(rows) == 1:
            return rows[0]
        ids = join_padded([row.ids for row in rows], 1, pad)
        return EncodedCache(ids, join_layers([row.layers for row in rows]), rows[0].before)


@dataclass
class CachedState:
    """Rows N of a decoder: its own cache of L tokens, of which `seen` [N, L] are the row's; `places` [N] come next.

    An encoder-decoder also has the encoder's keys and values, of which `source_seen` [N, S] are the row's.
    """

    cache: Layers
    seen: Tensor
    places: Tensor
    sources: Layers = ()
    source_seen: Tensor | None = None

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.places)

    def reorder(self, rows: Tensor) -> None:
        """Row i goes on from where row `rows[i]` was; both must have the same source and context."""
        self.cache = tuple(cache.select(rows) for cache in self.cache)
        self.seen, self.places = self.seen[rows], self.places[rows]

    def select(self, rows: Tensor) -> CachedState:
        """A state of those rows, which may repeat; what none of them sees any more is dropped."""
        sources, source_seen = self.sources, self.source_seen
        if source_seen is not None:
            source_seen = source_seen[rows]
            size = int(source_seen.sum(dim=1).max()) if len(rows) else 0  # sources are filled up at their end
            sources = tuple(_cut(cache.select(rows), slice(size)) for cache in sources)
            source_seen = source_seen[:, :size]
        seen = self.seen[rows]
        first = int(seen.any(dim=0).int().argmax()) if seen.numel() else 0
        cache = tuple(_cut(cache.select(rows), slice(first, None)) for cache in self.cache)
        return CachedState(cache, seen[:, first:], self.places[rows], sources, source_seen)

    @staticmethod
    def join(states: Sequence[CachedState]) -> CachedState:
        """One state with the rows of all; shorter caches get gaps before them."""
        if len(states) == 1:
            return states[0]
        size = max(state.seen.shape[1] for state in states)
        cache = tuple(
            KeyValue(
                torch.cat([_fill(cache.keys, size) for cache in layer]),
                torch.cat([_fill(cache.values, size) for cache in layer]),
            )
            for layer in zip(*(state.cache for state in states), strict=True)
        )
        seen = torch.cat([F.pad(state.seen, (size - state.seen.shape[1], 0)) for state in states])
        masks = [state.source_seen for state in states if state.source_seen is not None]
        return CachedState(
            cache,
            seen,
            torch.cat([state.places for state in states]),
            join_layers([state.sources for state in states]),
            join_padded(masks, 1, False) if masks else None,
        )


def _cut(cache: KeyValue, columns: slice) -> KeyValue:
    return KeyValue(cache.keys[:, :, columns], cache.values[:, :, columns])


def _fill(tensor: Tensor, size: int) -> Tensor:
    return F.pad(tensor, (0, 0, size - tensor.shape[2], 0))


def compact(ids: Tensor, pad: int) -> Tensor:
    """Rows of ids [N, L] with their padding moved to the end, and as short as the longest."""
    real = ids != pad
    order = torch.argsort(real.int(), dim=1, descending=True, stable=True)
    return ids.gather(1, order)[:, : int(real.sum(dim=1).max())]
