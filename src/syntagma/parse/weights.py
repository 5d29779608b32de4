"""The network's weights on disk: safetensors, the matrices in eight bits with one scale a row.

A matrix `name` of 8 bits is stored as `name` (int8) with `name.scale` (fp16, one a row); everything else as fp16.
Loading gives fp32 back.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from syntagma.errors import ConfigError, Place
from syntagma.files import write_whole

PRECISIONS = ("int8", "fp16", "fp32")


def quantise(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix (rows, columns) as int8 of the same shape and fp16 scales (rows).

    >>> whole, scale = quantise(torch.tensor([[1.0, -0.5], [0.0, 0.0]]))
    >>> whole.tolist()
    [[127, -64], [0, 0]]
    """
    scale = (matrix.abs().amax(dim=1) / 127).half().float().clamp(min=1e-7)
    whole = (matrix / scale[:, None]).round().clamp(-127, 127).to(torch.int8)
    return whole, scale.half()


def save(network: nn.Module, path: Path, precision: str = "int8") -> None:
    """Write the weights."""
    if precision not in PRECISIONS:
        raise ConfigError(f"{precision!r} is no precision", remedy=f"use one of {', '.join(PRECISIONS)}")
    stored: dict[str, Tensor] = {}
    for name, tensor in network.state_dict().items():
        tensor = tensor.detach().float()
        if precision == "int8" and tensor.dim() == 2 and tensor.shape[1] >= 64:
            stored[name], stored[name + ".scale"] = quantise(tensor)
        else:
            stored[name] = tensor.half() if precision != "fp32" else tensor
    with write_whole(path, "wb") as stream:
        stream.write(to_bytes({name: tensor.contiguous() for name, tensor in stored.items()}, {"format": "pt"}))


def load(network: nn.Module, path: Path) -> None:
    """Fill a network; a `ConfigError` lists all weights that do not fit."""
    try:
        stored = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ConfigError(f"it cannot be read ({error})", Place(str(path)), "give a whole model folder") from None
    state: dict[str, Tensor] = {}
    for name, tensor in stored.items():
        if name.endswith(".scale") and name.removesuffix(".scale") in stored:
            continue
        value = tensor.float()
        if tensor.dtype == torch.int8:
            value *= stored[name + ".scale"].float()[:, None]
        state[name] = value
    wanted = {name: tensor.shape for name, tensor in network.state_dict().items()}
    wrong = sorted(set(wanted) ^ set(state)) + sorted(
        name for name in set(wanted) & set(state) if state[name].shape != wanted[name]
    )
    if wrong:
        raise ConfigError(
            f"these weights are missing, unknown or ill-shaped: {', '.join(wrong)}",
            Place(str(path)),
            "give the weights that belong to this config.json",
        )
    network.load_state_dict(state, assign=True)
