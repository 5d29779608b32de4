"""The parts of a Transformer.

Shapes: B rows, L or T positions of a query, M positions of keys and values, H heads of width D, W the width of states.
A mask is a float tensor that broadcasts to [B, H, T, M] and is added to the attention scores: 0 where a query may look,
very negative where not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from syntagma.network.config import RMS_EPSILON, ModelConfig
from syntagma.network.relative import BUCKETS, distance_buckets

FORBIDDEN = -1e9
_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "swish": F.silu,
    "gated-gelu": lambda states: F.gelu(states, approximate="tanh"),
}


class KeyValue(NamedTuple):
    """Keys and values of one attention, computed once: each [B, H, M, D]."""

    keys: Tensor
    values: Tensor

    def select(self, rows: Tensor) -> KeyValue:
        """Those of rows [N]: [N, H, M, D]."""
        return KeyValue(self.keys.index_select(0, rows), self.values.index_select(0, rows))


class Attention(nn.Module):
    """Multi-head attention over keys and values that can be kept."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        inner = config.heads * config.head_size
        self.query = nn.Linear(config.width, inner)
        self.memory = nn.Linear(config.width, 2 * inner)
        self.output = nn.Linear(inner, config.width)

    def project_kv(self, states: Tensor) -> KeyValue:
        """Keys and values of states [B, M, W]."""
        rows, size, _ = states.shape
        both = self.memory(states).view(rows, size, 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        return KeyValue(both[0], both[1])

    def forward(self, states: Tensor, cache: KeyValue, mask: Tensor | None) -> Tensor:
        """Attention of states [B, T, W] under the mask: [B, T, W]."""
        done: Tensor = self.output(self.attend(self.query(states), cache, mask))
        return done

    def attend(self, queries: Tensor, cache: KeyValue, mask: Tensor | None) -> Tensor:
        """The values that queries [B, T, H * D] attend to: [B, T, H * D], the heads side by side."""
        rows, size, inner = queries.shape
        heads = queries.view(rows, size, self.heads, -1).transpose(1, 2)
        values = _attend(heads, cache, mask)
        return values.transpose(1, 2).reshape(rows, size, inner)


def _attend(queries: Tensor, cache: KeyValue, mask: Tensor | None) -> Tensor:
    """Attention of queries [B, H, T, D]; on a CPU in single precision, as half of it is many times slower there."""
    if queries.dtype is torch.float32 or queries.device.type != "cpu":
        return F.scaled_dot_product_attention(queries, cache.keys, cache.values, attn_mask=mask)
    with torch.autocast("cpu", enabled=False):
        keys, values = cache.keys.float(), cache.values.float()
        mask = None if mask is None else mask.float()
        return F.scaled_dot_product_attention(queries.float(), keys, values, attn_mask=mask).to(queries.dtype)


def make_norm(config: ModelConfig) -> nn.Module:
    """A norm of states [..., W]."""
    return nn.LayerNorm(config.width) if config.norm_kind == "layer" else nn.RMSNorm(config.width, eps=RMS_EPSILON)


class Block(nn.Module):
    """A sublayer with its norm, dropout and residual, norm first or last."""

    def __init__(self, config: ModelConfig, norm: str | None = None) -> None:
        super().__init__()
        self.norm = make_norm(config)
        self.pre = (norm or config.norm) == "pre"
        self.dropout = config.dropout

    def before(self, states: Tensor) -> Tensor:
        """The input of the sublayer, normed first where norms stand before."""
        return self.norm(states) if self.pre else states

    def after(self, states: Tensor, change: Tensor) -> Tensor:
        """The states with the sublayer's change."""
        states = states + F.dropout(change, self.dropout, self.training)
        return states if self.pre else self.norm(states)


class AttentionBlock(Block):
    """Attention as a sublayer."""

    def __init__(self, config: ModelConfig, norm: str | None = None) -> None:
        super().__init__(config, norm)
        self.attention = Attention(config)

    def to_self(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """States [B, L, W] that look at each other."""
        seen = self.before(states)
        return self.after(states, self.attention(seen, self.attention.project_kv(seen), mask))

    def to_cache(self, states: Tensor, cache: KeyValue, mask: Tensor | None) -> Tensor:
        """States [B, T, W] that look at keys and values computed before."""
        return self.after(states, self.attention(self.before(states), cache, mask))


class FeedForwardBlock(Block):
    """Two linear layers as a sublayer, the first of them with a gate where the activation has one."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.inner = nn.Linear(config.width, config.feed_forward)
        self.gate = nn.Linear(config.width, config.feed_forward) if config.activation == "gated-gelu" else None
        self.outer = nn.Linear(config.feed_forward, config.width)
        self.activation = _ACTIVATIONS[config.activation]

    def forward(self, states: Tensor) -> Tensor:
        """States [B, L, W] changed one by one."""
        seen = self.before(states)
        inner = self.activation(self.inner(seen))
        return self.after(states, self.outer(inner if self.gate is None else inner * self.gate(seen)))


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = AttentionBlock(config)
        self.feed_forward = FeedForwardBlock(config)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """States [B, L, W] under mask [B, 1, L or 1, L]."""
        done: Tensor = self.feed_forward(self.self_attention.to_self(states, mask))
        return done


class Encoder(nn.Module):
    """A stack of encoder layers; with norms first there is one more at the end."""

    def __init__(self, config: ModelConfig, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(layers))
        self.norm = make_norm(config) if config.norm == "pre" else nn.Identity()
        self.relative = RelativePositions(config, both_sides=True) if config.positions == "relative" else None

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """States [B, L, W] -> [B, L, W]; what may see each other must stand together."""
        if self.relative is not None:
            mask = mask + self.relative.between(states.shape[1]).to(mask.dtype)
        for layer in self.layers:
            states = layer(states, mask)
        done: Tensor = self.norm(states)
        return done


class Attended(Protocol):
    """The view of a sublayer of the decoder: what is written already, a context, or a source."""

    def __call__(self, block: AttentionBlock, states: Tensor) -> Tensor:
        """Let states [N, L, W] attend through a block."""


class Itself(NamedTuple):
    """States that attend to each other, as far as the mask allows."""

    mask: Tensor | None

    def __call__(self, block: AttentionBlock, states: Tensor) -> Tensor:
        """Let states [B, L, W] attend to themselves."""
        return block.to_self(states, self.mask)


class Cached(NamedTuple):
    """Keys and values computed before."""

    cache: KeyValue
    mask: Tensor | None

    def __call__(self, block: AttentionBlock, states: Tensor) -> Tensor:
        """Let states [B, L, W] attend to keys and values [B, H, M, D]."""
        return block.to_cache(states, self.cache, self.mask)


class Projected(NamedTuple):
    """States of an encoder, whose keys and values each block computes for itself."""

    states: Tensor
    mask: Tensor | None

    def __call__(self, block: AttentionBlock, states: Tensor) -> Tensor:
        """Let states [B, L, W] attend to the encoder's [B, M, W]."""
        return block.to_cache(states, block.attention.project_kv(self.states), self.mask)


class DecoderLayer(nn.Module):
    """Self-attention, attention to the context where the layer of that number has one, to the source, feed-forward."""

    def __init__(self, config: ModelConfig, number: int) -> None:
        super().__init__()
        self.self_attention = AttentionBlock(config)
        attends = number in config.context_attentions
        self.context_attention = AttentionBlock(config, config.context_norm) if attends else None
        self.source_attention = AttentionBlock(config)
        self.feed_forward = FeedForwardBlock(config)

    def forward(self, states: Tensor, written: Attended, context: Attended | None, source: Attended) -> Tensor:
        """States [N, L, W] after all sublayers; the same in training and in generation."""
        states = written(self.self_attention, states)
        if self.context_attention is not None and context is not None:
            states = context(self.context_attention, states)
        states = source(self.source_attention, states)
        done: Tensor = self.feed_forward(states)
        return done


class RelativePositions(nn.Module):
    """Biases on attention scores for how far a key is from its query, one for each head."""

    buckets: Tensor

    def __init__(self, config: ModelConfig, both_sides: bool) -> None:
        super().__init__()
        self.most = config.max_positions
        self.table = nn.Embedding(BUCKETS, config.heads)
        buckets = distance_buckets(range(-self.most, self.most + 1), both_sides)
        self.register_buffer("buckets", torch.from_numpy(buckets), persistent=False)

    def forward(self, distances: Tensor) -> Tensor:
        """Biases [N, H, L, M] of distances [N, L, M], each a key's position less its query's."""
        biases: Tensor = self.table(self.buckets[distances + self.most])
        return biases.permute(0, 3, 1, 2)

    def between(self, size: int) -> Tensor:
        """Biases [1, H, L, L] between so many tokens in a row."""
        places = torch.arange(size, device=self.buckets.device)
        biases: Tensor = self((places[None, :] - places[:, None])[None])
        return biases


class Positions(nn.Module):
    """Embeddings of absolute positions: learned, or sines then cosines as in the authors' program."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.first = config.first_position
        count = config.max_positions + config.first_position
        if config.positions == "learned":
            self.table: Tensor = nn.Parameter(torch.randn(count, config.width) * config.width**-0.5)
        else:
            steps = config.width // 2 - (config.positions == "sinusoidal")
            self.register_buffer("table", sinusoids(count, config.width, max(steps, 1)), persistent=False)

    def forward(self, places: Tensor) -> Tensor:
        """Embeddings of places counted from 0: [...] -> [..., W]."""
        return F.embedding(places + self.first, self.table)


def sinusoids(count: int, width: int, steps: int) -> Tensor:
    """The table of sinusoidal positions [count, width]: all sines, then all cosines.

    Wavelengths grow from 2 pi by a factor of 10,000 within `steps`.
    """
    rates = torch.exp(torch.arange(width // 2, dtype=torch.float64) * -(math.log(10000) / steps))
    angles = torch.arange(count, dtype=torch.float64)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1).float()
