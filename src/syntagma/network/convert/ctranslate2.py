"""Our one-encoder models for the engine CTranslate2 (extra `ctranslate2`), in fp32 or int8.

CTranslate2 cannot hold two encoders, so `extra-encoder` and `extra-attention` models stay with torch.  Its vocabulary
is our ids written as numbers: `["17", "293", "1"]`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from syntagma.errors import ConfigError, MissingExtra
from syntagma.network.config import ModelConfig
from syntagma.network.layers import AttentionBlock, EncoderLayer, FeedForwardBlock
from syntagma.network.network import Network

Weights = Literal["float32", "int8"]
NEVER = -1e4
"""The bias of a piece that is read and never written."""


def to_ctranslate2(network: Network, folder: str | Path, weights: Weights = "float32") -> None:
    """Write the model into a new folder that CTranslate2's `Translator` opens."""
    try:
        from ctranslate2.specs import TransformerSpec, common_spec
    except ImportError:
        raise MissingExtra("ctranslate2", "ctranslate2", "the engine CTranslate2") from None
    config = network.config
    if config.attends_to_context or config.copy or config.label_index:
        raise ConfigError(
            "CTranslate2 holds only models with one encoder, without copying and label indices",
            remedy="train with architecture=concat or seq2seq, copy=false and label_index=false",
        )
    if network.positions is None:
        what = "CTranslate2 has no place for relative positions here"
        raise ConfigError(what, remedy="compare with a model that has absolute ones")
    spec = TransformerSpec.from_config(
        (config.source_layers, config.decoder_layers),
        config.heads,
        pre_norm=config.norm == "pre",
        activation=getattr(common_spec.Activation, config.activation.upper()),
    )
    table = network.positions.table[config.first_position : config.first_position + config.max_positions]
    spec.encoder.embeddings[0].weight = _array(network.embedding.weight)
    spec.decoder.embeddings.weight = _array(network.embedding.weight)
    spec.decoder.projection.weight = _array(network.embedding.weight)
    if network.output_bias is not None or config.outputs is not None:
        bias = torch.full((config.vocabulary,), NEVER)
        bias[: config.outputs] = 0 if network.output_bias is None else network.output_bias.detach()
        spec.decoder.projection.bias = _array(bias)
    for side in (spec.encoder, spec.decoder):
        side.position_encodings.encodings = _array(table)
    if config.norm == "pre":
        _norm(spec.encoder.layer_norm, network.source_encoder.norm)
        _norm(spec.decoder.layer_norm, network.decoder_norm)
    for theirs, ours in zip(spec.encoder.layer, network.source_encoder.layers, strict=True):
        assert isinstance(ours, EncoderLayer)
        _self_attention(theirs.self_attention, ours.self_attention)
        _feed_forward(theirs.ffn, ours.feed_forward)
    for theirs, layer in zip(spec.decoder.layer, network.layers, strict=True):
        _self_attention(theirs.self_attention, layer.self_attention)
        _attention(theirs.attention, layer.source_attention)
        _feed_forward(theirs.ffn, layer.feed_forward)
    register_ids(spec, config)
    spec.validate()
    spec.optimize(quantization=None if weights == "float32" else weights)
    Path(folder).mkdir(parents=True)
    spec.save(str(folder))


def register_ids(spec: Any, config: ModelConfig) -> None:
    """Give a model our ids, written as numbers, for its vocabulary."""
    tokens = [str(number) for number in range(config.vocabulary)]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.bos_token = spec.config.decoder_start_token = str(config.start)
    spec.config.eos_token, spec.config.unk_token = str(config.end), str(config.pad)
    spec.config.add_source_eos = spec.config.add_source_bos = False


def _array(tensor: torch.Tensor) -> Any:
    return tensor.detach().float().cpu().numpy().copy()  # quantising works in place


def _norm(theirs: Any, ours: nn.Module) -> None:
    assert isinstance(ours, nn.LayerNorm)
    theirs.gamma, theirs.beta = _array(ours.weight), _array(ours.bias)


def _linear(theirs: Any, *ours: nn.Linear) -> None:
    """One layer of theirs from one or more of ours, one below the other."""
    theirs.weight = _array(torch.cat([layer.weight for layer in ours]))
    theirs.bias = _array(torch.cat([layer.bias for layer in ours]))


def _self_attention(theirs: Any, ours: AttentionBlock) -> None:
    _linear(theirs.linear[0], ours.attention.query, ours.attention.memory)
    _linear(theirs.linear[1], ours.attention.output)
    _norm(theirs.layer_norm, ours.norm)


def _attention(theirs: Any, ours: AttentionBlock) -> None:
    _linear(theirs.linear[0], ours.attention.query)
    _linear(theirs.linear[1], ours.attention.memory)
    _linear(theirs.linear[2], ours.attention.output)
    _norm(theirs.layer_norm, ours.norm)


def _feed_forward(theirs: Any, ours: FeedForwardBlock) -> None:
    _linear(theirs.linear_0, ours.inner)
    _linear(theirs.linear_1, ours.outer)
    _norm(theirs.layer_norm, ours.norm)
