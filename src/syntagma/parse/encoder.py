"""A BERT encoder in plain torch, and loading the weights of a pretrained one.

It is here so that a parser starts without importing a model zoo: embeddings, layers of self-attention and feed-forward
with the norm after each, GELU.  `BertLayer` also serves as the word layer on top.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from syntagma.errors import ConfigError, Place
from syntagma.parse.shape import EncoderConfig


class BertLayer(nn.Module):
    """Self-attention and a feed-forward block, the norm after each."""

    def __init__(self, width: int, heads: int, feed_forward: int, epsilon: float, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.attention_in = nn.Linear(width, 3 * width)
        self.attention_out = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width, eps=epsilon)
        self.forward_in = nn.Linear(width, feed_forward)
        self.forward_out = nn.Linear(feed_forward, width)
        self.forward_norm = nn.LayerNorm(width, eps=epsilon)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """`x` (batch, length, width) to the same shape; `mask` (batch, 1, 1, length) is true where attention may go."""
        batch, length, width = x.shape
        query, key, value = self.attention_in(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)
        x = self.attention_norm(x + self.dropout(self.attention_out(mixed)))
        inner = self.forward_out(F.gelu(self.forward_in(x)))
        return self.forward_norm(x + self.dropout(inner))  # type: ignore[no-any-return]


class BertEncoder(nn.Module):
    """Pieces to one vector each, from every layer."""

    def __init__(self, config: EncoderConfig, dropout: float = 0.0) -> None:
        super().__init__()
        self.config = config
        self.pieces = _table(config.vocabulary, config.width)
        self.positions = _table(config.positions, config.width)
        self.shapes = _table(config.shapes, config.width)
        self.norm = nn.LayerNorm(config.width, eps=config.epsilon)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            BertLayer(config.width, config.heads, config.feed_forward, config.epsilon, dropout)
            for _ in range(config.layers)
        )

    def forward(
        self, pieces: Tensor, mask: Tensor | None = None, shapes: Tensor | None = None, extra: Tensor | None = None
    ) -> list[Tensor]:
        """The output (batch, length, width) of the embeddings and of each layer.

        `pieces` and `shapes` (batch, length) are ids; `mask` (batch, length) is true at pieces and false at padding,
        None where nothing is padded; `extra` (batch, 1 or length, width) is added to the embeddings.
        """
        x = self.pieces(pieces) + self.positions.weight[: pieces.shape[1]]
        if shapes is not None:
            x = x + self.shapes(shapes)
        if extra is not None:
            x = x + extra
        x = self.dropout(self.norm(x))
        attends = None if mask is None else mask[:, None, None, :]
        outputs = [x]
        for layer in self.layers:
            x = layer(x, attends)
            outputs.append(x)
        return outputs


def _table(rows: int, width: int) -> nn.Embedding:
    """An embedding of zeros: weights are always loaded, so none are drawn at random first."""
    return nn.Embedding(rows, width, _weight=torch.zeros(rows, width))


def load_bert(folder: str | Path, dropout: float = 0.0) -> BertEncoder:
    """The encoder of a folder with BERT's `config.json` and `model.safetensors`; an error lists what it lacks."""
    from safetensors.torch import load_file

    folder = Path(folder)
    try:
        raw = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        given = load_file(folder / "model.safetensors")
    except OSError:
        what = "it does not hold config.json and model.safetensors"
        raise ConfigError(what, Place(str(folder)), "give the folder of a BERT encoder") from None
    config = EncoderConfig(
        vocabulary=raw["vocab_size"],
        width=raw["hidden_size"],
        layers=raw["num_hidden_layers"],
        heads=raw["num_attention_heads"],
        feed_forward=raw["intermediate_size"],
        positions=raw["max_position_embeddings"],
        epsilon=raw["layer_norm_eps"],
    )
    given = {name.removeprefix("bert."): tensor.float() for name, tensor in given.items()}
    encoder = BertEncoder(config, dropout)
    wanted = _bert_names(config.layers)
    missing = sorted({name for names in wanted.values() for name in names} - set(given))
    if missing:
        raise ConfigError(f"weights are missing: {', '.join(missing)}", Place(str(folder)), "give a whole BERT encoder")
    weights = {own_name: torch.cat([given[name] for name in names]) for own_name, names in wanted.items()}
    # Every input is one segment here, so its embedding is a constant and goes into the positions.
    weights["positions.weight"] += given["embeddings.token_type_embeddings.weight"][0]
    weights["shapes.weight"] = encoder.shapes.weight.detach()
    encoder.load_state_dict(weights)
    return encoder


def _bert_names(layers: int) -> dict[str, list[str]]:
    """For each weight of `BertEncoder`, the weights of BERT that make it, one below the other."""
    names = {
        "pieces.weight": ["embeddings.word_embeddings.weight"],
        "positions.weight": ["embeddings.position_embeddings.weight"],
        "norm.weight": ["embeddings.LayerNorm.weight"],
        "norm.bias": ["embeddings.LayerNorm.bias"],
    }
    for number in range(layers):
        layer = f"encoder.layer.{number}"
        for part in ("weight", "bias"):
            attention = [f"{layer}.attention.self.{name}.{part}" for name in ("query", "key", "value")]
            for name, sources in {
                "attention_in": attention,
                "attention_out": [f"{layer}.attention.output.dense.{part}"],
                "attention_norm": [f"{layer}.attention.output.LayerNorm.{part}"],
                "forward_in": [f"{layer}.intermediate.dense.{part}"],
                "forward_out": [f"{layer}.output.dense.{part}"],
                "forward_norm": [f"{layer}.output.LayerNorm.{part}"],
            }.items():
                names[f"layers.{number}.{name}.{part}"] = sources
    return names
