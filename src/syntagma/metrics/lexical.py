"""Figures of characters and words: D_lex, chrF, how much is copied, how long the output is.

>>> round(DLex().corpus([Segment("a dream", src="a cream")])[0].value, 2)
14.29
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from syntagma.metrics.base import Array, MeanMetric, Metric, Segment, ratio, sign
from syntagma.metrics.bleu import common


def lexical_distance(a: str, b: str) -> float:
    """1 - 2 |A and B| / (|A| + |B|) over the characters of both texts as bags, spaces included; 0 for two empty texts.

    >>> lexical_distance("abc", "cab"), lexical_distance("abc", ""), lexical_distance("", "")
    (0.0, 1.0, 0.0)
    """
    total = len(a) + len(b)
    if not total:
        return 0.0
    shared = sum([min(a.count(character), b.count(character)) for character in set(a).intersection(b)])
    return 1.0 - 2.0 * shared / total


class DLex(MeanMetric):
    """Lexical diversity: the mean distance of the hypothesis' bag of characters from the source's."""

    names: tuple[str, ...] = ("d_lex",)
    needs = frozenset({"src"})

    def prepare(self, text: str) -> str:
        """The text without space at its ends."""
        return text.strip()

    def values(self, segment: Segment) -> Sequence[float]:
        """The distance."""
        return (lexical_distance(segment.hyp.strip(), segment.src.strip()),)

    def signature(self) -> str:
        """The unit and the normaliser."""
        return sign("D_lex", against="source", unit="character bag", norm="sum of lengths", spaces="yes")


class CopyRate(MeanMetric):
    """How many hypotheses are the source word for word."""

    names: tuple[str, ...] = ("copy_rate",)
    needs = frozenset({"src"})
    lower_is_better = frozenset({"copy_rate"})

    def values(self, segment: Segment) -> Sequence[float]:
        """1 for a copy, 0 for anything else."""
        return (float(self.prepare(segment.hyp) == self.prepare(segment.src)),)

    def signature(self) -> str:
        """The signature: what counts as equal."""
        return sign("copy rate", equal="words", case="mixed")


class LengthRatio(Metric):
    """Words of all hypotheses in percent of those of the references; of several, of the closest in length."""

    names: tuple[str, ...] = ("length_ratio",)
    needs = frozenset({"refs"})

    def segment(self, segment: Segment) -> Sequence[float]:
        """Both lengths."""
        length = len(self.prepare(segment.hyp))
        lengths = [len(self.prepare(ref)) for ref in segment.refs]
        return length, min(lengths, key=lambda other: (abs(other - length), other))

    def score(self, totals: Array) -> Array:
        """The ratio in percent; 0 where the reference has no words."""
        return 100.0 * ratio(totals[..., :1], totals[..., 1:])

    def signature(self) -> str:
        """The unit and the choice of reference."""
        return sign("length ratio", level="corpus", unit="word", refs="closest")


class ChrF(Metric):
    """chrF (Popović 2015): the F of character n-grams up to six, recall weighing twice; sacrebleu's figure.

    >>> round(ChrF().corpus([Segment("the cat", ("the cats",))])[0].value, 2)
    77.57
    """

    names: tuple[str, ...] = ("chrf",)
    needs = frozenset({"refs"})
    order = 6
    beta = 2

    def prepare(self, text: str) -> tuple[list[str], ...]:
        """The n-grams of each order of the text without its spaces."""
        return _character_ngrams(text, self.order)

    def segment(self, segment: Segment) -> Sequence[float]:
        """For each order the n-grams of the hypothesis, of the best reference, and those in common."""
        hyp_ngrams = self.prepare(segment.hyp)
        rows = []
        for ref in segment.refs:
            ref_ngrams = self.prepare(ref)
            row: list[float] = []
            for hyp_order, ref_order in zip(hyp_ngrams, ref_ngrams, strict=True):
                row += [len(hyp_order) if ref_order else 0, len(ref_order), common(hyp_order, ref_order)]
            rows.append(row)
        if len(rows) == 1:
            return rows[0]
        return rows[int(np.argmax(self.score(np.array(rows, dtype=np.float64))))]

    def score(self, totals: Array) -> Array:
        """F of the mean precision and mean recall over the orders that both sides have."""
        hyp, ref, match = totals[..., 0::3], totals[..., 1::3], totals[..., 2::3]
        orders = np.sum((hyp > 0) & (ref > 0), axis=-1)
        precision = ratio(np.sum(np.where(ref > 0, ratio(match, hyp), 0.0), axis=-1), orders)
        recall = ratio(np.sum(np.where(hyp > 0, ratio(match, ref), 0.0), axis=-1), orders)
        factor = self.beta**2
        return 100.0 * ratio((1 + factor) * precision * recall, factor * precision + recall)[..., None]

    def signature(self) -> str:
        """The choices that sacrebleu's signature has, under the same names."""
        return sign("chrF", level="corpus", case="mixed", eff="yes", nc=self.order, nw=0, beta=self.beta, space="no")


@lru_cache(maxsize=64)
def _character_ngrams(text: str, order: int) -> tuple[list[str], ...]:
    joined = "".join(text.split())
    return tuple([joined[index : index + n] for index in range(len(joined) - n + 1)] for n in range(1, order + 1))
