"""Where a decoder stands in many infills at once.

A row is one hypothesis.  Rows may be at different lengths, belong to different sources and contexts, leave (`select`),
change places (`reorder`) and be joined by others (`join`): search keeps all that is alive in one state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from syntagma.model.config import ModelConfig
from syntagma.model.layers import FORBIDDEN, Memory

_GROWTH = 16


@dataclass
class DecoderState:
    """Keys and values of what every row attends to, and of what it has written: [N, H, *, D] for each decoder layer."""

    config: ModelConfig
    sources: tuple[Memory, ...]
    source_mask: Tensor
    contexts: tuple[Memory, ...]
    context_mask: Tensor | None
    source_ids: Tensor
    copy_keys: Tensor | None
    keys: list[Tensor]
    values: list[Tensor]
    lengths: Tensor
    parts: Tensor

    @staticmethod
    def begin(
        config: ModelConfig,
        sources: tuple[Memory, ...],
        source_mask: Tensor,
        contexts: tuple[Memory, ...],
        context_mask: Tensor | None,
        source_ids: Tensor,
        copy_keys: Tensor | None,
    ) -> DecoderState:
        """Before the first token."""
        rows, heads, _, size = sources[0].keys.shape
        empty = [sources[0].keys.new_zeros(rows, heads, _GROWTH, size) for _ in sources]
        zeros = torch.zeros(rows, dtype=torch.long, device=source_ids.device)
        return DecoderState(
            config, sources, source_mask, contexts, context_mask, source_ids, copy_keys,
            empty, [keys.clone() for keys in empty], zeros, zeros.clone(),
        )  # fmt: skip

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.lengths)

    def count_parts(self, tokens: Tensor) -> Tensor:
        """The part [N] that each row is in, now that it reads `tokens`."""
        self.parts += tokens == self.config.part
        return self.parts.clamp(max=self.config.max_slots - 1)

    def self_mask(self) -> Tensor:
        """What each row may see of its own cache at this step, its new token included: [N, 1, 1, T]."""
        size = int(self.lengths.max()) + 1
        while self.keys[0].shape[2] < size:
            self.keys = [F.pad(keys, (0, 0, 0, _GROWTH)) for keys in self.keys]
            self.values = [F.pad(values, (0, 0, 0, _GROWTH)) for values in self.values]
        seen = torch.arange(size, device=self.lengths.device) <= self.lengths[:, None]
        mask = torch.zeros(seen.shape, device=seen.device).masked_fill_(~seen, FORBIDDEN)
        return mask[:, None, None, :]

    def remember(self, layer: int, fresh: Memory) -> Memory:
        """Put one token's keys and values [N, H, 1, D] into the cache; all that was written so far."""
        rows = torch.arange(len(self), device=self.lengths.device)
        self.keys[layer][rows, :, self.lengths] = fresh.keys[:, :, 0]
        self.values[layer][rows, :, self.lengths] = fresh.values[:, :, 0]
        size = int(self.lengths.max()) + 1
        return Memory(self.keys[layer][:, :, :size], self.values[layer][:, :, :size])

    def reorder(self, rows: Tensor) -> None:
        """Row i goes on from where row `rows[i]` was; both must have the same source and context."""
        self.keys = [keys.index_select(0, rows) for keys in self.keys]
        self.values = [values.index_select(0, rows) for values in self.values]
        self.lengths = self.lengths[rows]
        self.parts = self.parts[rows]

    def select(self, rows: Tensor) -> DecoderState:
        """A state of those rows, which may repeat."""
        return DecoderState(
            self.config,
            tuple(memory.select(rows) for memory in self.sources),
            self.source_mask[rows],
            tuple(memory.select(rows) for memory in self.contexts),
            None if self.context_mask is None else self.context_mask[rows],
            self.source_ids[rows],
            None if self.copy_keys is None else self.copy_keys[rows],
            [keys.index_select(0, rows) for keys in self.keys],
            [values.index_select(0, rows) for values in self.values],
            self.lengths[rows],
            self.parts[rows],
        )

    @staticmethod
    def join(states: Sequence[DecoderState]) -> DecoderState:
        """One state with the rows of all."""
        if len(states) == 1:
            return states[0]
        first = states[0]
        masks = [state.context_mask for state in states if state.context_mask is not None]
        copies = [state.copy_keys for state in states if state.copy_keys is not None]
        return DecoderState(
            first.config,
            join_memories([state.sources for state in states]),
            join_padded([state.source_mask for state in states], 3, FORBIDDEN),
            join_memories([state.contexts for state in states]),
            join_padded(masks, 3, FORBIDDEN) if masks else None,
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
