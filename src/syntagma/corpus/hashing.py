"""Pairs as 8-byte keys, and a set of such keys that is small: 8 bytes a key, twice that while it grows.

Two different pairs share a key with a probability of n^2 / 2^65: three in a million for ten million pairs.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Keys: TypeAlias = "npt.NDArray[np.uint64]"

_SMALLEST_RUN = 4096


def pair_key(source: str, target: str) -> int:
    """The key of a pair in its direction."""
    return int.from_bytes(blake2b(f"{source}\0{target}".encode(), digest_size=8).digest(), "little")


def either_way_key(source: str, target: str) -> int:
    """The key of a pair whatever its direction."""
    return pair_key(source, target) if source <= target else pair_key(target, source)


def text_key(text: str) -> int:
    """The key of one side of a pair."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def mix(keys: Keys, salt: int) -> Keys:
    """Keys into other keys (splitmix64): a draw that differs from any other use of them, reproducible by its salt."""
    with np.errstate(over="ignore"):
        mixed = keys + np.uint64((salt * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) % 2**64)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))


def draw(key: int, salt: int) -> float:
    """A number in [0, 1) for a key."""
    return float(mix(np.array([key], np.uint64), salt)[0]) / 2**64


class KeySet:
    """Keys in sorted runs, each more than twice as long as the next.

    >>> seen = KeySet()
    >>> seen.add(np.array([3, 5, 3], np.uint64)).tolist(), seen.add(np.array([5, 9], np.uint64)).tolist(), len(seen)
    ([True, True, False], [False, True], 3)
    """

    def __init__(self) -> None:
        self._runs: list[Keys] = []

    def __len__(self) -> int:
        return sum(len(run) for run in self._runs)

    def keys(self) -> Keys:
        """All keys, sorted."""
        return np.sort(np.concatenate([np.empty(0, np.uint64), *self._runs]))

    def has(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """For each key whether it is in the set."""
        present = np.zeros(len(keys), bool)
        for run in self._runs:
            positions = np.minimum(np.searchsorted(run, keys), len(run) - 1)
            present |= run[positions] == keys
        return present

    def add(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Put keys into the set; for each whether it was new, counting only its first time."""
        new = np.zeros(len(keys), bool)
        distinct, first = np.unique(keys, return_index=True)
        fresh = ~self.has(distinct)
        new[first[fresh]] = True
        run: Any = distinct[fresh]
        if len(run):
            while self._runs and len(self._runs[-1]) <= max(2 * len(run), _SMALLEST_RUN):
                run = np.concatenate([self._runs.pop(), run])
                run.sort(kind="stable")  # two sorted runs: a merge
            self._runs.append(run)
        return new
