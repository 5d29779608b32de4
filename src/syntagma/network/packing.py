"""Weights as they are stored: float32, float16, or matrices in eight bits with one scale a row.

A matrix `name` of eight bits is stored as `name` (int8) and `name.scale` (float16, one a row); what is no matrix is
stored as float16 then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import torch
from torch import Tensor

from syntagma.errors import ConfigError

Precision = Literal["fp32", "fp16", "int8"]
SCALE = ".scale"
_NARROWEST = 32
_TABLES = ("slot.", "parent.", "birth.", "positions.")
"""Small tables that are looked up, not multiplied."""


def quantise(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix (rows, columns) as int8 of the same shape and float16 scales (rows).

    >>> whole, scale = quantise(torch.tensor([[1.0, -0.5], [0.0, 0.0]]))
    >>> whole.tolist()
    [[127, -64], [0, 0]]
    """
    scale = (matrix.abs().amax(dim=1) / 127).half().float().clamp(min=1e-7)
    whole = (matrix / scale[:, None]).round().clamp(-127, 127).to(torch.int8)
    return whole, scale.half()


def pack_weights(weights: Mapping[str, Tensor], precision: str) -> dict[str, Tensor]:
    """Weights in the precision in which they are to be stored."""
    if precision not in get_args(Precision):
        raise ConfigError(f"{precision!r} is no precision", remedy=f"use one of {', '.join(get_args(Precision))}")
    packed: dict[str, Tensor] = {}
    for name, weight in weights.items():
        value = weight.detach().cpu().float()
        if precision == "int8" and _is_matrix(value) and not name.startswith(_TABLES):
            packed[name], packed[name + SCALE] = quantise(value)
        else:
            packed[name] = value if precision == "fp32" else value.half()
    return {name: weight.contiguous() for name, weight in packed.items()}


def _is_matrix(weight: Tensor) -> bool:
    return weight.dim() == 2 and weight.shape[0] > 1 and weight.shape[1] >= _NARROWEST


def unpack_weights(packed: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Stored weights as float32."""
    weights = {}
    for name, weight in packed.items():
        if name.endswith(SCALE) and name.removesuffix(SCALE) in packed:
            continue
        weights[name] = weight.float()
        if weight.dtype == torch.int8:
            weights[name] *= packed[name + SCALE].float()[:, None]
    return weights
