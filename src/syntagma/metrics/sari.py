"""SARI (Xu et al. 2016): what a simplification keeps, deletes and adds, against several references and the source.

For n-grams of one to four words: F1 of those kept, precision of those deleted, F1 of those added; each the mean over n,
the figure the mean of the three.  A gram that r of k references share counts r/k.  As in the program of Xu et al., with
the recall of kept n-grams over all of them, as it is computed now by others.

>>> references = ("About 95 species are currently known .", "95 species are now accepted .")
>>> segment = Segment("About 95 species are now known .", references, "About 95 species are currently accepted .")
>>> 0 < Sari().corpus([segment])[0].value < 100
True
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from syntagma.metrics.base import MeanMetric, Segment, sign
from syntagma.text import split

Grams = Counter[tuple[str, ...]]
_ORDERS = (1, 2, 3, 4)


class Sari(MeanMetric):
    """The mean of the segments' SARI."""

    names: tuple[str, ...] = ("sari",)
    needs = frozenset({"refs", "src"})

    def prepare(self, text: str) -> list[str]:
        """The words in lower case."""
        return [word.lower() for word in split(text).texts()]

    def values(self, segment: Segment) -> Sequence[float]:
        """The segment's own."""
        source, output = self.prepare(segment.src), self.prepare(segment.hyp)
        references = [self.prepare(reference) for reference in segment.refs]
        parts = [_of_order(n, source, output, references) for n in _ORDERS]
        return (sum(map(sum, parts)) / (3 * len(_ORDERS)),)

    def signature(self) -> str:
        """The convention."""
        return sign("SARI", level="segment mean", case="lower", order=max(_ORDERS), deletion="precision")


def _grams(words: Sequence[str], n: int) -> Grams:
    return Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1))


def _of_order(
    n: int, source: Sequence[str], output: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[float, float, float]:
    """F1 of what is kept, precision of what is deleted, F1 of what is added.

    Grams of source and output count once for each reference, so that shares of the references are whole numbers.
    """
    many = len(references)
    wanted: Grams = sum((_grams(words, n) for words in references), Counter())
    given = _times(_grams(source, n), many)
    written = _times(_grams(output, n), many)
    kept, to_keep = given & written, given & wanted
    good = kept & wanted
    keep = _f1(
        _ratio(sum(good[gram] / kept[gram] for gram in good), len(kept)),
        _ratio(good.total(), to_keep.total()),
    )
    deleted = given - written
    well = deleted - wanted
    delete = _ratio(sum(well[gram] / deleted[gram] for gram in well), len(deleted))
    added, to_add = set(written) - set(given), set(wanted) - set(given)
    right = len(added & to_add)
    return keep, delete, _f1(_ratio(right, len(added)), _ratio(right, len(to_add)))


def _times(grams: Grams, many: int) -> Grams:
    return Counter({gram: count * many for gram, count in grams.items()})


def _ratio(part: float, whole: int) -> float:
    """The share; 1 where there was nothing to do."""
    return part / whole if whole else 1.0


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
