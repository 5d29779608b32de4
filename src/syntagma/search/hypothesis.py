"""Contexts in a beam, and the infills that grow them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from syntagma.network.contexts import AnnotatedContext

IdTuple = tuple[int, ...]


class Infill(NamedTuple):
    """An infill that was found: its tokens without the end, the sum of their log-probabilities and the end's, its
    score, and of that sum the share of each part, the end counting with the last."""

    tokens: IdTuple
    log_probability: float
    score: float
    part_scores: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A context in a beam, with its score and how it came about."""

    context: AnnotatedContext
    score: float
    depth: int
    parent: Hypothesis | None = None
    infill: IdTuple = ()
    infill_score: float = 0.0
    rewarded: bool = False
    edited: bool = False
    sample: int = 0
    """Which of several independent samples this is."""
    plan: int = 0
    """Which of several planned shapes it grows in."""
    pins: Mapping[int, IdTuple] = field(default_factory=dict)
    """Parts of the next infill, counted from 1, that the user has written."""
    part_scores: tuple[float, ...] = ()
    """The log-probability of each part of the infill, where the search knows it."""
    log_probability: float = 0.0
    """Of all infills since the first context."""

    @cached_property
    def ids(self) -> IdTuple:
        """The context's ids."""
        return tuple(self.context.ids)

    def history(self) -> list[Hypothesis]:
        """The hypotheses from the first context to this one."""
        ancestors = [self]
        while ancestors[-1].parent is not None:
            ancestors.append(ancestors[-1].parent)
        return ancestors[::-1]


def merge(hypotheses: Sequence[Hypothesis], plans: int) -> tuple[list[Hypothesis], dict[Hypothesis, int]]:
    """The hypotheses to show, and for every one its place among them.

    Where there are several plans, a context that they have in common is shown once.
    """
    if plans < 2:
        return list(hypotheses), {hypothesis: place for place, hypothesis in enumerate(hypotheses)}
    place_of: dict[IdTuple, int] = {}
    places = {hypothesis: place_of.setdefault(hypothesis.ids, len(place_of)) for hypothesis in hypotheses}
    first = {place: hypothesis for hypothesis, place in reversed(places.items())}
    return [first[place] for place in range(len(first))], places
