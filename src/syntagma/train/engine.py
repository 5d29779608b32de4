"""The processes of a run: one, or several under Lightning Fabric.

One process needs nothing but torch.  Several (`devices=2`, more nodes, or `torchrun`) need the extra `fabric`: it
starts them, and keeps their gradients together with DDP, over NCCL on GPUs and gloo on processors.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from syntagma.errors import ConfigError, MissingExtra
from syntagma.network.batch import Batch
from syntagma.network.interface import Learns
from syntagma.process import use_threads_for
from syntagma.train.config import TrainConfig

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class LossModule(nn.Module):
    """A network whose forward pass is its loss, which is what DDP wraps."""

    def __init__(self, network: Learns) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: Batch, smoothing: float) -> tuple[Tensor, Tensor]:
        """The sum to minimise, and [total, nll, correct, tokens] without gradients."""
        loss = self.network.loss(batch, smoothing)
        figures = (loss.total.detach(), loss.nll.detach(), loss.correct, loss.total.new_tensor(loss.tokens))
        return loss.total, torch.stack([figure.to(torch.float64) for figure in figures])


class Engine:
    """One process."""

    rank = 0
    world = 1

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        if config.threads:
            torch.set_num_threads(config.threads)
        self.device = _device(config.accelerator)
        self.dtype = compute_dtype(config, self.device)

    def wrap(self, network: Learns) -> nn.Module:
        """The network on the device, so that a call gives its loss."""
        self._choose_threads(network)
        return LossModule(network.to(self.device))

    def _choose_threads(self, network: Learns) -> None:
        """Where the settings leave it open, as many threads as suit the network's size."""
        if not self.config.threads:
            use_threads_for(network, training=True)

    def precision(self) -> AbstractContextManager[Any]:
        """The precision that the forward pass computes in."""
        return nullcontext() if self.dtype == torch.float32 else torch.autocast(self.device.type, self.dtype)

    def backward(self, module: nn.Module, loss: Tensor, last: bool) -> None:
        """Add up gradients; `last` says whether it is the last time before they are used."""
        loss.backward()  # type: ignore[no-untyped-call]

    def all_reduce(self, values: Tensor) -> Tensor:
        """The sum of a tensor over all processes."""
        return values

    def broadcast(self, values: Any) -> Any:
        """Give every process the first one's value."""
        return values

    def barrier(self) -> None:
        """Wait until all processes are here."""


class FabricEngine(Engine):
    """Several processes."""

    def __init__(self, config: TrainConfig) -> None:
        fabric = _fabric(config)
        fabric.launch()
        self.config = config
        self.fabric = fabric
        self.rank = fabric.global_rank
        self.world = fabric.world_size
        self.device = fabric.device
        self.dtype = compute_dtype(config, self.device)
        if config.threads:
            torch.set_num_threads(config.threads)

    def wrap(self, network: Learns) -> nn.Module:
        """The network under DDP."""
        self._choose_threads(network)
        module = LossModule(network)
        tables = [name for name, _ in module.named_buffers()]  # the same everywhere, not to be sent at every step
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(module, tables)  # type: ignore[no-untyped-call]
        wrapped: nn.Module = self.fabric.setup_module(module)
        return wrapped

    def backward(self, module: nn.Module, loss: Tensor, last: bool) -> None:
        """Add up gradients; they are averaged over the processes at the last time."""
        with self._quiet(module, not last):
            self.fabric.backward(loss)

    @contextmanager
    def _quiet(self, module: nn.Module, quiet: bool) -> Iterator[None]:
        with self.fabric.no_backward_sync(module, enabled=quiet):  # type: ignore[arg-type]
            yield

    def all_reduce(self, values: Tensor) -> Tensor:
        """The sum of a tensor over all processes."""
        summed = self.fabric.all_reduce(values.to(self.device), reduce_op="sum")
        assert isinstance(summed, Tensor)
        return summed

    def broadcast(self, values: Any) -> Any:
        """Give every process the first one's value."""
        return self.fabric.broadcast(values)

    def barrier(self) -> None:
        """Wait until all processes are here."""
        self.fabric.barrier()


def make_engine(config: TrainConfig) -> Engine:
    """The engine that the settings, or `torchrun`, ask for."""
    under_torchrun = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if config.devices * config.nodes > 1 or under_torchrun:
        return FabricEngine(config)
    return Engine(config)


def _fabric(config: TrainConfig) -> Fabric:
    try:
        from lightning_fabric import Fabric
        from lightning_fabric.strategies.ddp import DDPStrategy
    except ImportError:
        raise MissingExtra("lightning-fabric", "fabric", "training in several processes") from None
    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)
    accelerator = _device(config.accelerator).type
    devices = int(os.environ.get("LOCAL_WORLD_SIZE", config.devices))
    world = int(os.environ.get("WORLD_SIZE", devices * config.nodes))
    guided = config.architecture in ("extra-encoder", "extra-attention", "concat")
    strategy = DDPStrategy(find_unused_parameters=not guided)
    nodes = max(1, world // devices)
    return Fabric(accelerator=accelerator, devices=devices, num_nodes=nodes, strategy=strategy, precision="32-true")


def _device(accelerator: str) -> torch.device:
    available = torch.cuda.is_available()
    if accelerator == "cuda" and not available:
        raise ConfigError("there is no GPU that torch can use", remedy="train with accelerator=cpu")
    return torch.device("cuda" if available and accelerator != "cpu" else "cpu")


def compute_dtype(config: TrainConfig, device: torch.device) -> torch.dtype:
    """The type that the forward pass computes in; `auto` is bf16 where the hardware has it, else fp16 on a GPU."""
    if config.precision != "auto":
        return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[config.precision]
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    return torch.bfloat16 if torch.cpu._is_avx512_bf16_supported() else torch.float32
