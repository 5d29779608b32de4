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

from syntagma.errors import SyntagmaError
from syntagma.model.config import ModelConfig

Ids = Sequence[int]


class Example(NamedTuple):
    """A source with its levels (context, infill); a baseline's target is one level with an empty context."""

    source: Ids
    levels: Sequence[tuple[Ids, Ids]]


class TooLong(SyntagmaError):
    """A sequence with more tokens than the model has positions."""


class Marked(NamedTuple):
    """A context with what the network may know of each token: [C] each.

    `slot` numbers the open labels from 1, `parent` is the label that a token grew from (counted from 1 in the order of
    `config.labels`), `birth` the depth at which it appeared; 0 where there is nothing to say.
    """

    ids: list[int]
    slot: list[int]
    parent: list[int]
    birth: list[int]


@dataclass(frozen=True)
class Contexts:
    """Padded contexts [B, C]; `level` is 0 at padding, `place` counts within a level."""

    ids: Tensor
    level: Tensor
    place: Tensor
    slot: Tensor
    parent: Tensor
    birth: Tensor


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
    if isinstance(value, Contexts):
        return Contexts(*(getattr(value, field.name).to(device) for field in fields_of(value)))
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
        contexts = stack_contexts([mark_levels(example.levels, config) for example in examples], config)
    check_lengths(config, source=sources.shape[1], infill=int(place.max()) + 1)
    return Batch(sources, contexts, inputs, targets, level, place, slot)


def check_lengths(config: ModelConfig, **lengths: int) -> None:
    """Raise `TooLong` where a sequence of that length has no positions."""
    for name, length in lengths.items():
        if length > config.max_positions:
            raise TooLong(
                f"a {name} of {length} tokens is longer than the model's {config.max_positions} positions",
                remedy="shorten the text, or train with a larger max_positions",
            )


def _infill_rows(example: Example, config: ModelConfig) -> tuple[list[int], ...]:
    """Inputs, targets, levels, places and slots of one row."""
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
            slot.append(min(parts, config.max_slots - 1))
    return inputs, targets, level, place, slot


def whole_level(target: Ids, config: ModelConfig) -> tuple[Ids, Ids]:
    """The level that writes a text in one go, without parts: from a context that is nothing but an end, or none."""
    return (config.end,) if config.guided else (), target


def mark_levels(levels: Sequence[tuple[Ids, Ids]], config: ModelConfig) -> list[Marked]:
    """The contexts of a sentence's levels, each token with its history, which the levels before it tell."""
    marked: list[Marked] = []
    for depth, (context, _) in enumerate(levels, 1):
        if depth == 1 or tuple(context) == (config.end,):
            marked.append(mark_context(context, config))
        else:
            marked.append(grow_marks(marked[-1], levels[depth - 2][1], depth, config))
    return marked


def mark_context(ids: Ids, config: ModelConfig) -> Marked:
    """A context without history, such as `<T>` or one that a user wrote."""
    return Marked(list(ids), _slots(ids, config), [0] * len(ids), [0] * len(ids))


def grow_marks(context: Marked, infill: Ids, depth: int, config: ModelConfig) -> Marked:
    """The context that an infill grows, at `depth`, with its tokens' history."""
    parts: list[list[int]] = []
    for token in infill:
        if token == config.part:
            parts.append([])
        else:
            parts[-1].append(token)
    names = {label: number for number, label in enumerate(config.labels, 1)}
    ids: list[int] = []
    parent: list[int] = []
    birth: list[int] = []
    fresh = iter(parts)
    for token, above, born in zip(context.ids, context.parent, context.birth, strict=True):
        part = next(fresh) if token in names else None
        ids += [token] if part is None else part
        parent += [above] if part is None else [names[token]] * len(part)
        birth += [born] if part is None else [min(depth, config.max_slots) - 1] * len(part)
    return Marked(ids, _slots(ids, config), parent, birth)


def _slots(ids: Ids, config: ModelConfig) -> list[int]:
    slots: list[int] = []
    count = 0
    for token in ids:
        is_label = token in config.labels
        count += is_label
        slots.append(min(count, config.max_slots - 1) if is_label else 0)
    return slots


def stack_contexts(rows: Sequence[Sequence[Marked]], config: ModelConfig) -> Contexts:
    """Rows of contexts, each row's one after the other, padded."""
    columns: tuple[list[list[int]], ...] = ([], [], [], [], [], [])
    for row in rows:
        for column in columns:
            column.append([])
        for number, context in enumerate(row, 1):
            marked = _with_marks(context, config)
            size = len(marked.ids)
            check_lengths(config, context=size)
            fields = (marked.ids, [number] * size, range(size), marked.slot, marked.parent, marked.birth)
            for column, values in zip(columns, fields, strict=True):
                column[-1].extend(values)
    ids, *rest = columns
    return Contexts(pad_rows(ids, config.pad), *(pad_rows(column) for column in rest))


def _with_marks(context: Marked, config: ModelConfig) -> Marked:
    if not config.context_marks:
        return context
    before, after = config.context_marks
    return Marked([before, *context.ids, after], *([0, *column, 0] for column in context[1:]))


def pad_rows(rows: Sequence[Sequence[int]], value: int = 0) -> Tensor:
    """Rows of numbers [B, longest], shorter ones filled up with `value`."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[value] * (longest - len(row))] for row in rows], dtype=torch.long)
