"""Several parsers as one: the mean of their scores, which errs less often than any of them.

It takes as many times as long, so it is a teacher rather than a parser for every day: `syntagma parse --parser A+B`
writes its trees, and `syntagma parser train --teacher A+B` has one parser learn its scores.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from syntagma.errors import ConfigError
from syntagma.parse.network import Batch
from syntagma.parse.neural import NeuralParser


class Ensemble(nn.Module):
    """The mean of several networks' scores for spans, and of their scores for tags."""

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """As `ParserNetwork` gives them."""
        spans, tags = zip(*(network(batch) for network in self.networks), strict=True)
        return torch.stack(spans).mean(0), torch.stack([some.log_softmax(2) for some in tags]).mean(0)


def join(names: Sequence[str], parsers: Sequence[NeuralParser]) -> NeuralParser:
    """One parser out of several, which must have the same labels, tags and encoder; `names` are what they go by."""
    first = parsers[0]
    for name, other in zip(names, parsers, strict=True):
        for what in ("labels", "tags", "encoder"):
            if getattr(other.config, what) != getattr(first.config, what):
                remedy = "join parsers that were trained on the same trees from the same encoder"
                raise ConfigError(f"the {what} of {names[0]} and {name} differ", remedy=remedy)
    joined = NeuralParser(first.config, Ensemble([parser.network for parser in parsers]), first.pieces)
    joined.name = "+".join(parser.name for parser in parsers)
    joined.version = "+".join(parser.version for parser in parsers)
    return joined
