"""The interface of a network for a search, in numpy: encode sources, open contexts, take steps, receive candidates.

A search hands a runtime ids and a compact mask and gets a few candidates for each row; logits, caches and full masks
never leave the runtime.  So one search serves an ONNX graph on a CPU and a torch module on a GPU, with one transfer
each way per step.

    sources = runtime.encode([ids, ...])                    # each source once, whatever is decoded from it
    state = runtime.open([sources[0], ...], contexts)       # a row for each context, nothing read yet
    step = runtime.step(state, parents, tokens, mask, k)    # row i goes on from row parents[i]
    state = runtime.join([step.state, other])               # rows of both, in that order

A row is one partial infill.  `parents` reorders, repeats and drops rows, so there is no separate operation for that.
Several tokens may be fed at once ([N, L]): the candidates follow the last, and `fed` says how likely the others were.
That is how an infill is opened (`start` and `<c>` together) and how a given text is scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from syntagma.network.config import ModelConfig
from syntagma.network.contexts import AnnotatedContext, check_lengths

Ids = Sequence[int]
IdArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
ScoreArray = npt.NDArray[np.float32]

IMPOSSIBLE = float("-inf")


@dataclass(frozen=True, eq=False)
class WordSet:
    """Some of the ids that are text.  Runtimes keep what they make of a set by its identity: make a set once."""

    ids: IdArray


NO_WORDS = WordSet(np.zeros(0, np.int64))


def no_pairs() -> IdArray:
    """No (row, id) pairs, [0, 2]."""
    return np.zeros((0, 2), np.int64)


@dataclass(frozen=True)
class Mask:
    """The tokens that may follow each of N rows.

    `controls` [N, C] says it for each of `ModelConfig.controls` (the labels, `<c>`, the end); every other control
    token is never allowed.  `words` has for each row the text ids that are allowed, None for all.  `denied` [M, 2]
    takes out single (row, id) pairs.  `asked` [A, 2] are (row, id) pairs whose scores the search must hear whether or
    not they are among the best.
    """

    controls: BoolArray
    words: Sequence[WordSet | None]
    denied: IdArray = field(default_factory=no_pairs)
    asked: IdArray = field(default_factory=no_pairs)


@dataclass(frozen=True)
class Draw:
    """How to sample one continuation a row instead of finding the best: `uniforms` [N] are numbers from 0 up to 1."""

    uniforms: npt.NDArray[np.float64]
    temperature: float = 1.0
    top_p: float = 1.0


class Step(NamedTuple):
    """The rows after a step and how they may go on.

    `tokens` and `scores` [N, K] are the likeliest allowed continuations, best first (of equal scores the lower id),
    with their log-probabilities under the unmasked distribution; `IMPOSSIBLE` where a row has fewer.  `asked` [A]
    answers `Mask.asked`, `IMPOSSIBLE` where the mask forbids it.  `fed` [N, L - 1] are the log-probabilities of the
    tokens that were fed after the first.
    """

    state: State
    tokens: IdArray
    scores: ScoreArray
    asked: ScoreArray
    fed: ScoreArray


class State(Protocol):
    """Where a decoder stands in many infills at once; only its runtime looks inside.

    A step leaves the state it was given unusable: caches are written in place.
    """

    def __len__(self) -> int: ...


@dataclass(frozen=True)
class Capabilities:
    """The abilities of a runtime's model, so that nothing fails in the middle of a run."""

    guided: bool
    """Whether it fills contexts, rather than writing its target in one go."""
    scores_texts: bool
    """Whether it can say how likely a whole text is, written in one go."""
    controls_template: bool = True
    """Whether templates, start contexts and pins mean anything to it."""


class Runtime(Protocol):
    """A network on some hardware."""

    config: ModelConfig
    capabilities: Capabilities

    def encode(self, sources: Sequence[Ids]) -> list[Any]:
        """Each source, given without its end, encoded once: a handle that `open` takes."""

    def open(self, sources: Sequence[Any], contexts: Sequence[AnnotatedContext] | None) -> State:
        """A row for each source and its context, before the first token; the same handle may come many times.

        `contexts` is None for models that are not guided.
        """

    def step(
        self, state: Any, parents: IdArray, tokens: IdArray, mask: Mask | None, k: int, draw: Draw | None = None
    ) -> Step:
        """Feed `tokens` [N, L] to rows that go on from rows `parents` [N] of the state.

        A pad among the tokens of a row ends what it is fed, and it has no candidates; without a mask no row has any.
        """

    def join(self, states: Sequence[Any]) -> State:
        """The rows of all states, one after the other."""


class RuntimeBase:
    """The base of runtimes of our models."""

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        whole = config.seq2seq_objective or config.architecture == "seq2seq"
        self.capabilities = Capabilities(config.guided, scores_texts=whole, controls_template=config.guided)

    @property
    def seconds(self) -> float | None:
        """How long the network itself has computed so far, where that can be told apart."""
        return None

    def _with_end(self, sources: Sequence[Ids]) -> list[list[int]]:
        """The ids to read of each source; `TooLong` where one has no positions."""
        rows = [[*source, self.config.end] for source in sources]
        check_lengths(self.config, source=max(map(len, rows), default=0))
        return rows


TEXTS_ABREAST = 32
"""Texts scored at once: each token of theirs takes a row of scores as long as the vocabulary."""


def score_texts(runtime: Runtime, pairs: Sequence[tuple[Ids, Ids]]) -> list[float]:
    """The log-probability of each target, its end included, written in one go from its source."""
    config = runtime.config
    unique = list(dict.fromkeys(tuple(source) for source, _ in pairs))
    handles = dict(zip(unique, runtime.encode(unique), strict=True))
    scores = [0.0] * len(pairs)
    by_length = sorted(range(len(pairs)), key=lambda number: len(pairs[number][1]))
    for start in range(0, len(pairs), TEXTS_ABREAST):
        numbers = by_length[start : start + TEXTS_ABREAST]
        contexts = [AnnotatedContext.plain([config.end], config)] * len(numbers) if config.guided else None
        state = runtime.open([handles[tuple(pairs[number][0])] for number in numbers], contexts)
        rows = [[config.start, *pairs[number][1], config.end] for number in numbers]
        longest = max(map(len, rows))
        tokens = np.array([row + [config.pad] * (longest - len(row)) for row in rows], np.int64)
        fed = runtime.step(state, np.arange(len(rows)), tokens, None, 0).fed
        for number, row, tokens_scores in zip(numbers, rows, fed, strict=True):
            scores[number] = float(tokens_scores[: len(row) - 1].sum(dtype=np.float64))
    return scores
