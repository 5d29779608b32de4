"""Our one-encoder models as Hugging Face Marian models, weight for weight, for other engines to run.

A post-norm `seq2seq`, `linearised` or `concat` network computes exactly what `MarianMTModel` computes with these
weights; it reads our ids.  From there CTranslate2's converter goes on.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from syntagma.errors import ConfigError
from syntagma.network.network import Network


def to_marian(network: Network) -> Any:
    """The same model as a `MarianMTModel`."""
    from transformers import MarianConfig, MarianMTModel

    config = network.config
    if config.attends_to_context or config.norm != "post" or config.copy or config.label_index:
        raise ConfigError(
            "only a post-norm model with one encoder, without copying and label indices, fits into Marian",
            remedy="train with architecture=seq2seq or concat, norm=post",
        )
    if config.positions == "relative":
        raise ConfigError("Marian has no relative positions", remedy="compare with a model that has absolute ones")
    shape = MarianConfig(
        vocab_size=config.vocabulary,
        d_model=config.width,
        encoder_layers=config.source_layers,
        decoder_layers=config.decoder_layers,
        encoder_attention_heads=config.heads,
        decoder_attention_heads=config.heads,
        encoder_ffn_dim=config.feed_forward,
        decoder_ffn_dim=config.feed_forward,
        activation_function=config.activation,
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
        tie_word_embeddings=True,
        max_position_embeddings=config.max_positions,
        pad_token_id=config.pad,
        eos_token_id=config.end,
        decoder_start_token_id=config.start,
        bos_token_id=config.start,
        forced_eos_token_id=None,
        dropout=config.dropout,
    )
    model: Any = MarianMTModel(shape)
    model.eval()
    missing, unknown = model.load_state_dict(_renamed(network), strict=False)
    if config.outputs is not None:  # ids beyond can be read, not written
        model.final_logits_bias[:, config.outputs :] = -1e9
    if network.output_bias is not None:
        model.final_logits_bias[0, : len(network.output_bias)] = network.output_bias.detach()
    left = [name for name in missing if name not in ("final_logits_bias", "lm_head.weight")]
    if left or unknown:
        raise AssertionError(f"weights do not fit: missing {left}, unknown {unknown}")
    return model


def _renamed(network: Network) -> dict[str, Tensor]:
    config = network.config
    assert network.positions is not None
    ours = network.state_dict()
    table = network.positions.table[config.first_position : config.first_position + config.max_positions]
    theirs: dict[str, Tensor] = {}
    for name in ("model.shared", "model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        theirs[f"{name}.weight"] = ours["embedding.weight"]
    for side in ("encoder", "decoder"):
        theirs[f"model.{side}.embed_positions.weight"] = table.detach().clone()
    for number in range(config.source_layers):
        layer, prefix = f"source_encoder.layers.{number}.", f"model.encoder.layers.{number}."
        _attention(ours, theirs, layer + "self_attention.", prefix + "self_attn")
        _feed_forward(ours, theirs, layer, prefix)
    for number in range(config.decoder_layers):
        layer, prefix = f"decoder.{number}.", f"model.decoder.layers.{number}."
        _attention(ours, theirs, layer + "self_attention.", prefix + "self_attn")
        _attention(ours, theirs, layer + "source_attention.", prefix + "encoder_attn")
        _feed_forward(ours, theirs, layer, prefix)
    return theirs


def _attention(ours: dict[str, Tensor], theirs: dict[str, Tensor], name: str, prefix: str) -> None:
    for kind in ("weight", "bias"):
        theirs[f"{prefix}.q_proj.{kind}"] = ours[f"{name}attention.query.{kind}"]
        keys, values = torch.chunk(ours[f"{name}attention.memory.{kind}"], 2)
        theirs[f"{prefix}.k_proj.{kind}"] = keys.clone()
        theirs[f"{prefix}.v_proj.{kind}"] = values.clone()
        theirs[f"{prefix}.out_proj.{kind}"] = ours[f"{name}attention.output.{kind}"]
        theirs[f"{prefix}_layer_norm.{kind}"] = ours[f"{name}norm.{kind}"]


def _feed_forward(ours: dict[str, Tensor], theirs: dict[str, Tensor], layer: str, prefix: str) -> None:
    for kind in ("weight", "bias"):
        theirs[f"{prefix}fc1.{kind}"] = ours[f"{layer}feed_forward.inner.{kind}"]
        theirs[f"{prefix}fc2.{kind}"] = ours[f"{layer}feed_forward.outer.{kind}"]
        theirs[f"{prefix}final_layer_norm.{kind}"] = ours[f"{layer}feed_forward.norm.{kind}"]
