"""Model folders as runtimes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syntagma.runtime.base import Runtime
from syntagma.text.lexicon import Lexicon
from syntagma.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class LoadedModel:
    """A model on some hardware with its vocabulary, what its folder says about it, and the words that it has met."""

    runtime: Runtime
    vocabulary: Vocabulary
    about: Mapping[str, Any]
    words: Lexicon | None = None


def load_runtime(
    name: str | Path, *, device: str | None = None, precision: str | None = None, int8: bool = False
) -> LoadedModel:
    """The model of that name, ours or a backbone, in torch."""
    from syntagma.backbone.storage import from_pretrained
    from syntagma.network.int8 import quantised

    model = from_pretrained(name)
    network = quantised(model.network) if int8 else model.network
    return LoadedModel(torch_runtime(network, device, precision), model.subwords, model.about, model.words)


def torch_runtime(network: Any, device: Any = None, precision: str | None = None) -> Runtime:
    """A network, ours or a backbone's, on a device: that of its weights, where none is named."""
    from syntagma.network.network import Network
    from syntagma.runtime.hf import HfRuntime
    from syntagma.runtime.torch import TorchRuntime, find_device

    chosen = find_device(device) if isinstance(device, str) else device
    kind = TorchRuntime if isinstance(network, Network) else HfRuntime
    return kind(network, chosen, precision)
