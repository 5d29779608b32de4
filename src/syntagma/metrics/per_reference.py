"""A metric against one reference alone, for sets with several: each of them is a target of its own under template
control.

>>> from syntagma.metrics.bleu import Bleu
>>> segment = Segment("a b c d", refs=("a b c e", "a b c d"))
>>> [score.name for score in OneReference(Bleu(), 1).corpus([segment])]
['bleu[ref-1]']
"""

from __future__ import annotations

from collections.abc import Sequence

from syntagma.metrics.base import Array, Metric, Segment


class OneReference(Metric):
    """`metric` with the reference number `index`, from 0, as the only one."""

    def __init__(self, metric: Metric, index: int) -> None:
        self.metric = metric
        self.index = index
        self.names = tuple(f"{name}[ref-{index}]" for name in metric.names)
        self.needs = metric.needs
        self.lower_is_better = frozenset(f"{name}[ref-{index}]" for name in metric.lower_is_better)

    def _alone(self, segment: Segment) -> Segment:
        reference = slice(self.index, self.index + 1)
        return segment._replace(refs=segment.refs[reference], ref_trees=segment.ref_trees[reference])

    def segment(self, segment: Segment) -> Sequence[float]:
        """The inner metric's row."""
        return self.metric.segment(self._alone(segment))

    def statistics(self, segments: Sequence[Segment]) -> Array:
        """The inner metric's rows."""
        return self.metric.statistics([self._alone(segment) for segment in segments])

    def score(self, totals: Array) -> Array:
        """The inner metric's figures."""
        return self.metric.score(totals)

    def segment_scores(self, statistics: Array) -> Array:
        """The inner metric's figures of each segment."""
        return self.metric.segment_scores(statistics)

    def signature(self) -> str:
        """The inner metric's, with the reference."""
        return f"{self.metric.signature()}|ref:{self.index}"

    def close(self) -> None:
        """Close the inner metric."""
        self.metric.close()


def each_reference(metrics: Sequence[Metric], references: int) -> list[Metric]:
    """The metrics, and after them those that look at references with each of several alone."""
    alone: list[Metric] = [
        OneReference(metric, index)
        for index in range(references if references > 1 else 0)
        for metric in metrics
        if metric.needs & {"refs", "ref_trees"}
    ]
    return [*metrics, *alone]
