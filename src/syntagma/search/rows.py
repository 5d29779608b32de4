"""The rows of a runtime's state that take their steps together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from syntagma.runtime.base import Runtime
from syntagma.search.infill_beam import InfillBeam


class RowBatch:
    """The rows of one lane: the runtime's state after the last step, and the beams that go on from it."""

    def __init__(self, state: Any, beams: list[InfillBeam]) -> None:
        self.state, self.beams = state, beams

    def join(self, other: RowBatch, runtime: Runtime) -> None:
        """Take in the rows and beams of another."""
        before = len(self.state)
        self.state = runtime.join([self.state, other.state])
        for beam in other.beams:
            beam.partials = [partial._replace(row=partial.row + before) for partial in beam.partials]
        self.beams += other.beams


def uniforms(beams: Sequence[InfillBeam]) -> Any:
    """A number for each row, which depends on the seed, the request, the sample and the step only, not on the batch."""
    numbers = []
    for beam in beams:
        request, hypothesis = beam.task.request, beam.task.hypothesis
        for partial in beam.partials:
            seed = [beam.options.seed, request.number, hypothesis.sample, hypothesis.depth, len(partial.tokens)]
            numbers.append(np.random.default_rng(seed).random())
    return np.array(numbers, np.float64)
