"""Examples into the tensors that a network reads.

An example is a source and its levels.  In a batch a row is a sentence *with all its levels*, one after the other: the
contexts in one sequence, the infills in another, each token knowing its level.  So the source is encoded once for all
levels, and padding is per sentence, not per level.  (`concat` models read source and context together, so there a row
is one level.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import fields as fields_of
from typing import Any, NamedTuple

import torch
from torch import Tensor

from syntagma.network.config import ModelConfig
from syntagma.network.contexts import AnnotatedContext, check_lengths

Ids = Sequence[int]


class Example(NamedTuple):
    """A source with its levels (context, infill); a baseline's target is one level with an empty context."""

    source: Ids
    levels: Sequence[tuple[Ids, Ids]]


@dataclass(frozen=True)
class Contexts:
    """Padded contexts [B, C]; `level` is 0 at padding, `place` counts within a level."""

    ids: Tensor
    level: Tensor
    place: Tensor
    label_index: Tensor
    parent: Tensor
    depth_added: Tensor

    def to(self, device: torch.device | str) -> Contexts:
        """The contexts on another device."""
        return Contexts(*(getattr(self, field.name).to(device) for field in fields_of(self)))


@dataclass(frozen=True)
class Batch:
    """Padded sources [B, S], contexts [B, C], and infills [B, T] as decoder inputs and targets."""

    source: Tensor
    contexts: Contexts | None
    inputs: Tensor
    targets: Tensor
    level: Tensor
    place: Tensor
    slot: Tensor

    @property
    def tokens(self) -> int:
        """Infill tokens, the ends included: where there is a loss."""
        return int((self.level > 0).sum())

    def to(self, device: torch.device | str) -> Batch:
        """The batch on another device."""
        return Batch(*(_move(getattr(self, field.name), device) for field in fields_of(self)))


def _move(value: Any, device: torch.device | str) -> Any:
    return value if value is None else value.to(device)


def make_batch(examples: Sequence[Example], config: ModelConfig) -> Batch:
    """One batch of all examples; `TooLong` where one has more tokens than positions."""
    if config.architecture == "concat":
        examples = [Example(example.source, [level]) for example in examples for level in example.levels]
    sources = pad_rows([[*example.source, config.end] for example in examples], config.pad)
    infills = [_infill_rows(example, config) for example in examples]
    inputs, targets, level, place, slot = (pad_rows(rows) for rows in zip(*infills, strict=True))
    padding = level == 0
    inputs[padding] = targets[padding] = config.pad
    contexts = None
    if config.guided:
        contexts = stack_contexts([annotate_levels(example.levels, config) for example in examples], config)
    check_lengths(config, source=sources.shape[1], infill=int(place.max()) + 1)
    return Batch(sources, contexts, inputs, targets, level, place, slot)


def _infill_rows(example: Example, config: ModelConfig) -> tuple[list[int], ...]:
    """Inputs, targets, levels, places and part indices of one row."""
    inputs: list[int] = []
    targets: list[int] = []
    level: list[int] = []
    place: list[int] = []
    slot: list[int] = []
    for number, (_, infill) in enumerate(example.levels, 1):
        inputs += [config.start, *infill]
        targets += [*infill, config.end]
        size = len(infill) + 1
        level += [number] * size
        place += range(size)
        parts = 0
        slot.append(0)
        for token in infill:
            parts += token == config.part
            slot.append(min(parts, config.max_open_labels - 1))
    return inputs, targets, level, place, slot


def seq2seq_level(target: Ids, config: ModelConfig) -> tuple[Ids, Ids]:
    """The level that writes a text in one go, without parts: from a context that is nothing but an end, or none."""
    return (config.end,) if config.guided else (), target


def annotate_levels(levels: Sequence[tuple[Ids, Ids]], config: ModelConfig) -> list[AnnotatedContext]:
    """The contexts of a sentence's levels, each token with its history, which the levels before it tell."""
    marked: list[AnnotatedContext] = []
    for depth, (context, _) in enumerate(levels, 1):
        if depth == 1 or tuple(context) == (config.end,):
            marked.append(AnnotatedContext.plain(context, config))
        else:
            marked.append(marked[-1].expand(levels[depth - 2][1], depth, config))
    return marked


def stack_contexts(rows: Sequence[Sequence[AnnotatedContext]], config: ModelConfig) -> Contexts:
    """Rows of contexts, each row's one after the other, padded."""
    columns: tuple[list[list[int]], ...] = ([], [], [], [], [], [])
    for row in rows:
        for column in columns:
            column.append([])
        for number, context in enumerate(row, 1):
            marked = context.with_marks(config)
            size = len(marked.ids)
            check_lengths(config, context=size)
            fields = (marked.ids, [number] * size, range(size), marked.label_index, marked.parent, marked.depth_added)
            for column, values in zip(columns, fields, strict=True):
                column[-1].extend(values)
    ids, *rest = columns
    return Contexts(pad_rows(ids, config.pad), *(pad_rows(column) for column in rest))


def pad_rows(rows: Sequence[Sequence[int]], value: int = 0) -> Tensor:
    """Rows of numbers [B, longest], shorter ones filled up with `value`."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[value] * (longest - len(row))] for row in rows], dtype=torch.long)
