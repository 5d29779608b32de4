"""The network that a run begins with: initialised at random, or from a trained model.

A model to start from (`init`) may have another vocabulary, another architecture or fewer layers.  What both have in
common is taken; a layer that the model does not have begins as nothing: it adds zero to what passes through it, so a
model with more layers starts where the model was.  What else another architecture has begins by chance.

The model may also be a pretrained one: of the Marian family, as Hugging Face stores it (`syntagma.network.marian`) or
as CTranslate2 does (`syntagma.network.ctranslate2`), or of the T5 family (`syntagma.network.t5`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from syntagma.corpus.store import Corpus
from syntagma.errors import ConfigError, Place
from syntagma.hub import PRETRAINED_FILES, bundled, fetch
from syntagma.network.config import ModelConfig
from syntagma.network.ctranslate2 import is_ctranslate2, read_ctranslate2
from syntagma.network.layers import AttentionBlock, FeedForwardBlock
from syntagma.network.marian import PretrainedModel, check_shape, is_marian, read_marian
from syntagma.network.network import Network
from syntagma.network.output import CopyHead
from syntagma.network.t5 import is_t5, read_t5
from syntagma.text.subwords import Subwords
from syntagma.train.config import TrainConfig
from syntagma.train.data import check_vocabulary

if TYPE_CHECKING:
    from syntagma.network.storage import Pretrained

_BY_PIECE = ("embedding.weight", "output_embedding.weight", "output_bias")
"""Weights that have a row for each piece of the vocabulary."""
_LITTLE = -4.0
"""The gate of a copy head that copies next to nothing, before the sigmoid."""


def settled(config: TrainConfig) -> TrainConfig:
    """The settings with the architecture that they come to: a run that starts from a model keeps the model's."""
    if config.architecture is not None:
        return config
    if config.init is None or _pretrained_folder(config.init) is not None:
        return replace(config, architecture=config.usual_architecture)
    from syntagma.network.storage import from_pretrained

    return replace(config, architecture=from_pretrained(config.init).config.architecture)


def starting_network(config: TrainConfig, corpus: Corpus) -> Network:
    """The network of a run before its first step."""
    if config.init is None:
        return Network(config.network(corpus.subwords))
    if (folder := _pretrained_folder(config.init)) is not None:
        read: Callable[[Path], PretrainedModel] = read_ctranslate2 if is_ctranslate2(folder) else read_marian
        return _from_pretrained(read_t5(folder) if is_t5(folder) else read(folder), config, corpus)
    from syntagma.network.storage import from_pretrained

    start = from_pretrained(config.init)
    network = Network(_shape(config, start.config, corpus.subwords))
    check_vocabulary(corpus, network.config)
    weights, own = dict(start.network.state_dict()), network.state_dict()
    shared = weights.keys() & own.keys()
    fresh = silenced(network, weights)
    unlike = [name for name in shared - set(_BY_PIECE) if weights[name].shape != own[name].shape]
    if network.config.architecture == start.config.architecture:
        unlike += [name for name in weights.keys() ^ own.keys() if not name.startswith(fresh)]
    if unlike:
        what = f"the settings make another network than the model {config.init} is"
        raise ConfigError(what, remedy="leave out the settings that change its shape")
    if start.subwords.fingerprint != corpus.fingerprint:
        weights |= _same_pieces(start, corpus, network)
    network.load_state_dict({name: weights[name] for name in shared}, strict=False)
    return network


def _pretrained_folder(name: str) -> Path | None:
    """The folder of a pretrained model (Marian, T5), if the name is that of one; a hub id is fetched."""
    folder = Path(name)
    if not folder.exists() and name not in bundled("model") and "/" in name:
        folder = fetch(name, "model", PRETRAINED_FILES)
    return folder if is_ctranslate2(folder) or is_marian(folder) or is_t5(folder) else None


def _from_pretrained(model: PretrainedModel, config: TrainConfig, corpus: Corpus) -> Network:
    shape = config.network(corpus.subwords).to_dict() | model.shape | config.model
    network = Network(ModelConfig.from_dict(shape))
    check_shape(model, network.config)
    check_vocabulary(corpus, network.config)
    weights = model.initial_weights(network.config, corpus.subwords)
    silenced(network, weights)
    for embedding in (network.slot, network.parent, network.birth):
        if embedding is not None:
            nn.init.zeros_(embedding.weight)
    network.load_state_dict(weights, strict=False)
    return network


def _shape(config: TrainConfig, start: ModelConfig, subwords: Subwords) -> ModelConfig:
    """The shape of the model that the run starts from, as far as the settings leave it.

    Another architecture keeps its layers, too; a context encoder that it lacks has as many as the preset's.
    """
    values: dict[str, Any] = {**start.to_dict(), "vocabulary": subwords.size}
    if config.architecture not in (None, start.architecture):
        usual = config.network(subwords)
        names = ["architecture", "seq2seq_objective"]
        if not (start.attends_to_context and usual.attends_to_context):
            names.append("context_layers")
        values |= {name: getattr(usual, name) for name in names}
    return ModelConfig.from_dict(values | config.model)


def silenced(network: nn.Module, known: Mapping[str, Tensor]) -> tuple[str, ...]:
    """Let every sublayer that has no weight in `known` begin as nothing; what their weights' names begin with.

    A copy head begins with a share of two percent: with none it would learn nothing.
    """
    fresh = []
    for name, block in network.named_modules():
        if isinstance(block, AttentionBlock):
            last = block.attention.output
        elif isinstance(block, FeedForwardBlock):
            last = block.outer
        elif isinstance(block, CopyHead):
            last = block.gate
        else:
            continue
        if not any(weight.startswith(f"{name}.") for weight in known):
            nn.init.zeros_(last.weight)
            nn.init.constant_(last.bias, _LITTLE if isinstance(block, CopyHead) else 0.0)
            fresh.append(f"{name}.")
    return tuple(fresh)


def _same_pieces(start: Pretrained[Network], corpus: Corpus, network: Network) -> dict[str, Tensor]:
    """The network's weights for each piece, taken from the model it starts from where both have the piece."""
    if not isinstance(start.subwords, Subwords):
        what = "it was made with another tokenizer than the model, whose pieces cannot be compared"
        raise ConfigError(what, Place(str(corpus.folder)), "start from a model that was trained by Syntagma")
    old, new = (
        {vocabulary.piece(index): index for index in range(vocabulary.first_text_id, vocabulary.size)}
        for vocabulary in (start.subwords, corpus.subwords)
    )
    shared = sorted(old.keys() & new.keys())
    controls = list(range(corpus.subwords.first_text_id))
    start_weights, own_weights = start.network.state_dict(), network.state_dict()
    weights = {}
    for name in _BY_PIECE:
        if name in start_weights and name in own_weights:
            rows = [(new[piece], old[piece]) for piece in shared]
            rows = [
                (to, origin) for to, origin in rows if to < len(own_weights[name]) and origin < len(start_weights[name])
            ]
            weights[name] = own_weights[name].clone()
            weights[name][controls + [to for to, _ in rows]] = start_weights[name][
                controls + [origin for _, origin in rows]
            ]
    return weights
