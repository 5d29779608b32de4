"""Tables of sinusoidal positions, in numpy."""

from __future__ import annotations

import math

import numpy as np

from syntagma.network.config import ModelConfig
from syntagma.runtime.base import ScoreArray


def position_table(config: ModelConfig) -> ScoreArray | None:
    """The embeddings of all positions [places, W], all sines, then all cosines; None where they are weights.

    Rates fall to 1/10000 at the last sine, in Marian's networks at the one after it.
    """
    if config.positions in ("learned", "relative"):
        return None
    half = config.width // 2
    steps = half if config.positions == "marian" else max(half - 1, 1)
    rates = np.exp(np.arange(half) * -(math.log(10000) / steps))
    angles = np.arange(config.max_positions + config.first_position)[:, None] * rates
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
