"""The parser's weights on disk: safetensors, the matrices in eight bits with one scale a row (`network/packing.py`)."""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as to_bytes
from torch import nn

from syntagma.errors import ConfigError, Place
from syntagma.files import atomic_write
from syntagma.hub import CHECKSUM, check_checksum
from syntagma.network.packing import pack_weights, unpack_weights


def save(network: nn.Module, path: Path, precision: str = "int8") -> None:
    """Write the weights."""
    stored = pack_weights(network.state_dict(), precision)
    with atomic_write(path, "wb") as stream:
        stream.write(to_bytes(stored, {"format": "pt"}))


def load(network: nn.Module, path: Path, checksum: str | None = None) -> None:
    """Fill a network; a `ConfigError` lists all weights that do not fit, or says that the file has another checksum."""
    try:
        stored = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ConfigError(f"it cannot be read ({error})", Place(str(path)), "give a whole model folder") from None
    state = unpack_weights(stored)
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
    check_checksum(path.parent, {CHECKSUM: checksum})
    network.load_state_dict(state, assign=True)
