"""Infills that are known before they are searched: one step scores the whole of them.

They are chosen token by token all the same, so that whatever forbids one of their tokens, or counts it, does so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from syntagma.runtime.base import Runtime
from syntagma.search.infill_beam import InfillBeam
from syntagma.search.task import Continuation


def fill_known(beams: Sequence[InfillBeam], state: Any, runtime: Runtime) -> int:
    """Finish beams, a row of the state each, whose tasks have a known infill; how many rows that took."""
    infills = [(runtime.config.start, *(beam.task.known or ())) for beam in beams]
    tokens = np.full((len(beams), max(map(len, infills))), runtime.config.pad, np.int64)
    for row, infill in enumerate(infills):
        tokens[row, : len(infill)] = infill
    scores = runtime.step(state, np.arange(len(beams)), tokens, None, 0).fed.tolist()
    for beam, infill, own in zip(beams, infills, scores, strict=True):
        beam.task.request.spend(1)
        for token, score in zip(infill[1:], own, strict=False):
            if beam.partials:
                (partial,) = beam.partials
                permitted = beam.allowed(partial).only == token
                beam.choose([Continuation(-(partial.score + score), 0, token)] if permitted else [])
        beam.partials = []
    return len(beams)
