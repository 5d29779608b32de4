"""SARI (Xu et al. 2016): what a simplification keeps, deletes and adds, against several references and the source.

For n-grams of one to four words: F1 of those added, of those kept and of those deleted; each the mean over n, the
figure the mean of the three.  A gram that r of k references keep counts r/k.  Counts are summed over the corpus first,
and what was never done scores 0: the convention of EASSE (Alva-Manchego et al. 2019), in which results on TurkCorpus
and ASSET are published; there, copying every source scores 26.3 and 20.7.  The first program took the precision of
deletions alone (`deletion="precision"`).

>>> references = ("95 species are now known .",)
>>> segment = Segment("about 95 species are now known .", references, "about 95 species are known .")
>>> round(Sari().corpus([segment])[0].value, 2)
72.5
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np

from syntagma.metrics.base import Array, Metric, Segment, ratio, sign
from syntagma.metrics.bleu import Bleu

Grams = Counter[tuple[str, ...]]
_ORDERS = (1, 2, 3, 4)


class Sari(Metric):
    """SARI of a corpus."""

    names: tuple[str, ...] = ("sari",)
    needs = frozenset({"refs", "src"})

    def __init__(self, deletion: Literal["f1", "precision"] = "f1") -> None:
        self.deletion = deletion
        self._words = Bleu("13a", lowercase=True)

    def prepare(self, text: str) -> list[str]:
        """The words in lower case."""
        return self._words.prepare(text)

    def segment(self, segment: Segment) -> Sequence[float]:
        """The counts of each order."""
        source, output = self.prepare(segment.src), self.prepare(segment.hyp)
        references = [self.prepare(reference) for reference in segment.refs]
        return [count for n in _ORDERS for count in _counts(n, source, output, references)]

    def score(self, totals: Array) -> Array:
        """SARI of summed counts."""
        counts = totals.reshape(*totals.shape[:-1], len(_ORDERS), 3, 3)
        right, done, wanted = (counts[..., index] for index in range(3))
        precision, recall = ratio(right, done), ratio(right, wanted)
        scores = ratio(2 * precision * recall, precision + recall)
        if self.deletion == "precision":
            scores[..., 2] = precision[..., 2]
        return 100.0 * np.asarray(scores.mean(axis=(-2, -1)))[..., None]

    def signature(self) -> str:
        """The convention."""
        choices = {"convention": "EASSE", "level": "corpus", "case": "lc", "tok": "13a", "order": max(_ORDERS)}
        return sign("SARI", **choices, deletion=self.deletion)


def _grams(words: Sequence[str], n: int) -> Grams:
    return Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1))


def _counts(n: int, source: Sequence[str], output: Sequence[str], references: Sequence[Sequence[str]]) -> list[int]:
    """The nine counts of an order.

    Grams of source and output count once for each reference, so that shares of the references are whole numbers; an
    addition counts once however often it is written.
    """
    many = len(references)
    wanted: Grams = sum((_grams(words, n) for words in references), Counter())
    given = _times(_grams(source, n), many)
    written = _times(_grams(output, n), many)
    added, to_add = set(written) - set(given), set(wanted) - set(given)
    kept, to_keep = given & written, given & wanted
    deleted, to_delete = given - written, given - wanted
    return [
        *(len(added & to_add), len(added), len(to_add)),
        *((kept & to_keep).total(), kept.total(), to_keep.total()),
        *((deleted & to_delete).total(), deleted.total(), to_delete.total()),
    ]


def _times(grams: Grams, many: int) -> Grams:
    return Counter({gram: count * many for gram, count in grams.items()})
