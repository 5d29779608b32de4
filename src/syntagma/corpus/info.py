"""A corpus at a glance: counts, lengths, labels, rejects, and a few pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from syntagma.corpus.store import Corpus, Pair
from syntagma.levels import levels, show


@dataclass(frozen=True, slots=True)
class Spread:
    """A distribution of lengths in five numbers."""

    mean: float
    median: float
    p95: float
    longest: int
    total: int

    @staticmethod
    def of(values: npt.NDArray[np.integer], weights: npt.NDArray[np.integer] | None = None) -> Spread:
        """The spread of some lengths; with `weights`, the mean is per unit of weight instead of per value."""
        if not len(values):
            return Spread(0.0, 0.0, 0.0, 0, 0)
        mean = values.sum() / (weights.sum() if weights is not None else len(values))
        median, p95 = np.percentile(values, [50, 95])
        return Spread(round(float(mean), 2), float(median), float(p95), int(values.max()), int(values.sum()))


@dataclass(frozen=True, slots=True)
class SplitInfo:
    """The figures of one split; lengths are in ids."""

    pairs: int
    source: Spread
    target: Spread
    levels: Spread
    context: Spread  # mean per level, the rest per sentence (all its levels together)
    infill: Spread
    labels: dict[str, int]


def split_info(corpus: Corpus, name: str) -> SplitInfo:
    """The figures of a split, from its ids alone."""
    examples = corpus.split(name).examples
    lengths = examples.lengths()
    counts = examples.label_counts()
    return SplitInfo(
        len(examples),
        Spread.of(lengths.source),
        Spread.of(lengths.target),
        Spread.of(lengths.levels),
        Spread.of(lengths.contexts, lengths.levels),
        Spread.of(lengths.infills, lengths.levels),
        {label: int(counts[corpus.subwords.label_id(label)]) for label in corpus.labels},
    )


def draw_pairs(corpus: Corpus, count: int, seed: int = 1) -> list[Pair]:
    """A few pairs of the first split, chosen by the seed."""
    split = corpus.split(corpus.splits[0])
    chosen = np.random.Generator(np.random.PCG64(seed)).choice(len(split), min(count, len(split)), replace=False)
    return split.pairs(sorted(int(index) for index in chosen))


def as_dict(corpus: Corpus, examples: int = 0, seed: int = 1) -> dict[str, Any]:
    """Everything as plain values, for `--json`."""
    from dataclasses import asdict

    facts = corpus.facts
    return {
        "folder": str(corpus.folder),
        "format": facts["format"],
        "parser": facts["parser"],
        "labels": facts["labels"],
        "tokenizer": facts["tokenizer"],
        "options": facts["options"],
        "counts": facts["counts"],
        "rejects": facts["rejects"],
        "spacing_changed": facts["spacing_changed"],
        "splits": {name: asdict(split_info(corpus, name)) for name in corpus.splits},
        "examples": [
            {
                "source": pair.source,
                "target": pair.target,
                "tree": str(pair.tree),
                "levels": [f"{show(level.context)}\t{show(level.infill)}" for level in levels(pair.tree)],
            }
            for pair in draw_pairs(corpus, examples, seed)
        ],
    }
