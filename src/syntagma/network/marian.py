"""Pretrained Marian models (OPUS-MT) as initial weights: load, validate, choose what a network of ours has a place for.

A folder holds `config.json`, the weights (`model.safetensors`, or `pytorch_model.bin`, which is read without executing
anything), `vocab.json`, and the two sentencepiece files.  A sublayer that Marian lacks begins as nothing.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from syntagma.errors import ConfigError, Place
from syntagma.network.config import ModelConfig
from syntagma.network.storage import ModelError, check_weights, load_weights
from syntagma.settings import read_mapping
from syntagma.text.piecefiles import read_piece_scores
from syntagma.text.sentencepieces import SPACE, Unigram
from syntagma.text.subwords import END, PAD, START, Subwords

_SUBLAYERS = {
    "self_attention.attention": "self_attn",
    "self_attention.norm": "self_attn_layer_norm",
    "source_attention.attention": "encoder_attn",
    "source_attention.norm": "encoder_attn_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "feed_forward.norm": "final_layer_norm",
}
"""Our names of a layer's parts, and Marian's."""


class PretrainedModel(Protocol):
    """A pretrained model to start from."""

    @property
    def folder(self) -> Path:
        """Where it was read from."""

    @property
    def shape(self) -> dict[str, Any]:
        """Settings of `ModelConfig` that a network must have in common with it."""

    def initial_weights(self, config: ModelConfig, subwords: Subwords) -> dict[str, Tensor]:
        """The weights of a network of ours that it has, under our names."""


@dataclass(frozen=True)
class MarianModel:
    """A Marian model's weights under its own names, and the row of each piece in its embeddings."""

    folder: Path
    config: Mapping[str, Any]
    weights: Mapping[str, Tensor]
    rows: Mapping[str, int]

    @property
    def shape(self) -> dict[str, Any]:
        """Settings of `ModelConfig` that a network must have in common with it."""
        return {
            "width": self.config["d_model"],
            "heads": self.config["encoder_attention_heads"],
            "feed_forward": self.config["encoder_ffn_dim"],
            "max_positions": self.config["max_position_embeddings"],
            "activation": {"silu": "swish"}.get(*[self.config["activation_function"]] * 2),
            "norm": "post",
            "context_norm": "pre",  # so that it changes nothing at first
            "positions": "marian",
            "output_bias": True,
        }

    def layers(self, side: str) -> int:
        """How many layers the encoder or the decoder has."""
        return int(self.config[f"{side}_layers"])

    def initial_weights(self, config: ModelConfig, subwords: Subwords) -> dict[str, Tensor]:
        """The weights of a network of ours that the model has, under our names."""
        return initial_weights(self, config, subwords)


def is_marian(folder: Path) -> bool:
    """Whether a folder holds a Marian model in the form of Hugging Face."""
    path = folder / "config.json"
    return path.is_file() and read_mapping(path).get("model_type") == "marian"


def read_marian(folder: str | Path) -> MarianModel:
    """The model in a folder; everything that is wrong with its weights is said at once."""
    folder = Path(folder)
    config = read_mapping(folder / "config.json")
    weights = _read_weights(folder)
    try:
        rows = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        wanted = dict(_shapes(config))
    except (OSError, ValueError, KeyError) as error:
        what = f"its vocab.json or config.json cannot be read ({error})"
        raise ModelError(what, Place(str(folder)), "download the model again") from None
    problems = check_weights(wanted, {name: tuple(weights[name].shape) for name in wanted.keys() & weights.keys()})
    if problems:
        raise ModelError("; ".join(problems), Place(str(folder)), "use the config.json that belongs to it")
    return MarianModel(folder, config, {name: weights[name].float() for name in wanted}, rows)


def _read_weights(folder: Path) -> dict[str, Tensor]:
    if (folder / "model.safetensors").is_file():
        return load_weights(folder / "model.safetensors")
    path = folder / "pytorch_model.bin"
    try:
        weights: dict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as error:
        reason = str(error).strip().splitlines()[0]
        what = f"it cannot be read as weights ({reason})"
        raise ModelError(what, Place(str(path)), "restore or download it again") from None
    return weights


def _shapes(config: Mapping[str, Any]) -> Iterable[tuple[str, tuple[int, ...]]]:
    width, vocabulary = config["d_model"], config["vocab_size"]
    yield "model.shared.weight", (vocabulary, width)
    yield "final_logits_bias", (1, vocabulary)
    for side, attentions in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"])):
        inner = config[f"{side}_ffn_dim"]
        for number in range(config[f"{side}_layers"]):
            layer = f"model.{side}.layers.{number}"
            matrices = {f"{name}.{kind}_proj": (width, width) for name in attentions for kind in ("q", "k", "v", "out")}
            matrices |= {"fc1": (inner, width), "fc2": (width, inner)}
            for name, shape in matrices.items():
                yield f"{layer}.{name}.weight", shape
                yield f"{layer}.{name}.bias", shape[:1]
            for name in (*(f"{name}_layer_norm" for name in attentions), "final_layer_norm"):
                yield f"{layer}.{name}.weight", (width,)
                yield f"{layer}.{name}.bias", (width,)


def initial_weights(model: MarianModel, config: ModelConfig, subwords: Subwords) -> dict[str, Tensor]:
    """The weights of a network of ours that a Marian model has, under our names.

    A stack with fewer layers takes some of Marian's, evenly spread; the context encoder takes the encoder's lowest.
    """
    weights: dict[str, Tensor] = {}
    for number, origin in enumerate(spread(config.source_layers, model.layers("encoder"))):
        weights |= _layer(model, f"model.encoder.layers.{origin}.", f"source_encoder.layers.{number}.")
    if config.architecture == "extra-encoder":
        for number in range(min(config.context_layers, model.layers("encoder"))):
            weights |= _layer(model, f"model.encoder.layers.{number}.", f"context_encoder.layers.{number}.")
    for number, origin in enumerate(spread(config.decoder_layers, model.layers("decoder"))):
        weights |= _layer(model, f"model.decoder.layers.{origin}.", f"decoder.{number}.")
    embedding, bias = _embeddings(model, subwords)
    return weights | {"embedding.weight": embedding, "output_bias": bias[: config.outputs]}


def spread(count: int, available: int) -> list[int]:
    """Which of the available layers a stack of `count` takes: the first, the last, and some between.

    >>> spread(3, 6), spread(6, 6), spread(8, 6)
    ([0, 2, 5], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5])
    """
    if count >= available:
        return list(range(available))
    return [round(number * (available - 1) / max(count - 1, 1)) for number in range(count)]


def _layer(model: MarianModel, theirs: str, ours: str) -> dict[str, Tensor]:
    weights: dict[str, Tensor] = {}
    for mine, name in _SUBLAYERS.items():
        if f"{theirs}{name}.weight" not in model.weights and f"{theirs}{name}.q_proj.weight" not in model.weights:
            continue  # an encoder has no attention to the source
        for kind in ("weight", "bias"):
            if mine.endswith("attention"):
                parts = {part: model.weights[f"{theirs}{name}.{part}_proj.{kind}"] for part in ("q", "k", "v", "out")}
                weights[f"{ours}{mine}.query.{kind}"] = parts["q"]
                weights[f"{ours}{mine}.memory.{kind}"] = torch.cat([parts["k"], parts["v"]])
                weights[f"{ours}{mine}.output.{kind}"] = parts["out"]
            else:
                weights[f"{ours}{mine}.{kind}"] = model.weights[f"{theirs}{name}.{kind}"]
    return weights


def _embeddings(model: MarianModel, subwords: Subwords) -> tuple[Tensor, Tensor]:
    """Embeddings [V, W] and output biases [V] of a vocabulary of ours.

    A piece that Marian has takes that embedding; another the mean of the pieces that it is made of; what has none, such
    as a label, is drawn about the mean of all.
    """
    theirs, their_bias = model.weights["model.shared.weight"], model.weights["final_logits_bias"][0]
    known = theirs[theirs.abs().sum(dim=1) > 0]
    spread_of_known = known.std(dim=0)
    embedding = known.mean(dim=0) + torch.randn(subwords.size, theirs.shape[1]) * spread_of_known
    bias = torch.zeros(subwords.size)
    bias[subwords.first_text_id :] = their_bias.min()  # text that Marian lacks, such as bytes, is written rarely
    embedding[PAD] = 0.0
    origin = {START: [int(model.config["decoder_start_token_id"])], END: [int(model.config["eos_token_id"])]}
    origin |= known_rows(subwords, model.rows, lambda: Unigram(read_piece_scores(model.folder).target))
    for number, rows in origin.items():
        embedding[number] = theirs[rows].mean(dim=0)
        bias[number] = their_bias[rows].mean()
    return embedding, bias


def known_rows(subwords: Subwords, rows: Mapping[str, int], segmenter: Callable[[], Unigram]) -> dict[int, list[int]]:
    """For each piece of a vocabulary of ours the rows of a pretrained model's table: that of the same piece, or those
    of the pieces that its text is made of.  The segmenter is made where it is needed."""
    found: dict[int, list[int]] = {}
    segment = None
    for number in range(subwords.first_text_id, subwords.size):
        text = subwords.piece(number).decode("utf-8", errors="replace").replace(" ", SPACE)
        if text in rows:
            found[number] = [rows[text]]
        elif "\ufffd" not in text:
            segment = segment or segmenter()
            parts = [piece for piece, _ in segment(text.replace(SPACE, " "))]
            if all(part in rows for part in parts):
                found[number] = [rows[part] for part in parts]
    return found


def check_shape(model: PretrainedModel, config: ModelConfig) -> None:
    """Refuse settings that make another network than a pretrained model's weights fit into."""
    wrong = [name for name, value in model.shape.items() if getattr(config, name) != value and name != "max_positions"]
    if wrong:
        told = ", ".join(f"{name}={model.shape[name]}" for name in wrong)
        what = f"the settings make another network than the model in {model.folder} is"
        raise ConfigError(what, remedy=f"leave out {', '.join(wrong)} (it has {told})")
