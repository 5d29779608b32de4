"""The one place where any model is loaded to be run: ours, pretrained ones, with ONNX Runtime or with torch.

Torch is imported only where it must run the model: on another device than the CPU, for pretrained backbones, and for
folders without graphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syntagma.errors import ConfigError, MissingExtra, Place
from syntagma.hub import check_checksum
from syntagma.network.config import ModelConfig
from syntagma.network.folder import ModelError, ModelFolder
from syntagma.network.weightfile import check_size
from syntagma.process import Background, use_threads_for
from syntagma.runtime.base import Runtime
from syntagma.runtime.device import find_device, needs_torch
from syntagma.text.lexicon import Lexicon
from syntagma.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Model:
    """A network that is ready to run, the vocabulary that it was trained with, and what its folder says about it."""

    runtime: Runtime
    vocabulary: Vocabulary
    about: dict[str, Any]
    words: Lexicon | None = None
    """The words that it has met, where its folder lists them."""

    @property
    def config(self) -> ModelConfig:
        """The network's configuration."""
        return self.runtime.config


def load_model(
    name: str | Path, device: str = "auto", precision: str | None = None, threads: int | None = None
) -> Model:
    """The model of that name: a bundled one, a folder, or an id on the model hub (which needs `huggingface_hub`).

    `device` is `auto`, `cpu`, `cuda`, `cuda:1` or `mps`; `precision` is what torch computes in on that device.  Graphs
    run on the CPU, in the precision that their weights were exported in, with one thread unless `threads` says more.
    """
    folder = ModelFolder.open(name)
    if folder.is_native and folder.graphs and not needs_torch(device, precision):
        from syntagma.runtime.onnx import OnnxRuntime

        check_size(folder.path, folder.config)
        checking = Background(lambda: check_checksum(folder.path, folder.values))
        try:
            runtime: Runtime = OnnxRuntime(folder.path, folder.config, folder.graphs, threads or 1)
            model = Model(runtime, folder.vocabulary, folder.about, folder.words)
        finally:
            checking.wait()
        return model
    if "engine" in folder.values:
        what = f"it was exported for {folder.values['engine']}, which runs in `syntagma bench` only"
        raise ConfigError(what, Place(str(folder.path)), "give the model that it was made from")
    runtime = _in_torch(folder, device, precision, threads)
    return Model(runtime, folder.vocabulary, folder.about, folder.words)


def _in_torch(folder: ModelFolder, device: str, precision: str | None, threads: int | None) -> Runtime:
    try:
        where = find_device(device)
    except MissingExtra:
        if folder.is_native and not folder.graphs:
            remedy = f"run `syntagma export --model {folder.path} --out ...` where torch is installed"
            raise ModelError("it has no graphs, so only torch can run it", Place(str(folder.path)), remedy) from None
        raise
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
    if folder.is_native:
        from syntagma.network.storage import from_pretrained

        network: Any = from_pretrained(folder.path).network
        if threads is None:
            use_threads_for(network)
    else:
        from syntagma.network.backbone.storage import from_pretrained as load_backbone

        network = load_backbone(folder.path).network
    return torch_runtime(network, where, precision)


def torch_runtime(network: Any, device: torch.device | None = None, precision: str | None = None) -> Runtime:
    """A network of torch, ours or a backbone's, on a device: that of its weights, where none is named."""
    from syntagma.network.network import Network
    from syntagma.runtime.hf import HfRuntime
    from syntagma.runtime.torch import TorchRuntime

    kind = TorchRuntime if isinstance(network, Network) else HfRuntime
    return kind(network, device, precision)
