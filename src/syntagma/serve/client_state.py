"""A hypothesis as a string that a client keeps and sends back: nothing of it stays on the server.

It holds the model's name, the first context and every infill and edit since, in ids, with their scores.  What comes
back is not trusted: every id is in range, every infill fits its context, every context the model, or it is refused.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import zlib
from typing import Any

from syntagma.errors import SyntagmaError
from syntagma.levels import MalformedInfill, expand
from syntagma.network.config import ModelConfig
from syntagma.network.contexts import AnnotatedContext
from syntagma.search.hypothesis import Hypothesis
from syntagma.search.request import SearchRequest, fits

VERSION = 1
_LARGEST, _MOST_STEPS, _MOST_SCORE = 400_000, 80, 1e9


class StateError(SyntagmaError):
    """A state that this service did not make, or not with this model."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the state {what}", remedy="send one back as it was given, or begin anew")


def write_state(hypothesis: Hypothesis, model: str) -> str:
    """The string for a hypothesis of that model."""
    first, *rest = hypothesis.history()
    steps: list[list[Any]] = []
    for grown in rest:
        if grown.infill:
            flags = grown.rewarded + 2 * grown.edited
            steps.append([list(grown.infill), grown.infill_score, grown.score, flags])
        else:
            steps.append([list(grown.context.ids)])
    values = [VERSION, model, hypothesis.sample, first.context.ids, steps]
    packed = zlib.compress(json.dumps(values, separators=(",", ":")).encode(), 6)
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def read_state(text: str, model: str, request: SearchRequest) -> Hypothesis:
    """The hypothesis of a request that a string stands for; `StateError` where it cannot be one."""
    config = request.config
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        opened = zlib.decompressobj()
        data = opened.decompress(packed, _LARGEST)
        if not opened.eof:
            raise StateError("is too large")
        values = json.loads(data)
    except (ValueError, binascii.Error, zlib.error, RecursionError):
        raise StateError("cannot be read") from None
    if not isinstance(values, list) or len(values) != 5 or values[0] != VERSION:
        raise StateError("cannot be read")
    _, name, sample, start, steps = values
    if name != model:
        raise StateError("is of another model")
    if type(sample) is not int or not 0 <= sample < 1000 or not isinstance(steps, list) or len(steps) > _MOST_STEPS:
        raise StateError("cannot be read")
    hypothesis = Hypothesis(AnnotatedContext.plain(_ids(start, config), config), 0.0, 1, sample=sample)
    for step in steps:
        if not fits(hypothesis.context.ids, config, request.source):
            raise StateError("does not fit the model")
        hypothesis = _step(hypothesis, step, request)
    return hypothesis


def _step(before: Hypothesis, step: Any, request: SearchRequest) -> Hypothesis:
    config = request.config
    if isinstance(step, list) and len(step) == 1:
        context = AnnotatedContext.plain(_ids(step[0], config), config)
        return Hypothesis(
            context, before.score, before.depth, before, edited=True, sample=before.sample,
            log_probability=before.log_probability,
        )  # fmt: skip
    if not isinstance(step, list) or len(step) != 4 or type(step[3]) is not int or not 0 <= step[3] < 4:
        raise StateError("cannot be read")
    ids, flags = _ids(step[0], config, part=True), step[3]
    infill_score, score = _score(step[1]), _score(step[2])
    labels = set(config.labels)
    if isinstance(expand(before.context.ids, ids, labels.__contains__, config.part), MalformedInfill):
        raise StateError("holds an infill that does not fit its context")
    if len(ids) + 1 > config.max_positions or config.labels[0] in ids:
        raise StateError("holds an infill that no model writes")
    return Hypothesis(
        request.expanded(before, ids), score, before.depth + 1, before, tuple(ids), infill_score,
        rewarded=bool(flags & 1), edited=bool(flags & 2), sample=before.sample,
        log_probability=before.log_probability + infill_score * (1 if request.options.score == "sum" else len(ids) + 1),
    )  # fmt: skip


def _ids(values: Any, config: ModelConfig, part: bool = False) -> list[int]:
    """Ids of words and labels (and parts), all in range."""
    control = {config.pad, config.start, config.end, config.sep, config.part, *config.context_marks}
    if part:
        control.discard(config.part)
    if not isinstance(values, list) or not values or len(values) > 4 * config.max_positions:
        raise StateError("cannot be read")
    for token in values:
        if type(token) is not int or not 0 <= token < config.vocabulary or token in control:
            raise StateError("holds what is no token of the model")
    return values


def _score(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value) or abs(value) > _MOST_SCORE:
        raise StateError("holds what is no score")
    return float(value)
