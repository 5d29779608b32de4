"""Checkpoints of a training run as one safetensors file: weights, their average, and what Adam remembers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from syntagma.files import atomic_write


def save_state(
    path: Path,
    weights: Mapping[str, Tensor],
    average: dict[str, Tensor],
    optimizer: torch.optim.Optimizer,
    progress: dict[str, Any],
) -> None:
    """Write a checkpoint; the file is replaced whole."""
    tensors: dict[str, Tensor] = {}
    for name, weight in weights.items():
        tensors[f"weight/{name}"] = weight.detach()
        tensors[f"average/{name}"] = average[name]
        for key, value in optimizer.state[weight].items():
            tensors[f"adam/{key}/{name}"] = value
    told = {"progress": json.dumps(progress)}
    with atomic_write(path, "wb") as stream:
        stream.write(to_bytes({name: value.contiguous() for name, value in tensors.items()}, told))


def load_state(
    path: Path, weights: Mapping[str, Tensor], average: dict[str, Tensor], optimizer: torch.optim.Optimizer
) -> dict[str, Any]:
    """Fill weights, average and optimizer from a checkpoint; the progress that was stored with them."""
    with safe_open(path, framework="pt") as stored, torch.no_grad():
        for name, weight in weights.items():
            weight.copy_(stored.get_tensor(f"weight/{name}"))
            average[name].copy_(stored.get_tensor(f"average/{name}"))
        for key in stored.keys():  # noqa: SIM118 (it is no mapping)
            if key.startswith("adam/"):
                _, kind, name = key.split("/", 2)
                optimizer.state[weights[name]][kind] = stored.get_tensor(key)
        progress: dict[str, Any] = json.loads(stored.metadata()["progress"])
        return progress
