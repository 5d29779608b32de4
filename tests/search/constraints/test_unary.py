from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from search_models import TEXTS, random_model
from syntagma.runtime.base import IMPOSSIBLE, Capabilities, Draw, Mask, Step
from syntagma.search import Generator, SearchOptions
from syntagma.text import Subwords, split
from syntagma.tree import Tree

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
NOUN = SUBWORDS.label_id("NP")


class LoopingRuntime:
    """A model, in numpy, that lets every constituent become one noun phrase and nothing else."""

    def __init__(self) -> None:
        self.config = random_model(SUBWORDS).config
        self.capabilities = Capabilities(guided=True, scores_texts=False)

    def encode(self, sources: Sequence[Any]) -> list[Any]:
        return list(sources)

    def open(self, sources: Sequence[Any], contexts: Any) -> list[int]:
        return [0] * len(sources)

    def step(self, state: Any, parents: Any, tokens: Any, mask: Mask | None, k: int, draw: Draw | None = None) -> Step:
        assert mask is not None
        config = self.config
        scores = np.full((len(tokens), config.vocabulary), IMPOSSIBLE)
        for row, last in enumerate(tokens[:, -1].tolist()):
            likely = np.linspace(-5, -6, config.vocabulary)
            likely[NOUN if last == config.part else [config.part, config.end]] = -0.1
            words = mask.words[row]
            assert words is not None
            scores[row, words.ids] = likely[words.ids]
            for column, token in enumerate(config.controls):
                if mask.controls[row, column]:
                    scores[row, token] = likely[token]
        scores[mask.denied[:, 0], mask.denied[:, 1]] = IMPOSSIBLE
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        values = np.take_along_axis(scores, best, axis=1)
        fed = np.zeros((len(tokens), tokens.shape[1] - 1), np.float32)
        return Step([0] * len(tokens), best, values.astype(np.float32), np.zeros(0, np.float32), fed)  # type: ignore[arg-type]

    def join(self, states: Sequence[Any]) -> Any:
        return [row for state in states for row in state]


def longest_chain(tree: Tree) -> int:
    """How often in a row a constituent is nothing but another of its own label."""
    longest = 0
    for node in tree.nodes():
        size, inner = 0, node
        while len(inner.children) == 1 and isinstance(below := inner.children[0], Tree) and below.label == node.label:
            size, inner = size + 1, below
        longest = max(longest, size)
    return longest


@pytest.mark.parametrize(("most", "longest"), [(0, 0), (1, 1), (2, 2), (-1, 7)])
def test_a_label_becomes_itself_only_so_often(most: int, longest: int) -> None:
    """Else it would do so down to the last depth."""
    options = SearchOptions(beam=1, max_depth=9, max_tokens=9, max_unary_repeats=most)
    (output,) = Generator(LoopingRuntime(), SUBWORDS, options)(TEXTS[0])
    assert output.tree is not None
    assert longest_chain(output.tree) == longest
