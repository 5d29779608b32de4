"""The material of a run: a network, the vocabulary of its ids, and the examples in those ids.

A network of our own reads the ids that the corpus holds; a backbone has a vocabulary of its own, and the corpus's texts
and trees are tokenised with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from syntagma.corpus.store import Corpus, Split
from syntagma.errors import Place
from syntagma.network.interface import Learns
from syntagma.text.vocabulary import Vocabulary
from syntagma.train.config import TrainConfig
from syntagma.train.data import DataError, Examples
from syntagma.train.engine import Engine
from syntagma.train.start import starting_network
from syntagma.train.tokenised import Tokenised

if TYPE_CHECKING:
    from syntagma.network.backbone.storage import Origin


@dataclass(frozen=True)
class Material:
    """A network with what it is trained on; `origin` says what a backbone is based on."""

    network: Learns
    vocabulary: Vocabulary
    examples: Callable[[str], Examples]
    """Of a split."""
    origin: Origin | None = None


def gather(config: TrainConfig, corpus: Corpus, engine: Engine, folder: Path) -> Material:
    """The material of a run, at its first step."""
    torch.manual_seed(config.seed)
    if config.backbone is None:
        return Material(starting_network(config, corpus), corpus.subwords, lambda name: _split(corpus, name).examples)
    from syntagma.network.backbone.storage import make_backbone

    rank = config.lora_rank if config.lora else 0
    network, vocabulary, origin = make_backbone(
        config.backbone, corpus.labels, config.usual_architecture, lora=rank, **config.model
    )

    def examples(name: str) -> Examples:
        split, path = _split(corpus, name), folder / f"ids-{name}"
        if engine.rank == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
            Tokenised.of(split, vocabulary, path)
        engine.barrier()
        return Tokenised.of(split, vocabulary, path)

    return Material(network, vocabulary, examples, origin)


def _split(corpus: Corpus, name: str) -> Split:
    if name not in corpus.splits:
        what = f"there is no split {name!r}"
        raise DataError(what, Place(str(corpus.folder)), f"prepare one; there are: {', '.join(corpus.splits)}")
    return corpus.split(name)
