"""Tiny random networks of every kind, and what torch makes of them step by step."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from syntagma.network.batch import pad_rows
from syntagma.network.config import ModelConfig, preset
from syntagma.network.contexts import AnnotatedContext
from syntagma.network.graphs.networks import build_graphs
from syntagma.network.network import Network
from syntagma.network.weightfile import WeightFile
from syntagma.runtime.base import Mask
from syntagma.runtime.onnx import OnnxRuntime
from syntagma.runtime.torch import TorchRuntime

LABELS = (5, 6, 7, 8)
# fmt: off
KINDS: dict[str, dict[str, Any]] = {
    "extra-encoder": {},
    "extra-attention": {"architecture": "extra-attention"},
    "concat": {"architecture": "concat"},
    "seq2seq": {"architecture": "seq2seq"},
    "linearised": {"architecture": "linearised"},
    "post-norm gelu": {"norm": "post", "activation": "gelu"},
    "learned from 2": {"positions": "learned", "first_position": 2, "context_marks": (1, 2)},
    "copy": {"copy": True},
    "slots history": {"label_index": True, "history": True},
    "everything": {"copy": True, "label_index": True, "history": True, "decoder_layers": 2, "source_layers": 2},
    "copy seq2seq": {"architecture": "seq2seq", "copy": True},
    "as Marian": {
        "norm": "post", "context_norm": "pre", "activation": "swish", "positions": "marian",
        "output_bias": True, "outputs": 50,
    },
    "as T5": {
        "norm_kind": "rms", "activation": "gated-gelu", "positions": "relative", "head_width": 6, "copy": True,
        "output_embedding": True, "outputs": 50, "label_index": True, "decoder_layers": 2,
    },
    "context in every second layer": {"decoder_layers": 4, "context_attention_every": 2, "history": True},
    "copy concat": {"architecture": "concat", "copy": True, "label_index": True},
}
# fmt: on


def make_network(**changes: Any) -> Network:
    torch.manual_seed(3)
    architecture = changes.pop("architecture", "extra-encoder")
    settings = {"vocabulary": 60, "labels": LABELS, "max_positions": 32} | changes
    network = Network(preset("tiny", settings.pop("vocabulary"), architecture, **settings)).eval()
    with torch.no_grad():
        for weight in network.parameters():  # biases and norms begin at 0 and 1, where mistakes would not show
            weight += 0.2 * torch.randn_like(weight)
    return network


def export(network: Network, folder: Path, dtype: torch.dtype = torch.float32) -> OnnxRuntime:
    folder.mkdir(exist_ok=True)
    save_file({name: weight.to(dtype) for name, weight in network.state_dict().items()}, folder / "model.safetensors")
    graphs = build_graphs(network.config, WeightFile.open(folder / "model.safetensors"))
    for name, data in graphs.items():
        (folder / f"{name}.onnx").write_bytes(data)
    return OnnxRuntime(folder, network.config, {n: hashlib.sha256(data).hexdigest() for n, data in graphs.items()})


def follow(
    network: Network, source: Sequence[int], context: AnnotatedContext | None, tokens: Sequence[int]
) -> np.ndarray:
    """The log-probabilities [L, V] after each of the tokens, fed one at a time to one row, in torch."""
    runtime = TorchRuntime(network)
    state: Any = runtime.open(runtime.encode([source]), None if context is None else [context])
    config = network.config
    asked = np.array([(0, token) for token in range(config.outputs or config.vocabulary)])
    mask = Mask(np.ones((1, len(config.controls)), np.bool_), [None], asked=asked)
    rows = []
    for token in tokens:
        step = runtime.step(state, np.zeros(1, np.int64), np.array([[token]]), mask, 1)
        rows.append(step.asked)
        state = step.state
    return np.stack(rows)


def contexts_of(config: ModelConfig) -> list[AnnotatedContext]:
    first = AnnotatedContext.plain([5], config)
    second = first.expand([4, 6, 20, 7], 2, config)
    return [first, second, second.expand([4, 21, 8, 4, 22], 3, config)]


__all__ = ["KINDS", "contexts_of", "export", "follow", "make_network", "pad_rows"]
