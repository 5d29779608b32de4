"""The interface that training uses of a network, ours or a pretrained one; a search uses `runtime/base.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn

from syntagma.network.batch import Batch
from syntagma.network.config import ModelConfig
from syntagma.network.network import Loss


class Learns(Protocol):
    """A `torch.nn.Module` with a loss."""

    config: ModelConfig
    training: bool

    def eval(self) -> Self:
        """Ready for validation and generation."""

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
        """The weights that a checkpoint keeps."""

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> Any:
        """Take what a checkpoint kept."""
