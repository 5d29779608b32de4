"""Where the time of a step goes: source encoding, context encoding, decoding, output layer, optimiser, data.

The parts follow one another, in the forward pass and in reverse in the backward pass, so it is enough to note the time
whenever one hands over to the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from syntagma.network.network import Network

SOURCE, CONTEXT, DECODING, OUTPUT = "source encoding", "context encoding", "decoding", "output layer"
OPTIMISER, DATA, OTHER = "optimiser", "data", "other"
PARTS = (SOURCE, CONTEXT, DECODING, OUTPUT, OPTIMISER, DATA, OTHER)


class Stopwatch:
    """Seconds by part; `switch` says which part begins."""

    def __init__(self, device: torch.device) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self._cuda = device.type == "cuda"
        self._part = OTHER
        self._since = time.perf_counter()

    def switch(self, part: str) -> None:
        """What follows belongs to `part`."""
        if self._cuda:
            torch.cuda.synchronize()
        now = time.perf_counter()
        self.seconds[self._part] += now - self._since
        self._part, self._since = part, now

    def reset(self) -> None:
        """Forget what was measured."""
        self.switch(OTHER)
        self.seconds = dict.fromkeys(PARTS, 0.0)

    def shares(self) -> dict[str, float]:
        """The share of each part, 0 to 1."""
        total = sum(self.seconds.values()) or 1.0
        return {part: seconds / total for part, seconds in self.seconds.items()}


class Silent:
    """Measures nothing, which is what most runs do."""

    def switch(self, part: str) -> None:
        """Do nothing."""


def attach(watch: Stopwatch, network: Network) -> list[RemovableHandle]:
    """Hooks that tell the watch which part of the network is at work."""
    encoder = network.source_encoder
    calls = 0

    def begin(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        nonlocal calls
        calls = calls + 1 if module is encoder else calls
        first = module is encoder and (calls % 2 == 1 or not shared)
        part = SOURCE if first else CONTEXT
        watch.switch(part)
        if part == CONTEXT:  # next come the decoder's keys and values of the source
            _when_done(inputs[0], lambda: watch.switch(DECODING))

    def end(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        first = module is encoder and (calls % 2 == 1 or not shared)
        part = SOURCE if first else CONTEXT
        watch.switch(DECODING)
        _when_done(output, lambda: watch.switch(part))

    def decoded(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        watch.switch(OUTPUT)
        _when_done(output, lambda: watch.switch(DECODING))

    shared = network.config.architecture == "extra-attention"  # one encoder is called twice a step
    handles = [network.decoder_norm.register_forward_hook(decoded)]
    for module in (encoder, network.context_encoder):
        if module is not None:
            handles += [module.register_forward_pre_hook(begin), module.register_forward_hook(end)]
    return handles


def _when_done(tensor: Tensor, call: Callable[[], None]) -> None:
    """Call when the gradient of a tensor is complete in the backward pass."""
    if tensor.requires_grad:
        tensor.register_hook(lambda gradient: call())  # type: ignore[no-untyped-call]
