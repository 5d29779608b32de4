"""The networks: tokens to scores.

One class serves all architectures; they differ in which encoders they have and what the decoder attends to.  Training
reads a `Batch` whole; generation encodes the sources once (`encode`), opens a `DecoderState` for contexts (`open`), and
feeds it a token or several at a time (`feed`, `next_scores`).  Both ways give the same scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from syntagma.network.batch import Batch, Contexts
from syntagma.network.config import ModelConfig
from syntagma.network.layers import (
    Cached,
    DecoderLayer,
    Encoder,
    Itself,
    KeyValue,
    Positions,
    Projected,
    RelativePositions,
    make_norm,
)
from syntagma.network.output import CopyHead, TokenScores, following, fused_linear_cross_entropy
from syntagma.network.state import DecoderState, Feed, IntArray, SharedKV, join_layers, join_padded, lowest


class Loss(NamedTuple):
    """Sums over the infill tokens of a batch; `total` is smoothed and is what training minimises."""

    total: Tensor
    nll: Tensor
    correct: Tensor
    tokens: int


class Scores(NamedTuple):
    """Scores of what may come next in N rows: the log-probability of token v is `logits[n, v] - norm[n]`."""

    logits: Tensor
    norm: Tensor

    def log_probabilities(self) -> Tensor:
        """Of all tokens, [N, V]."""
        return self.logits - self.norm[:, None]


@dataclass(frozen=True)
class Encoded:
    """Sources encoded once: ids [B, S], states [B, S, W], and keys and values for each decoder layer."""

    ids: Tensor
    states: Tensor
    layers: tuple[KeyValue, ...]

    def row(self, number: int, size: int) -> Encoded:
        """One source of that length alone."""
        rows = slice(number, number + 1)
        layers = tuple(KeyValue(kv.keys[rows, :, :size], kv.values[rows, :, :size]) for kv in self.layers)
        return Encoded(self.ids[rows, :size], self.states[rows, :size], layers)

    def select(self, rows: Tensor) -> Encoded:
        """The sources of those rows [N]."""
        return Encoded(self.ids[rows], self.states[rows], tuple(layer.select(rows) for layer in self.layers))

    @staticmethod
    def stack(rows: Sequence[Encoded], pad: int) -> Encoded:
        """Sources encoded apart as one batch, padded."""
        if len(rows) == 1:
            return rows[0]
        return Encoded(
            join_padded([row.ids for row in rows], 1, pad),
            join_padded([row.states for row in rows], 1),
            join_layers([row.layers for row in rows]),
        )


class _Targets(NamedTuple):
    """The N infill tokens of a batch: where they are [B, T], their ids, what the decoder made of them, their losses.

    `pointer` [N, S] says where in `sources` [N, S] it would copy.
    """

    where: Tensor
    ids: Tensor
    hidden: Tensor
    scores: TokenScores
    nll: Tensor
    sources: Tensor
    pointer: Tensor | None


class Network(nn.Module):
    """A Transformer of the configured architecture."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.width, padding_idx=config.pad)
        relative = config.positions == "relative"
        self.positions = None if relative else Positions(config)
        self.relative = RelativePositions(config, both_sides=False) if relative else None
        self.source_encoder = Encoder(config, config.source_layers)
        self.context_encoder = (
            Encoder(config, config.context_layers) if config.architecture == "extra-encoder" else None
        )
        self.decoder = nn.ModuleList(DecoderLayer(config, number) for number in range(config.decoder_layers))
        self.decoder_norm = make_norm(config) if config.norm == "pre" else nn.Identity()
        self.slot = nn.Embedding(config.max_open_labels, config.width, padding_idx=0) if config.label_index else None
        self.parent = nn.Embedding(len(config.labels) + 1, config.width, padding_idx=0) if config.history else None
        self.birth = nn.Embedding(config.max_open_labels, config.width, padding_idx=0) if config.history else None
        self.copy = CopyHead(config.width) if config.copy else None
        outputs = config.outputs or config.vocabulary
        self.output_embedding = nn.Embedding(outputs, config.width) if config.output_embedding else None
        self.output_bias = nn.Parameter(torch.zeros(outputs)) if config.output_bias else None
        self.apply(_initialise)

    @property
    def layers(self) -> list[DecoderLayer]:
        """The decoder's layers."""
        return cast(list[DecoderLayer], list(self.decoder))

    # -- what training uses

    def forward(self, batch: Batch, encoded: Encoded) -> Tensor:
        """Decoder states [B, T, W] of whole infills: each token sees its own level only, up to itself."""
        config = self.config
        states = self._embed(batch.inputs, batch.place, batch.slot)
        dtype, size = states.dtype, batch.inputs.shape[1]
        causal = torch.ones(size, size, dtype=torch.bool, device=states.device).tril()
        same_level = batch.level[:, None, :, None] == batch.level[:, None, None, :]
        mask = additive(same_level & causal, dtype)
        if self.relative is not None:  # the tokens of a level stand together
            mask = mask + self.relative.between(size).to(dtype)
        written = Itself(mask)
        context = None
        if config.attends_to_context:
            assert batch.contexts is not None
            same_level = batch.level[:, None, :, None] == batch.contexts.level[:, None, None, :]
            context = Projected(self._encode_contexts(batch.contexts), additive(same_level, dtype))
        source_mask = additive((encoded.ids != config.pad)[:, None, None, :], dtype)
        for layer, source in zip(self.layers, encoded.layers, strict=True):
            states = layer(states, written, context, Cached(source, source_mask))
        done: Tensor = self.decoder_norm(states)
        return done

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        """The loss of a batch, summed over its infill tokens."""
        targets = self._score_targets(batch, self.encode(_concatenated(batch, self.config)))
        total = (1 - smoothing) * targets.nll + smoothing * targets.scores.smooth_loss if smoothing else targets.nll
        best = targets.scores.best if self.training else self._best(targets)  # with copies, only a validation asks
        return Loss(total.sum(), targets.nll.sum(), best.sum(), targets.ids.numel())

    def token_scores(self, batch: Batch) -> Tensor:
        """The log-probability of each infill token [B, T]; 0 at padding.  A source that comes twice is encoded once."""
        sources, rows = torch.unique(_concatenated(batch, self.config), dim=0, return_inverse=True)
        targets = self._score_targets(batch, self.encode(sources).select(rows))
        scores = torch.zeros(batch.targets.shape, dtype=targets.nll.dtype, device=targets.nll.device)
        scores[targets.where] = -targets.nll
        return scores

    def _score_targets(self, batch: Batch, encoded: Encoded) -> _Targets:
        """How the infill tokens of a batch are scored."""
        where = batch.level > 0
        states, ids = self(batch, encoded), batch.targets[where]
        hidden, sources, pointer = states[where], encoded.ids[where.nonzero()[:, 0]], None
        scores = fused_linear_cross_entropy(hidden, self.output_weight, ids, self.output_bias)
        nll = -scores.log_probabilities
        if self.copy is not None:
            follows, padding = following(encoded.ids[:, None], batch.inputs), encoded.ids == self.config.pad
            pointer = self.copy.pointer(states, self.copy.key(encoded.states), padding, follows)[where]
            nll = -self.copy.mixed(hidden, pointer, sources == ids[:, None], scores.log_probabilities)
        return _Targets(where, ids, hidden, scores, nll, sources, pointer)

    def _best(self, targets: _Targets) -> Tensor:
        """Which targets [N] are the likeliest tokens, written or copied."""
        if self.copy is None or targets.pointer is None:
            return targets.scores.best
        logits = self._logits(targets.hidden).float()
        self.copy.mix(targets.hidden, targets.pointer, targets.sources, logits, torch.logsumexp(logits, dim=-1))
        return logits.argmax(dim=-1) == targets.ids

    # -- what generation uses

    def encode(self, source: Tensor) -> Encoded:
        """Encode sources [B, S] (for concat: source, separator, context) once for all that is decoded from them."""
        seen = source != self.config.pad
        places = (seen.cumsum(dim=1) - 1).clamp(min=0)
        embedded = self._embed(source, places)
        states = self.source_encoder(embedded, additive(seen[:, None, None, :], embedded.dtype))
        return Encoded(
            source, states, tuple(layer.source_attention.attention.project_kv(states) for layer in self.layers)
        )

    def open(self, encoded: Encoded, places: IntArray, contexts: Contexts | None) -> DecoderState:
        """Before the first token of an infill for each context; `places` [N] says which source each belongs to."""
        config = self.config
        if config.architecture == "concat":
            assert contexts is not None
            rows = torch.from_numpy(places).to(encoded.ids.device)
            encoded = self.encode(join_source(encoded.ids[rows], contexts.ids, config))
            places = np.arange(len(places))
        shared_contexts = None
        if config.attends_to_context:
            assert contexts is not None
            states = self._encode_contexts(contexts)
            layers = tuple(
                layer.context_attention.attention.project_kv(states)
                for layer in self.layers
                if layer.context_attention is not None
            )
            mask = additive((contexts.level > 0)[:, None, None, :], states.dtype)
            shared_contexts = SharedKV.of(layers, mask, np.arange(len(places)))
        mask = additive((encoded.ids != config.pad)[:, None, None, :], encoded.states.dtype)
        copy_keys = None if self.copy is None else self.copy.key(encoded.states)
        sources = SharedKV.of(encoded.layers, mask, places)
        return DecoderState.begin(config, sources, shared_contexts, encoded.ids, copy_keys)

    def feed(self, state: DecoderState, feed: Feed, first: int | None, size: int) -> Tensor:
        """Feed tokens [N, L] to the rows; decoder states [N, L, W] after each of them.

        `first` is where the tokens stand in all rows, None where that differs; `size` is where the longest row ends.
        """
        rows, inner = feed.tokens.shape
        states = self._embed(feed.tokens, feed.positions, feed.part_index)
        mask = None
        if first is None or inner > 1 or self.relative is not None:
            places = torch.arange(size, device=states.device)
            mask = additive((places <= feed.positions[:, :, None])[:, None], states.dtype)
            if self.relative is not None:
                mask = mask + self.relative(places - feed.positions[:, :, None]).to(mask.dtype)
        for number, layer in enumerate(self.layers):
            written = state.written(number, feed, first, size, mask)
            context = None
            if state.contexts is not None and layer.context_attention is not None:
                place = self.config.context_attentions.index(number)
                context = state.contexts.seated(place, feed.context_seats)
            states = layer(states, written, context, state.sources.seated(number, feed.source_seats))
        done: Tensor = self.decoder_norm(states).view(rows, inner, -1)
        return done

    def next_scores(self, state: DecoderState, feed: Feed, hidden: Tensor, columns: slice) -> Scores:
        """Score what may come after the tokens of some columns with decoder states hidden [N, K, W]: [N * K] rows."""
        logits = self._logits(hidden.flatten(0, 1)).float()
        norm = torch.logsumexp(logits, dim=-1)
        if self.copy is not None:
            assert state.copy_keys is not None
            inner = hidden.shape[1]
            ids = state.source_ids[feed.source_places].repeat_interleave(inner, dim=0)
            follows = following(ids, feed.tokens[:, columns].flatten())
            padding = state.source_ids == self.config.pad
            seats = feed.source_seats
            pointer = self.copy.shared_pointer(hidden, state.sources, seats, state.copy_keys, padding, follows)
            norm = self.copy.mix(hidden.flatten(0, 1), pointer, ids, logits, norm)
        return Scores(logits, norm)

    # -- shared

    def _embed(self, ids: Tensor, places: Tensor, part_index: Tensor | None = None) -> Tensor:
        """Embeddings [B, L, W] of ids [B, L] at places counted from 0."""
        states = self._placed(ids, places)
        if self.slot is not None and part_index is not None:
            states = states + self.slot(part_index)
        return F.dropout(states, self.config.dropout, self.training)

    def _placed(self, ids: Tensor, places: Tensor) -> Tensor:
        """Embeddings of ids with those of their places, where positions are absolute."""
        states: Tensor = self.embedding(ids) * self.config.width**0.5
        return states if self.positions is None else states + self.positions(places)

    def _encode_contexts(self, contexts: Contexts) -> Tensor:
        """States [B, C, W] of contexts; each token sees its own level only."""
        states = self._placed(contexts.ids, contexts.place)
        if self.slot is not None:
            states = states + self.slot(contexts.label_index)
        if self.parent is not None and self.birth is not None:
            states = states + self.parent(contexts.parent) + self.birth(contexts.depth_added)
        states = F.dropout(states, self.config.dropout, self.training)
        mask = additive(contexts.level[:, None, :, None] == contexts.level[:, None, None, :], states.dtype)
        encoder = self.context_encoder if self.context_encoder is not None else self.source_encoder
        done: Tensor = encoder(states, mask)
        return done

    @property
    def output_weight(self) -> Tensor:
        """The embeddings of what can be written, [outputs, W]."""
        if self.output_embedding is not None:
            return self.output_embedding.weight
        return self.embedding.weight[: self.config.outputs]

    def _logits(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self.output_weight, self.output_bias)


def join_source(source: Tensor, contexts: Tensor, config: ModelConfig) -> Tensor:
    """`source <sep> context` [N, S + 1 + C]; padding may stand inside, `encode` skips it."""
    separator = source.new_full((len(source), 1), config.sep)
    return torch.cat([source, separator, contexts], dim=1)


def _concatenated(batch: Batch, config: ModelConfig) -> Tensor:
    """Join source and context as the encoder reads them."""
    if config.architecture != "concat":
        return batch.source
    assert batch.contexts is not None
    return join_source(batch.source, batch.contexts.ids, config)


def additive(allowed: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """A mask to add to attention scores, from where attention is allowed."""
    return torch.zeros(allowed.shape, device=allowed.device, dtype=dtype).masked_fill_(~allowed, lowest(dtype))


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        if module.padding_idx is not None:
            with torch.no_grad():
                module.weight[module.padding_idx].zero_()
