"""Pretrained T5 models (T5 1.1, Flan-T5) as initial weights: load, validate, choose what our network has room for.

A folder holds `config.json`, `model.safetensors` and `tokenizer.json` as Hugging Face stores them.  What T5 leaves out
of its sums (a scale on embeddings, on attention scores) goes into the weights, so our network computes what T5
computes, but for words that T5 begins with a space by itself, which our vocabulary joins to the piece after it.  A
sublayer that T5 lacks begins as nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from syntagma.errors import Place
from syntagma.network.config import ModelConfig
from syntagma.network.marian import known_rows, spread
from syntagma.network.relative import BUCKETS, FARTHEST
from syntagma.network.storage import ModelError, check_weights, load_weights
from syntagma.settings import read_mapping
from syntagma.text.piecefiles import TOKENIZER, read_unigram
from syntagma.text.sentencepieces import Unigram
from syntagma.text.subwords import END, PAD, START, Subwords

_ACTIVATIONS = {"gated-gelu": "gated-gelu", "relu": "relu"}
_FEED_FORWARD = {"gated-gelu": {"inner": "wi_0", "gate": "wi_1", "outer": "wo"}, "relu": {"inner": "wi", "outer": "wo"}}
"""Our names of the feed-forward layers, and T5's."""
_BIASES = "block.0.layer.0.SelfAttention.relative_attention_bias.weight"


@dataclass(frozen=True)
class T5Model:
    """A T5 model's weights under its own names, and its pieces with their scores, in the order of its embeddings."""

    folder: Path
    config: Mapping[str, Any]
    weights: Mapping[str, Tensor]
    pieces: Mapping[str, float]
    rows: Mapping[str, int]

    @property
    def shape(self) -> dict[str, Any]:
        """Settings of `ModelConfig` that a network must have in common with it."""
        return {
            "width": self.config["d_model"],
            "heads": self.config["num_heads"],
            "head_width": self.config["d_kv"],
            "feed_forward": self.config["d_ff"],
            "activation": _activation(self.config),
            "norm": "pre",
            "norm_kind": "rms",
            "positions": "relative",
            "output_embedding": True,
        }

    def layers(self, side: str) -> int:
        """How many layers the encoder or the decoder has."""
        count = self.config["num_layers"]
        return int(count if side == "encoder" else self.config.get("num_decoder_layers") or count)

    def initial_weights(self, config: ModelConfig, subwords: Subwords) -> dict[str, Tensor]:
        """The weights of a network of ours that the model has, under our names.

        A stack with fewer layers takes some of T5's, evenly spread; the context encoder takes the encoder's lowest.
        """
        weights: dict[str, Tensor] = {}
        stacks = {"source_encoder": spread(config.source_layers, self.layers("encoder"))}
        if config.architecture == "extra-encoder":
            stacks["context_encoder"] = list(range(min(config.context_layers, self.layers("encoder"))))
        for name, origins in stacks.items():
            for number, origin in enumerate(origins):
                weights |= self._layer("encoder", origin, f"{name}.layers.{number}")
            weights[f"{name}.norm.weight"] = self.weights["encoder.final_layer_norm.weight"]
            weights[f"{name}.relative.table.weight"] = self.weights[f"encoder.{_BIASES}"]
        for number, origin in enumerate(spread(config.decoder_layers, self.layers("decoder"))):
            weights |= self._layer("decoder", origin, f"decoder.{number}")
        weights["decoder_norm.weight"] = self.weights["decoder.final_layer_norm.weight"]
        weights["relative.table.weight"] = self.weights[f"decoder.{_BIASES}"]
        read = self.weights["shared.weight"]
        written = self.weights.get("lm_head.weight", read * config.width**-0.5)
        embedding, output = (self._rows(table, subwords) for table in (read * config.width**-0.5, written))
        embedding[PAD] = 0.0
        return weights | {"embedding.weight": embedding, "output_embedding.weight": output[: config.outputs]}

    def _layer(self, side: str, origin: int, ours: str) -> dict[str, Tensor]:
        theirs = f"{side}.block.{origin}.layer"
        blocks = ["self_attention"] + (["source_attention"] if side == "decoder" else []) + ["feed_forward"]
        weights: dict[str, Tensor] = {}
        for number, block in enumerate(blocks):
            weights[f"{ours}.{block}.norm.weight"] = self.weights[f"{theirs}.{number}.layer_norm.weight"]
            if block == "feed_forward":
                for mine, name in _FEED_FORWARD[_activation(self.config)].items():
                    weights[f"{ours}.{block}.{mine}.weight"] = self.weights[
                        f"{theirs}.{number}.DenseReluDense.{name}.weight"
                    ]
                continue
            attention = f"{theirs}.{number}.{'SelfAttention' if number == 0 else 'EncDecAttention'}"
            parts = {part: self.weights[f"{attention}.{part}.weight"] for part in "qkvo"}
            mine = f"{ours}.{block}.attention"
            weights[f"{mine}.query.weight"] = parts["q"] * self.config["d_kv"] ** 0.5  # T5 does not scale its scores
            weights[f"{mine}.memory.weight"] = torch.cat([parts["k"], parts["v"]])
            weights[f"{mine}.output.weight"] = parts["o"]
        zeros = {
            name.removesuffix("weight") + "bias": weight.new_zeros(len(weight)) for name, weight in weights.items()
        }
        return weights | {name: zero for name, zero in zeros.items() if ".norm." not in name}

    def _rows(self, table: Tensor, subwords: Subwords) -> Tensor:
        """A table [V, W] for a vocabulary of ours: a piece that T5 writes in parts is their mean, what it cannot
        write is drawn about the mean of all."""
        made = table.mean(dim=0) + torch.randn(subwords.size, table.shape[1]) * table.std(dim=0)
        control = {START: [int(self.config["decoder_start_token_id"])], END: [int(self.config["eos_token_id"])]}
        for number, rows in (control | known_rows(subwords, self.rows, lambda: Unigram(self.pieces))).items():
            made[number] = table[rows].mean(dim=0)
        return made


def is_t5(folder: Path) -> bool:
    """Whether a folder holds a T5 model in the form of Hugging Face."""
    path = folder / "config.json"
    return path.is_file() and read_mapping(path).get("model_type") == "t5"


def read_t5(folder: str | Path) -> T5Model:
    """The model in a folder; everything that is wrong with its weights is said at once."""
    folder = Path(folder)
    config = {"decoder_start_token_id": 0, "eos_token_id": 1} | dict(read_mapping(folder / "config.json"))
    problems = _unlike(config)
    if problems:
        raise ModelError("; ".join(problems), Place(str(folder / "config.json")), "start from T5 1.1 or Flan-T5")
    weights = load_weights(folder / "model.safetensors")
    for name in ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight"):  # the same, under other names
        weights.setdefault("shared.weight", weights.get(name, torch.zeros(0)))
    try:
        wanted = dict(_shapes(config, "lm_head.weight" in weights))
    except (KeyError, TypeError) as error:
        what = f"its config.json says nothing of {error}"
        raise ModelError(what, Place(str(folder)), "download the model again") from None
    problems = check_weights(wanted, {name: tuple(weights[name].shape) for name in wanted.keys() & weights.keys()})
    if problems:
        raise ModelError("; ".join(problems), Place(str(folder)), "use the config.json that belongs to it")
    pieces = read_unigram(folder / TOKENIZER)
    rows = {piece: row for row, (piece, _) in enumerate(pieces)}
    return T5Model(folder, config, {name: weights[name].float() for name in wanted}, dict(pieces), rows)


def _activation(config: Mapping[str, Any]) -> str:
    return _ACTIVATIONS[config["feed_forward_proj"]]


def _unlike(config: Mapping[str, Any]) -> list[str]:
    """The parts of a model's configuration that no network of ours computes."""
    problems = []
    if config.get("feed_forward_proj") not in _ACTIVATIONS:
        problems.append(f"its feed-forward layers are {config.get('feed_forward_proj')!r}, which Syntagma has not")
    for name, ours in (("relative_attention_num_buckets", BUCKETS), ("relative_attention_max_distance", FARTHEST)):
        if config.get(name, ours) != ours:
            problems.append(f"its {name} is {config[name]}, not {ours}")
    return problems


def _shapes(config: Mapping[str, Any], separate_output: bool) -> Iterator[tuple[str, tuple[int, ...]]]:
    width, inner = config["d_model"], config["num_heads"] * config["d_kv"]
    yield "shared.weight", (config["vocab_size"], width)
    if separate_output:
        yield "lm_head.weight", (config["vocab_size"], width)
    names = _FEED_FORWARD[_activation(config)].values()
    feed_forward = dict.fromkeys(names, (config["d_ff"], width)) | {"wo": (width, config["d_ff"])}
    counts = {"encoder": config["num_layers"]}
    counts["decoder"] = config.get("num_decoder_layers") or config["num_layers"]
    for side, count in counts.items():
        yield f"{side}.final_layer_norm.weight", (width,)
        yield f"{side}.{_BIASES}", (BUCKETS, config["num_heads"])
        attentions: Iterable[str] = ["SelfAttention"] if side == "encoder" else ["SelfAttention", "EncDecAttention"]
        for layer in range(count):
            at = f"{side}.block.{layer}.layer"
            number = 0
            for number, attention in enumerate(attentions):
                yield f"{at}.{number}.layer_norm.weight", (width,)
                for part in "qkv":
                    yield f"{at}.{number}.{attention}.{part}.weight", (inner, width)
                yield f"{at}.{number}.{attention}.o.weight", (width, inner)
            yield f"{at}.{number + 1}.layer_norm.weight", (width,)
            for name, shape in feed_forward.items():
                yield f"{at}.{number + 1}.DenseReluDense.{name}.weight", shape
