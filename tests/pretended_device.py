"""A device that is not there, for tests of placement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from syntagma.runtime.torch import DeviceRuntime


class PretendDevice(TorchDispatchMode):
    """Tells tensors on a pretended device from those on the host, although all are in one memory.

    A tensor is on the device if it was put there (`put`), or made with a device named or from tensors on it.  An
    operation over tensors of both kinds fails as it would on a GPU; so does reading a value, as that waits for it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[Tensor] = []  # so that no other tensor gets the identity of one
        self._there: set[int] = set()
        self.reads = 0

    def put(self, *tensors: Tensor) -> None:
        self._kept += tensors
        self._there.update(map(id, tensors))

    def bring(self, tensor: Tensor) -> Tensor:
        self._there.discard(id(tensor))
        return tensor

    def is_there(self, tensor: Tensor) -> bool:
        return id(tensor) in self._there or (tensor._base is not None and id(tensor._base) in self._there)

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [leaf for leaf in tree_leaves((args, kwargs or {})) if isinstance(leaf, Tensor)]
        large = [tensor for tensor in given if tensor.dim()]
        places = {self.is_there(tensor) for tensor in large}
        if len(places) > 1:
            raise RuntimeError(f"{function} mixes the device and the host")
        if function is torch.ops.aten._local_scalar_dense.default:
            self.reads += 1
        made = function(*args, **(kwargs or {}))
        there = places == {True} or (not large and any(map(self.is_there, given)))
        if there:
            self.put(*(leaf for leaf in tree_leaves(made) if isinstance(leaf, Tensor)))
        return made


class NamedDevices(TorchFunctionMode):
    """Beside `PretendDevice`: what is made with a device named or moved to one is there, the rest on the host."""

    def __init__(self, mode: PretendDevice) -> None:
        super().__init__()
        self.mode = mode

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        if function is Tensor.cpu:
            return self.mode.bring(args[0].clone())
        if function is Tensor.numpy and self.mode.is_there(args[0]):
            raise RuntimeError("numpy cannot look at the device")
        moved = function is Tensor.to and any(isinstance(one, torch.device) for one in args)
        moved = moved or (function is Tensor.new_tensor and self.mode.is_there(args[0]))
        if ((kwargs or {}).get("device") is not None or moved) and isinstance(made, Tensor):
            self.mode.put(made)
        return made


@contextmanager
def pretended_device() -> Iterator[PretendDevice]:
    with PretendDevice() as mode, NamedDevices(mode):
        yield mode


class Placed(DeviceRuntime):
    """A runtime on the pretended device; counts what crosses."""

    def __init__(self, network: Any, mode: PretendDevice) -> None:
        self.mode, self.crossings = mode, {"send": 0, "fetch": 0}
        mode.put(*network.parameters(), *network.buffers())
        super().__init__(network)

    def _send(self, numbers: Any) -> Tensor:
        self.crossings["send"] += 1
        sent = torch.from_numpy(numbers.copy())
        self.mode.put(sent)
        return sent

    def _fetch(self, values: Tensor) -> Any:
        self.crossings["fetch"] += 1
        assert self.mode.is_there(values)
        return super()._fetch(values)
