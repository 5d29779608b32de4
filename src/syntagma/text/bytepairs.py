"""Byte-pair encoding: the pieces of a word by a list of merges, as the `tokenizers` library finds them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise


class BytePairs:
    """Joins the parts of a word pair by pair, always the pair that was learnt first, of equal ones the leftmost.

    >>> BytePairs({"a": 0, "b": 1, "ab": 2, "bab": 3}, [("a", "b"), ("b", "ab")])("babab")
    [3, 2]
    """

    def __init__(self, vocabulary: Mapping[str, int], merges: Iterable[tuple[str, str]]) -> None:
        self._ids = vocabulary
        self._ranks = {(first, second): rank for rank, (first, second) in enumerate(merges)}

    def __call__(self, characters: str) -> list[int]:
        """The ids of a word's pieces; its characters must be in the vocabulary."""
        ranks, parts = self._ranks, list(characters)
        after = list(range(1, len(parts) + 1))
        before = list(range(-1, len(parts) - 1))
        queue = [(ranks[pair], place, *pair) for place, pair in enumerate(pairwise(parts)) if pair in ranks]
        heapify(queue)
        while queue:
            _, place, first, second = heappop(queue)
            following = after[place]
            if parts[place] != first or following == len(parts) or parts[following] != second:
                continue  # one of the two has been joined to another meanwhile
            parts[place], parts[following] = first + second, ""
            after[place] = after[following]
            if after[place] < len(parts):
                before[after[place]] = place
            for start in (before[place], place):
                if start >= 0 and after[start] < len(parts):
                    pair = parts[start], parts[after[start]]
                    if pair in ranks:
                        heappush(queue, (ranks[pair], start, *pair))
        return [self._ids[part] for part in parts if part]
