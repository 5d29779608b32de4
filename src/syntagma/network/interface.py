"""What the search and the training use of a network; ours, pretrained ones and other engines offer it.

The search encodes sources once (`encode`), opens a state for contexts (`open`) and takes one step at a time (`step`).
What `encode` gives has `row(number, size)` and the static `stack(rows, pad)`; a state has `select`, `reorder` and the
static `join`.  Both are looked up on the class of the object: `type(state).join([a, b])`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn

from syntagma.network.batch import Batch, Contexts
from syntagma.network.config import ModelConfig
from syntagma.network.network import Loss, Scores


class Sources(Protocol):
    """Sources encoded once, for all that is decoded from them."""

    def row(self, number: int, size: int) -> Any:
        """One source of that length alone."""

    @staticmethod
    def stack(rows: Sequence[Any], pad: int) -> Any:
        """Sources encoded apart as one batch."""


class State(Protocol):
    """Where a decoder stands in many infills at once; a row is one hypothesis."""

    def __len__(self) -> int: ...
    def select(self, rows: Tensor) -> Any:
        """A state of those rows, which may repeat."""

    def reorder(self, rows: Tensor) -> None:
        """Row i goes on from where row `rows[i]` was; both must have the same source and context."""

    @staticmethod
    def join(states: Sequence[Any]) -> Any:
        """One state with the rows of all."""


class Decodes(Protocol):
    """What the search uses."""

    config: ModelConfig

    def eval(self) -> Self:
        """Ready for generation."""

    def encode(self, source: Tensor) -> Any:
        """`Sources` of ids [B, S], each with its end, padded."""

    def open(self, encoded: Any, rows: Tensor, contexts: Contexts | None) -> Any:
        """The `State` before the first token of an infill for each context; `rows` [N] says whose source is whose."""

    def step(self, state: Any, tokens: Tensor) -> Scores:
        """Feed tokens [N], one a row; what may come next.  The state moves on."""

    def begin(self, state: Any, tokens: Tensor) -> tuple[Tensor, Scores]:
        """Feed the start and tokens [N] to a fresh state; how likely those are [N], and what may come next."""


class Learns(Decodes, Protocol):
    """What training uses beside: a `torch.nn.Module` with a loss."""

    training: bool

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        """The loss of a batch, summed over its infill tokens."""

    def token_scores(self, batch: Batch) -> Tensor:
        """The log-probability of each infill token [B, T]; 0 at padding."""

    def train(self, mode: bool = True) -> Self:
        """Ready for training."""

    def to(self, device: torch.device) -> Self:
        """On another device."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """All weights."""

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """All weights with their names."""

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps."""

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> Any:
        """Take what a checkpoint kept."""


def begin_in_two_steps(network: Decodes, state: Any, tokens: Tensor) -> tuple[Tensor, Scores]:
    """What `begin` gives, for a network that reads one token at a time."""
    first = network.step(state, torch.full_like(tokens, network.config.start))
    likely = first.logits.gather(1, tokens[:, None])[:, 0] - first.norm
    return likely, network.step(state, tokens)
