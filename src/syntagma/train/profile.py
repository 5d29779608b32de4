"""Where the time of a step goes: source encoding, context encoding, decoding, output layer, optimiser, data.

The parts follow one another, in the forward pass and in reverse in the backward pass, so it is enough to note the time
whenever one hands over to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from syntagma.network.network import Network
from syntagma.stopwatch import OTHER, Stopwatch

SOURCE, CONTEXT, DECODING, OUTPUT = "source encoding", "context encoding", "decoding", "output layer"
OPTIMISER, DATA = "optimiser", "data"
PARTS = (SOURCE, CONTEXT, DECODING, OUTPUT, OPTIMISER, DATA, OTHER)


def stopwatch(device: torch.device) -> Stopwatch:
    """A stopwatch for the parts of a step, which waits for the device."""
    return Stopwatch(PARTS, torch.cuda.synchronize if device.type == "cuda" else None)


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
