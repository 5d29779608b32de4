"""Segments through metrics: rows are collected batch by batch, then scored, resampled and compared as often as wanted.

>>> from syntagma.metrics.bleu import Bleu
>>> from syntagma.metrics.base import Segment
>>> [result] = evaluate([Bleu()], iter([(Segment("a b c d e", ("a b c d f",)),)]))
>>> result.scores()[0].name, round(result.scores()[0].value, 2)
('bleu', 66.87)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from syntagma.errors import InputError
from syntagma.metrics.base import Array, Metric, Score, Segment
from syntagma.metrics.bootstrap import Comparison, p_value, percentile_intervals, resample

BATCH = 256
Batch = Sequence[Segment]


@dataclass(frozen=True, slots=True)
class SystemStatistics:
    """One system's rows, `statistics[m]` of shape (segments, columns) for metric m; `empty` hypotheses had no words."""

    metrics: Sequence[Metric]
    statistics: Sequence[Array]
    segments: int
    empty: int

    def names(self) -> list[str]:
        """All figures, in order."""
        return [name for metric in self.metrics for name in metric.names]

    def values(self) -> list[float]:
        """The figures of the whole corpus."""
        pairs = zip(self.metrics, self.statistics, strict=True)
        return [float(value) for metric, rows in pairs for value in metric.score(metric.aggregate(rows))]

    def signatures(self) -> list[str]:
        """The signature of each figure."""
        return [metric.signature() for metric in self.metrics for _ in metric.names]

    def scores(self, resamples: int = 0, seed: int = 1) -> list[Score]:
        """The figures of the whole corpus, with 95% intervals if there are resamples."""
        intervals: Sequence[tuple[float, float] | None] = [None] * len(self.names())
        if resamples:
            intervals = percentile_intervals(resample(self.metrics, [self.statistics], resamples, seed)[0])
        lower = [name in metric.lower_is_better for metric in self.metrics for name in metric.names]
        figures = zip(self.names(), self.values(), self.signatures(), intervals, lower, strict=True)
        return [Score(*figure) for figure in figures]

    def segment_scores(self) -> Array:
        """Each segment's figures, shape (segments, figures)."""
        pairs = zip(self.metrics, self.statistics, strict=True)
        return np.concatenate([metric.segment_scores(rows) for metric, rows in pairs], axis=1)

    def compare(self, baseline: SystemStatistics, resamples: int = 1000, seed: int = 1) -> list[Comparison]:
        """This system against another on the same segments, by paired bootstrap."""
        if self.segments != baseline.segments:
            raise InputError(
                "the systems have different numbers of segments", remedy="score the same segments with both"
            )
        samples, baseline_samples = resample(self.metrics, [self.statistics, baseline.statistics], resamples, seed)
        differences = samples - baseline_samples
        figures = zip(self.names(), self.values(), baseline.values(), percentile_intervals(differences), strict=True)
        return [
            Comparison(name, value, other, interval, p_value(differences[:, index], value - other))
            for index, (name, value, other, interval) in enumerate(figures)
        ]


def evaluate(
    metrics: Sequence[Metric],
    segments: Iterable[tuple[Segment, ...]],
    prepare: Callable[[Batch], Batch] | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> list[SystemStatistics]:
    """One `SystemStatistics` for each system that `segments` hold, which are read in batches and then forgotten.

    `prepare` completes a batch before it is scored, e.g. by parsing; `progress` is told how many segments a batch had.
    """
    collected: list[list[list[Array]]] = []
    empty: list[int] = []
    count = 0
    try:
        for batch in batches(segments, BATCH):
            if not collected:
                collected = [[[] for _ in metrics] for _ in batch[0]]
                empty = [0] * len(batch[0])
            systems: list[Batch] = list(zip(*batch, strict=True))
            prepared = [prepare(system) for system in systems] if prepare else systems
            for index, system in enumerate(prepared):
                empty[index] += sum(not segment.hyp for segment in system)
                for rows, metric in zip(collected[index], metrics, strict=True):
                    rows.append(metric.statistics(system))
            count += len(batch)
            progress(len(batch))
    finally:
        for metric in metrics:
            metric.close()
    if not count:
        raise InputError("there are no segments", remedy="give files with at least one line")
    return [
        SystemStatistics(metrics, [np.concatenate(rows) for rows in system], count, none)
        for system, none in zip(collected, empty, strict=True)
    ]


def batches(segments: Iterable[tuple[Segment, ...]], size: int) -> Iterator[list[tuple[Segment, ...]]]:
    """The segments, `size` at a time."""
    remaining = iter(segments)
    while batch := list(islice(remaining, size)):
        yield batch
