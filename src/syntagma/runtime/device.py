"""Where a network runs, and in what precision: one place for every command with `--device` and `--precision`.

Without either, a model's graphs run on the CPU with ONNX Runtime, or its torch network on a GPU where there is one.
A device or a precision that is named means torch, but for `cpu` alone.  Torch is imported only where it is needed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from syntagma.errors import ConfigError, MissingExtra

if TYPE_CHECKING:
    import torch

PRECISIONS = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
"""What torch calls each."""

_DEVICES = Path("/dev")
_GPUS = ("nvidia[0-9]*", "dxg")
"""NVIDIA GPUs among devices: any of a machine's, in Windows' subsystem for Linux the one file for all."""
_NAME = re.compile(r"auto|cpu|mps|cuda(:\d{1,3})?")


def needs_torch(device: str = "auto", precision: str | None = None) -> bool:
    """Whether torch must run what could also run as a graph on the CPU; both names are checked."""
    _check_names(device, precision)
    return precision is not None or on_gpu(device)


def on_gpu(device: str) -> bool:
    """Whether a device of that name is another than the CPU."""
    return has_gpu() if device == "auto" else device != "cpu"


def has_gpu() -> bool:
    """Whether torch can compute on an NVIDIA GPU here; it is not even imported where there is none."""
    if not any(path for names in _GPUS for path in _DEVICES.glob(names)):
        return False
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def check_device(device: str = "auto", precision: str | None = None) -> None:
    """Raise where the device is not there, or torch is not, so that nothing fails in the middle of a run."""
    if needs_torch(device, precision):
        find_device(device)


def find_device(name: str) -> torch.device:
    """The device of that name; `auto` is an NVIDIA GPU where there is one, else the CPU."""
    _check_names(name, None)
    try:
        import torch
    except ImportError:
        raise MissingExtra("torch", "train", "a network that is no graph on the CPU") from None
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    there = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    if (device.index or 0) >= there[device.type]:
        raise ConfigError(f"the device {name!r} is not here", remedy="give another, or auto")
    return device


def _check_names(device: str, precision: str | None) -> None:
    if not _NAME.fullmatch(device):
        raise ConfigError(f"{device!r} is no device", remedy="give auto, cpu, cuda, cuda:1 or mps")
    if precision is not None and precision not in PRECISIONS:
        raise ConfigError(f"{precision!r} is no precision", remedy=f"give one of {', '.join(PRECISIONS)}")


def dtype_of(precision: str | None) -> torch.dtype:
    """The type that torch computes in, fp32 where nothing is named."""
    _check_names("cpu", precision)
    import torch

    dtype: torch.dtype = getattr(torch, PRECISIONS[precision or "fp32"])
    return dtype
