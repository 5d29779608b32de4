"""Several parsers as one: the mean of their scores, or of their weights.

The mean of scores errs less often than any of them but takes as many times as long, so it is a teacher rather than a
parser for every day: `syntagma parse --parser A+B` writes its trees, and `syntagma parser train --teacher A+B` has one
parser learn its scores.  The mean of weights is a parser like each of them, and often a better one where they began at
the same weights and went different ways (`syntagma parser export A B`).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from syntagma.errors import ConfigError
from syntagma.parse.base import neural_folders
from syntagma.parse.network import ParserBatch, ParserNetwork
from syntagma.parse.trainable import TrainableParser


class Ensemble(nn.Module):
    """The mean of several networks' scores for spans, and of their scores for tags."""

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)

    def forward(self, batch: ParserBatch) -> tuple[Tensor, Tensor]:
        """As `ParserNetwork` gives them."""
        spans, tags = zip(*(network(batch) for network in self.networks), strict=True)
        return torch.stack(spans).mean(0), torch.stack([some.log_softmax(2) for some in tags]).mean(0)


def load_trainable(name: str) -> TrainableParser:
    """The neural parser of that name, or those of `A+B` as one, in torch."""
    folders = neural_folders(name)
    parsers = [TrainableParser.load(folder) for _, folder in folders]
    return parsers[0] if len(parsers) == 1 else join([member for member, _ in folders], parsers)


def join(names: Sequence[str], parsers: Sequence[TrainableParser]) -> TrainableParser:
    """One parser out of several, which must have the same labels, tags and encoder; `names` are what they go by."""
    _check_alike(names, parsers, "labels", "tags", "encoder")
    first = parsers[0]
    joined = TrainableParser(first.config, Ensemble([parser.network for parser in parsers]), first.pieces)
    joined.name = "+".join(parser.name for parser in parsers)
    joined.version = "+".join(parser.version for parser in parsers)
    return joined


def average(names: Sequence[str], parsers: Sequence[TrainableParser]) -> TrainableParser:
    """The parser with the mean of their weights, which must be of the same shapes; otherwise the first."""
    _check_alike(names, parsers, "labels", "tags", "encoder", "network")
    first = parsers[0]
    states = [parser.network.state_dict() for parser in parsers]
    network = ParserNetwork(first.config.encoder, first.config.network)
    network.load_state_dict({name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]})
    return TrainableParser(first.config, network, first.pieces)


def _check_alike(names: Sequence[str], parsers: Sequence[TrainableParser], *parts: str) -> None:
    first = parsers[0]
    for name, other in zip(names, parsers, strict=True):
        for part in parts:
            if getattr(other.config, part) != getattr(first.config, part):
                remedy = "take parsers that were trained on the same trees from the same encoder"
                raise ConfigError(f"the {part} of {names[0]} and {name} differ", remedy=remedy)
