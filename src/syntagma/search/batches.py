"""How many texts are searched at once."""

from __future__ import annotations

from syntagma.network.config import ModelConfig

AUTO = 0
"""As many texts at once as suit the model."""


def batch_for(config: ModelConfig) -> int:
    """How many texts to search at once: fewer for a larger model, whose rows take more memory.

    At beam 5 on one core a small model took a sixth less time with 128 than with 64; one of 512 by 4 layers gained
    nothing beyond 32.

    >>> from syntagma.network.config import preset
    >>> [batch_for(preset(name, 8000)) for name in ("tiny", "small", "base", "big")]
    [128, 97, 48, 24]
    """
    return max(16, min(128, 75_000 // (config.decoder_layers * config.width)))
