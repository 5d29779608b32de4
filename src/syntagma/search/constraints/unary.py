"""Unary chains: a weak model may let `<NP>` become `<NP>` again and again, down to the last depth."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from syntagma.network.config import ModelConfig
from syntagma.search.constraints.base import Allowed, Constraint
from syntagma.search.constraints.grammar import LABELS
from syntagma.search.hypothesis import Hypothesis

if TYPE_CHECKING:
    from syntagma.search.task import InfillTask


class _Open(NamedTuple):
    """The open labels that may not become themselves once more (0 for others), which part is open, what it holds."""

    spent: tuple[int, ...]
    part: int
    only: int
    """The part's token while it has but one, 0 before that and -1 after it."""


class UnaryConstraint(Constraint):
    """A constituent becomes nothing but another of its own label only so often in a row."""

    def __init__(self, config: ModelConfig, most: int) -> None:
        self.config, self.most = config, most
        self._labels = frozenset(config.labels)
        self._known: dict[Hypothesis, tuple[int, ...]] = {}

    def begin(self, task: InfillTask) -> _Open | None:
        """Before the first part; None where no chain is at its end."""
        if not task.labels:
            return None
        opened = [token for token in task.hypothesis.context.ids if token in self._labels]
        chains = self.chains(task.hypothesis)
        spent = tuple(label if chain >= self.most else 0 for label, chain in zip(opened, chains, strict=True))
        return _Open(spent, 0, 0) if any(spent) else None

    def chains(self, hypothesis: Hypothesis) -> tuple[int, ...]:
        """For each open label of a context, how often in a row it has become itself."""
        if hypothesis not in self._known:
            self._known[hypothesis] = self._chains(hypothesis)
        return self._known[hypothesis]

    def _chains(self, hypothesis: Hypothesis) -> tuple[int, ...]:
        opened = [token for token in hypothesis.context.ids if token in self._labels]
        if hypothesis.parent is None or not hypothesis.infill:
            return (0,) * len(opened)
        before = [token for token in hypothesis.parent.context.ids if token in self._labels]
        parts: list[list[int]] = []
        for token in hypothesis.infill:
            if token == self.config.part:
                parts.append([])
            else:
                parts[-1].append(token)
        counts: list[int] = []
        for label, chain, part in zip(before, self.chains(hypothesis.parent), parts, strict=True):
            again = part == [label]
            counts += [chain + 1] if again else [0] * sum(token in self._labels for token in part)
        return tuple(counts)

    def mask(self, state: _Open, allowed: Allowed) -> None:
        """A part that holds its own label alone may not end; nor begin with it where it must end right after."""
        place = allowed.state
        if place.written == 0 and state.spent[state.part - 1] and place.after(LABELS).must_close:
            allowed.denied = [*(allowed.denied or ()), state.spent[state.part - 1]]
        elif state.only > 0 and state.only == state.spent[state.part - 1]:
            allowed.kinds = allowed.kinds & ~allowed.state.closing or allowed.kinds

    def advance(self, state: _Open, token: int) -> _Open:
        """One token further."""
        if token == self.config.part:
            return _Open(state.spent, state.part + 1, 0)
        return _Open(state.spent, state.part, -1 if state.only else token)
