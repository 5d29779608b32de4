"""Confidence intervals and paired tests by resampling segments (Koehn 2004).

A resampled corpus draws as many segments as there are, with replacement; all it takes are the counts of each
segment.  Counts times rows is the aggregated row of the resampled corpus, so that all metrics' figures on many corpora
are one product of matrices.  Both systems of a comparison are measured on the same draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from syntagma.metrics.base import Array, Metric

_CELLS = 1_000_000  # counts held at a time


@dataclass(frozen=True, slots=True)
class Comparison:
    """A figure of two systems: their difference, its 95% interval, and the two-sided p-value of there being none."""

    name: str
    value: float
    baseline: float
    interval: tuple[float, float]
    p: float

    @property
    def delta(self) -> float:
        """How much higher the system is than the baseline."""
        return self.value - self.baseline


def draws(segments: int, resamples: int, seed: int) -> Iterator[Array]:
    """Counts of each segment in `resamples` corpora, in batches of shape (corpora, segments)."""
    generator = np.random.default_rng(seed)
    batch = max(1, min(resamples, _CELLS // max(segments, 1)))
    for start in range(0, resamples, batch):
        corpora = min(batch, resamples - start)
        drawn = generator.integers(0, segments, size=(corpora, segments))
        drawn += np.arange(corpora)[:, None] * segments
        yield np.bincount(drawn.ravel(), minlength=corpora * segments).reshape(corpora, segments).astype(np.float64)


def resample(metrics: Sequence[Metric], systems: Sequence[Sequence[Array]], resamples: int, seed: int) -> list[Array]:
    """Each system's figures on the same resampled corpora: one array of shape (resamples, figures) a system.

    `systems[s][m]` holds the rows of metric m for system s, shape (segments, columns of that metric).
    """
    rows = [np.concatenate(statistics, axis=1) for statistics in systems]
    bounds = np.cumsum([statistics.shape[1] for statistics in systems[0]])[:-1]
    figures: list[list[Array]] = [[] for _ in systems]
    for weights in draws(len(rows[0]), resamples, seed):
        for samples, matrix in zip(figures, rows, strict=True):
            totals = np.split(weights @ matrix, bounds, axis=1)
            samples.append(np.concatenate([m.score(total) for m, total in zip(metrics, totals, strict=True)], axis=1))
    return [np.concatenate(samples) for samples in figures]


def percentile_intervals(figures: Array, level: float = 0.95) -> list[tuple[float, float]]:
    """The middle `level` of each column's resampled figures, shape (resamples, figures).

    >>> percentile_intervals(np.arange(101.0)[:, None], level=0.5)
    [(25.0, 75.0)]
    """
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(figures, [tail, 100 - tail], axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def p_value(resampled: Array, delta: float) -> float:
    """How often chance alone, the resampled differences about their mean, is as far from 0 as `delta` is.

    >>> p_value(np.array([1.0, 2.0, 3.0]), delta=2.0)
    0.25
    """
    chance = np.abs(resampled - resampled.mean())
    return float((np.sum(chance >= abs(delta)) + 1) / (len(resampled) + 1))
