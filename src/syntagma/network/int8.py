"""Int8 weights for inference on a CPU, in one place.

Linear layers keep their weights as int8 with a scale for each output; activations are quantised as they come.
Embeddings, norms and attention stay in float32.
"""

from __future__ import annotations

import warnings

from torch import nn

from syntagma.network.interface import Learns


def quantised(network: Learns) -> Learns:
    """The network with int8 linear layers, for inference only; the one given is left as it is."""
    from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic

    with warnings.catch_warnings():  # torch 2.13 deprecates these kernels and has no successor for a plain CPU yet
        warnings.simplefilter("ignore")
        made: Learns = quantize_dynamic(network.eval(), {nn.Linear: per_channel_dynamic_qconfig})  # type: ignore[no-untyped-call]
    return made
