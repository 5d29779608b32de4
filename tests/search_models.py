from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from syntagma.network.config import Architecture, preset
from syntagma.network.network import Network
from syntagma.runtime.base import IMPOSSIBLE, Capabilities, Draw, Mask, Step
from syntagma.runtime.torch import TorchRuntime
from syntagma.search import Generator, SearchOptions
from syntagma.text import Subwords, split

TEXTS = ["I ate an apple, didn't I?", "He can't have made a mistake.", "<NP> is not a label here."]


@pytest.fixture(scope="session")
def subwords() -> Subwords:
    return Subwords.train([split(text).words for text in TEXTS * 3], size=300)


def random_model(
    subwords: Subwords, seed: int = 0, architecture: Architecture = "extra-encoder", **changes: Any
) -> Network:
    """An untrained network with sharp, arbitrary preferences."""
    torch.manual_seed(seed)
    labels = tuple(subwords.label_id(label) for label in ("T", *subwords.labels))
    network = Network(preset("tiny", subwords.size, architecture, labels=labels, **changes)).eval()
    with torch.no_grad():
        network.embedding.weight.mul_(2.0)
    return network


def random_generator(subwords: Subwords, seed: int = 0, **options: Any) -> Generator:
    settings = {"max_depth": 5, "max_tokens": 14} | options
    return Generator(TorchRuntime(random_model(subwords, seed)), subwords, SearchOptions.from_dict(settings))


class ScriptedRuntime:
    """A model in numpy that says what it is told: the log-probabilities of all tokens after those of an infill."""

    def __init__(
        self,
        subwords: Subwords,
        script: Callable[[tuple[int, ...]], Any],
        architecture: Architecture = "extra-encoder",
    ) -> None:
        self.config = random_model(subwords, 0, architecture).config
        self.capabilities = Capabilities(guided=self.config.guided, scores_texts=False)
        self.script = script

    def encode(self, sources: Sequence[Any]) -> list[Any]:
        return list(sources)

    def open(self, sources: Sequence[Any], contexts: Any) -> list[tuple[int, ...]]:
        return [()] * len(sources)

    def step(self, state: Any, parents: Any, tokens: Any, mask: Mask | None, k: int, draw: Draw | None = None) -> Step:
        assert mask is not None
        state = [(*state[parent], *fed) for parent, fed in zip(parents.tolist(), tokens.tolist(), strict=True)]
        scores = np.full((len(tokens), self.config.vocabulary), IMPOSSIBLE)
        for row, before in enumerate(state):
            likely, words = self.script(before[1:]), mask.words[row]
            assert words is not None
            scores[row, words.ids] = likely[words.ids]
            for column, token in enumerate(self.config.controls):
                if mask.controls[row, column]:
                    scores[row, token] = likely[token]
        scores[mask.denied[:, 0], mask.denied[:, 1]] = IMPOSSIBLE
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        values = np.take_along_axis(scores, best, axis=1)
        fed = np.zeros((len(tokens), tokens.shape[1] - 1), np.float32)
        return Step(state, best, values.astype(np.float32), np.zeros(0, np.float32), fed)  # type: ignore[arg-type]

    def join(self, states: Sequence[Any]) -> Any:
        return [row for state in states for row in state]
