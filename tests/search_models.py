from __future__ import annotations

from typing import Any

import pytest
import torch

from syntagma.network.config import Architecture, preset
from syntagma.network.network import Network
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
