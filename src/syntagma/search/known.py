"""Infills that are known before they are searched, those of drafts: all levels of a text are scored at once.

They are chosen token by token all the same, so that whatever forbids one of their tokens, or counts it, does so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from syntagma.network.contexts import AnnotatedContext
from syntagma.runtime.base import TEXTS_ABREAST, Runtime
from syntagma.search.constraints.base import KnownInfill
from syntagma.search.hypothesis import IdTuple
from syntagma.search.infill_beam import InfillBeam
from syntagma.search.task import Continuation


class KnownLevel(NamedTuple):
    """A context that grows from an encoded source, and the infill that it is known to have, without the end."""

    source: Any
    context: AnnotatedContext
    infill: IdTuple


def score_levels(levels: Sequence[KnownLevel], runtime: Runtime) -> list[KnownInfill]:
    """The infill of each level, with the log-probability of each of its tokens and of its end."""
    config = runtime.config
    rows = [(config.start, *level.infill, config.end) for level in levels]
    known: list[KnownInfill] = [KnownInfill((), ())] * len(levels)
    by_length = sorted(range(len(rows)), key=lambda number: len(rows[number]))
    for first in range(0, len(rows), TEXTS_ABREAST):
        numbers = by_length[first : first + TEXTS_ABREAST]
        state = runtime.open([levels[each].source for each in numbers], [levels[each].context for each in numbers])
        tokens = np.full((len(numbers), len(rows[numbers[-1]])), config.pad, np.int64)
        for row, number in enumerate(numbers):
            tokens[row, : len(rows[number])] = rows[number]
        scores = runtime.step(state, np.arange(len(numbers)), tokens, None, 0).fed.tolist()
        for number, own in zip(numbers, scores, strict=True):
            infill = rows[number][1:]
            known[number] = KnownInfill(infill, tuple(own[: len(infill)]))
    return known


def fill_known(beam: InfillBeam) -> None:
    """Finish a beam whose task has a known infill."""
    beam.task.request.spend(1)
    for token, score in zip(*(beam.task.known or ((), ())), strict=True):
        if beam.partials:
            (partial,) = beam.partials
            permitted = beam.allowed(partial).only == token
            beam.choose([Continuation(-(partial.score + score), 0, token)] if permitted else [])
    beam.partials = []
