"""Chart decoding: the best binary tree over a sentence, for a whole batch at once.

A chart scores every span `(start, end)` of a sentence's fenceposts `0 .. n`.  A binary tree's score is the sum over
its spans; CKY finds the best tree width by width, and at each width all spans of all sentences of the batch are one
numpy expression.  An n-ary constituency tree is a binary one in which spans of the null label, whose score is 0, hold
nothing.

>>> scores = np.zeros((1, 4, 4), dtype=np.float32)
>>> scores[0, 1, 3] = 1.0
>>> decode(scores, [3])
[[(0, 3), (0, 1), (1, 3), (1, 2), (2, 3)]]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float32]
Spans = list[tuple[int, int]]
Ids = npt.NDArray[np.int64]


@lru_cache(maxsize=512)
def span_index(size: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The starts and ends of all spans over `size` words, each of shape (size * (size + 1) / 2), by start then end."""
    starts, ends = np.triu_indices(size + 1, 1)
    return starts, ends


def span_number(start: int, end: int, size: int) -> int:
    """Where `span_index(size)` lists the span.

    >>> starts, ends = span_index(4)
    >>> all(span_number(int(s), int(e), 4) == at for at, (s, e) in enumerate(zip(starts, ends)))
    True
    """
    return start * size - start * (start - 1) // 2 + end - start - 1


def to_chart(values: Scores, size: int) -> Scores:
    """Span values (batch, spans) laid out as a chart (batch, size + 1, size + 1)."""
    starts, ends = span_index(size)
    chart = np.zeros((values.shape[0], size + 1, size + 1), dtype=np.float32)
    chart[:, starts, ends] = values
    return chart


def best_splits(scores: Scores) -> npt.NDArray[np.int32]:
    """Where each span of the best tree below it is split.

    `scores` (batch, n + 1, n + 1) holds the score of the span `(start, end)` at `[:, start, end]`; the result has the
    same shape and holds fenceposts, 0 where there is nothing to split.
    """
    batch, size = scores.shape[0], scores.shape[1] - 1
    splits = np.zeros(scores.shape, dtype=np.int32)
    # A span's best score by its start and width, and the same by its end and width: both sides of a split are slices.
    by_start = np.zeros((batch, size + 1, size + 1), dtype=np.float32)
    by_end = np.zeros((batch, size + 1, size + 1), dtype=np.float32)
    posts = np.arange(size + 1)
    by_start[:, :size, 1] = by_end[:, 1:, 1] = scores[:, posts[:-1], posts[1:]]
    for width in range(2, size + 1):
        count = size - width + 1
        total = by_start[:, :count, 1:width] + by_end[:, width:, width - 1 : 0 : -1]
        choice = total.argmax(axis=2)
        best = np.take_along_axis(total, choice[:, :, None], axis=2)[:, :, 0]
        starts, ends = posts[:count], posts[width:]
        splits[:, starts, ends] = choice + starts + 1
        by_start[:, :count, width] = by_end[:, width:, width] = best + scores[:, starts, ends]
    return splits


def decode(scores: Scores, lengths: Sequence[int]) -> list[Spans]:
    """The spans of the best binary tree of each sentence, parents before children, left to right.

    `scores` (batch, n + 1, n + 1); `lengths` says how many of the `n` words each sentence has, at least one.
    """
    splits = best_splits(scores)
    trees: list[Spans] = []
    for number, length in enumerate(lengths):
        table = splits[number, : length + 1, : length + 1].tolist()
        spans: Spans = []
        waiting = [(0, length)]
        while waiting:
            span = waiting.pop()
            spans.append(span)
            start, end = span
            if end - start > 1:
                split = table[start][end]
                waiting.append((split, end))
                waiting.append((start, split))
        trees.append(spans)
    return trees
