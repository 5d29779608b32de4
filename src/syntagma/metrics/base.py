"""The base of every metric: five small steps from text to a figure that says how it was made.

1. `prepare` a text (split it into words, stem them, ...);
2. `statistics` of each segment, a row of numbers;
3. `aggregate` the rows of a corpus into one;
4. `score` an aggregated row;
5. `signature`: one line that names every choice, so that two figures can be compared or known not to be.

Only the rows are kept.  A resampled corpus is a sum of the same rows with other weights, so a bootstrap of a thousand
corpora is one product of matrices (`syntagma.metrics.bootstrap`) and a file of any length needs a few hundred bytes a
line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from syntagma.tree import Tree

Array: TypeAlias = npt.NDArray[np.float64]


class Candidate(NamedTuple):
    """One hypothesis of an n-best list, with the tree that generation induced or a parser found, if there is one."""

    text: str
    tree: Tree | None = None


class Segment(NamedTuple):
    """All that is known of one line: a metric takes what it needs.

    `refs` are the references in the order of their files; a tree of None stands for a line without words.
    """

    hyp: str
    refs: tuple[str, ...] = ()
    src: str = ""
    hyp_tree: Tree | None = None
    ref_trees: tuple[Tree | None, ...] = ()
    src_tree: Tree | None = None
    induced: Tree | None = None
    template: str = ""
    nbest: tuple[Candidate, ...] = ()
    edit: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """A figure on the 0-100 scale, the signature of the metric that made it and, if resampled, its 95% interval."""

    name: str
    value: float
    signature: str
    interval: tuple[float, float] | None = None
    lower_is_better: bool = False

    def __str__(self) -> str:
        spread = f" [{self.interval[0]:.1f}, {self.interval[1]:.1f}]" if self.interval else ""
        return f"{self.name} {self.value:.1f}{spread} ({self.signature})"


class Metric(ABC):
    """A metric; one may give several figures that share their work, such as ROUGE-1, 2 and L.

    `names` are its figures, `needs` the fields of a `Segment` without which it cannot be computed, and
    `lower_is_better` the figures of `names` that improve downwards.
    """

    names: tuple[str, ...]
    needs: frozenset[str]
    lower_is_better: frozenset[str] = frozenset()

    def prepare(self, text: str) -> Any:
        """Prepare a text for comparison: by default, its words."""
        return text.split()

    @abstractmethod
    def segment(self, segment: Segment) -> Sequence[float]:
        """The row of one segment; all rows of a metric have the same length."""

    def statistics(self, segments: Sequence[Segment]) -> Array:
        """The rows of a batch, shape (segments, columns); a metric that works on batches overrides this."""
        return np.array([self.segment(segment) for segment in segments], dtype=np.float64)

    def aggregate(self, statistics: Array) -> Array:
        """The rows of a corpus, shape (segments, columns), as one, shape (columns,): their sum."""
        total: Array = statistics.sum(axis=0)
        return total

    @abstractmethod
    def score(self, totals: Array) -> Array:
        """The figures, shape (..., len(names)), of aggregated rows, shape (..., columns)."""

    def segment_scores(self, statistics: Array) -> Array:
        """The figures of each segment on its own, shape (segments, len(names))."""
        return self.score(statistics)

    @abstractmethod
    def signature(self) -> str:
        """How the figures were made, as `key:value` parts joined by `|`."""

    def close(self) -> None:  # noqa: B027 - most metrics hold nothing
        """Let go of what the metric holds, such as a running process."""

    def corpus(self, segments: Sequence[Segment]) -> list[Score]:
        """The figures of a corpus that is at hand as a whole."""
        values = self.score(self.aggregate(self.statistics(segments)))
        return [Score(name, float(value), self.signature()) for name, value in zip(self.names, values, strict=True)]


class MeanMetric(Metric):
    """A metric whose figure is the mean of its segments' figures; the last column counts the segments."""

    def segment(self, segment: Segment) -> Sequence[float]:
        """The segment's values and a 1 that counts it."""
        return (*self.values(segment), 1.0)

    def values(self, segment: Segment) -> Sequence[float]:
        """The segment's own figures, from 0 to 1, one for each name."""
        raise NotImplementedError

    def score(self, totals: Array) -> Array:
        """The means, in percent."""
        return 100.0 * ratio(totals[..., :-1], totals[..., -1:])


def ratio(part: Array, whole: Array) -> Array:
    """`part / whole`, and 0 where the whole is 0."""
    part, whole = np.broadcast_arrays(part, whole)
    quotient: Array = np.divide(part, whole, out=np.zeros(part.shape), where=whole != 0)
    return quotient


def sign(name: str, **choices: object) -> str:
    """A signature: the metric, its choices, and the version of Syntagma.

    >>> sign("D_lex", unit="character").rsplit("|", 1)[0]
    'D_lex|unit:character'
    """
    from syntagma import __version__

    return "|".join([name, *(f"{key}:{value}" for key, value in choices.items()), f"syntagma:{__version__}"])
