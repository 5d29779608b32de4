"""Networks of torch as runtimes, for training's validation and for tests."""

from __future__ import annotations

from typing import Any

from syntagma.runtime.base import Runtime


def torch_runtime(network: Any, device: Any = None, precision: str | None = None) -> Runtime:
    """A network, ours or a backbone's, on a device: that of its weights, where none is named."""
    from syntagma.network.network import Network
    from syntagma.runtime.hf import HfRuntime
    from syntagma.runtime.torch import TorchRuntime, find_device

    chosen = find_device(device) if isinstance(device, str) else device
    kind = TorchRuntime if isinstance(network, Network) else HfRuntime
    return kind(network, chosen, precision)
