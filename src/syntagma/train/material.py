"""What a run trains: a network, the vocabulary of its ids, and the examples in those ids.

A network of our own reads the ids that the corpus holds; a backbone has a vocabulary of its own, and the corpus's texts
and trees are tokenised with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from syntagma.corpus.store import Corpus, Split
from syntagma.errors import ConfigError, Place
from syntagma.model.interface import Learns
from syntagma.model.network import Network
from syntagma.text.subwords import Subwords
from syntagma.text.vocabulary import Vocabulary
from syntagma.train.config import TrainConfig
from syntagma.train.data import DataError, Examples, check_vocabulary
from syntagma.train.engine import Engine
from syntagma.train.tokenised import Tokenised

if TYPE_CHECKING:
    from syntagma.backbone.storage import Origin
    from syntagma.model.storage import Pretrained


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
        return Material(_network(config, corpus), corpus.subwords, lambda name: _split(corpus, name).examples)
    from syntagma.backbone.storage import make_backbone

    rank = config.lora_rank if config.lora else 0
    network, vocabulary, origin = make_backbone(
        config.backbone, corpus.labels, config.architecture, lora=rank, **config.model
    )

    def examples(name: str) -> Examples:
        split, path = _split(corpus, name), folder / f"ids-{name}.safetensors"
        if engine.rank == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
            Tokenised.of(split, vocabulary, path)
        engine.wait()
        return Tokenised.of(split, vocabulary, path)

    return Material(network, vocabulary, examples, origin)


def _network(config: TrainConfig, corpus: Corpus) -> Network:
    if config.init is None:
        return Network(config.network(corpus.subwords))
    from syntagma.model.storage import from_pretrained

    start = from_pretrained(config.init)
    weights = start.network.state_dict()
    wanted = {**start.config.to_dict(), **config.model, "vocabulary": corpus.subwords.size}
    network = Network(type(start.config).from_dict(wanted))
    check_vocabulary(corpus, network.config)
    try:
        if start.subwords.fingerprint != corpus.fingerprint:
            weights["embedding.weight"] = _same_pieces(start, corpus, network)
        network.load_state_dict(weights)
    except RuntimeError:
        what = f"the settings make another network than the model {config.init} is"
        raise ConfigError(what, remedy="leave out the settings that change its shape") from None
    return network


def _same_pieces(start: Pretrained[Network], corpus: Corpus, network: Network) -> Tensor:
    """The network's embeddings, where its vocabulary has the pieces of the model it starts from with those."""
    if not isinstance(start.subwords, Subwords):
        what = "it was made with another tokenizer than the model, whose pieces cannot be compared"
        raise ConfigError(what, Place(str(corpus.folder)), "start from a model that was trained by Syntagma")
    old, new = (
        {vocabulary.piece(at): at for at in range(vocabulary.first_text_id, vocabulary.size)}
        for vocabulary in (start.subwords, corpus.subwords)
    )
    both = sorted(old.keys() & new.keys())
    controls = list(range(corpus.subwords.first_text_id))
    embeddings = network.embedding.weight.detach().clone()
    embeddings[controls + [new[piece] for piece in both]] = start.network.embedding.weight.detach()[
        controls + [old[piece] for piece in both]
    ]
    return embeddings


def _split(corpus: Corpus, name: str) -> Split:
    if name not in corpus.splits:
        what = f"there is no split {name!r}"
        raise DataError(what, Place(str(corpus.folder)), f"prepare one; there are: {', '.join(corpus.splits)}")
    return corpus.split(name)
