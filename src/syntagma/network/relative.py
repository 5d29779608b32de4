"""Relative positions as T5 has them: how far a token is from the one that looks at it, in a few buckets.

Near distances have a bucket each, farther ones share it, the more the farther they are; beyond `FARTHEST` all are one.
An encoder tells apart what stands before and after; a decoder sees only what stands before.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

IdArray = npt.NDArray[np.int64]

BUCKETS = 32
"""Buckets of all distances."""
FARTHEST = 128
"""The distance from which on all share a bucket."""


def distance_buckets(distances: npt.ArrayLike, both_sides: bool) -> IdArray:
    """The buckets of distances, each a key's position less its query's.

    >>> distance_buckets([-200, -20, -1, 0, 1, 20, 200], both_sides=True).tolist()
    [15, 10, 1, 0, 17, 26, 31]
    >>> distance_buckets([-200, -20, -1, 0, 1], both_sides=False).tolist()
    [31, 17, 1, 0, 0]
    """
    away = np.asarray(distances, np.int64)
    count = BUCKETS // 2 if both_sides else BUCKETS
    first = np.where(away > 0, count, 0) if both_sides else np.zeros_like(away)
    away = np.abs(away) if both_sides else np.maximum(-away, 0)
    exact = count // 2
    share = np.log(np.maximum(away, exact).astype(np.float32) / np.float32(exact)) / np.float32(
        math.log(FARTHEST / exact)
    )
    far = np.minimum(exact + (share * np.float32(count - exact)).astype(np.int64), count - 1)
    buckets: IdArray = first + np.where(away < exact, away, far)
    return buckets
