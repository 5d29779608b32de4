"""Contexts in ids, with what a network may know of each token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from syntagma.errors import SyntagmaError
from syntagma.levels import MalformedInfill, fill, split_infill
from syntagma.network.config import ModelConfig

Ids = Sequence[int]


class TooLong(SyntagmaError):
    """A sequence with more tokens than the model has positions."""


class AnnotatedContext(NamedTuple):
    """A context with what the network may know of each token: [C] each.

    `label_index` numbers the open labels from 1, `parent` is the label that a token grew from (counted from 1 in the
    order of `ModelConfig.labels`), `depth_added` the depth at which it appeared; 0 where there is nothing to say.
    """

    ids: list[int]
    label_index: list[int]
    parent: list[int]
    depth_added: list[int]

    @staticmethod
    def plain(ids: Ids, config: ModelConfig) -> AnnotatedContext:
        """A context without history, such as `<T>` or one that a user wrote."""
        return AnnotatedContext(list(ids), _label_index(ids, config), [0] * len(ids), [0] * len(ids))

    def expand(self, infill: Ids, depth: int, config: ModelConfig) -> AnnotatedContext:
        """The context that an infill makes of this one, at `depth`, with its tokens' history."""
        parts = split_infill(infill, config.part)
        assert not isinstance(parts, MalformedInfill)
        names = {label: number for number, label in enumerate(config.labels, 1)}
        grown = list(fill(self.ids, parts, names.__contains__))
        ids = [token for _, token, _ in grown]
        parent = [names[self.ids[origin]] if new else self.parent[origin] for origin, _, new in grown]
        added = min(depth, config.max_open_labels) - 1
        depth_added = [added if new else self.depth_added[origin] for origin, _, new in grown]
        return AnnotatedContext(ids, _label_index(ids, config), parent, depth_added)

    def with_marks(self, config: ModelConfig) -> AnnotatedContext:
        """The context as the network reads it, between `ModelConfig.context_marks` where there are some."""
        if not config.context_marks:
            return self
        before, after = config.context_marks
        return AnnotatedContext([before, *self.ids, after], *([0, *column, 0] for column in self[1:]))


def check_lengths(config: ModelConfig, **lengths: int) -> None:
    """Raise `TooLong` where a sequence of that length has no positions."""
    for name, length in lengths.items():
        if length > config.max_positions:
            raise TooLong(
                f"a {name} of {length} tokens is longer than the model's {config.max_positions} positions",
                remedy="shorten the text, or train with a larger max_positions",
            )


def _label_index(ids: Ids, config: ModelConfig) -> list[int]:
    numbers: list[int] = []
    count = 0
    for token in ids:
        is_label = token in config.labels
        count += is_label
        numbers.append(min(count, config.max_open_labels - 1) if is_label else 0)
    return numbers
