"""N-best lists as a whole: how much its hypotheses differ from each other, and how good they are on
average.

>>> from syntagma.metrics.base import Candidate
>>> segment = Segment("ab", nbest=(Candidate("ab"), Candidate("ac"), Candidate("ab")))
>>> round(DLexBeam().corpus([segment])[0].value, 1)
33.3
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from syntagma.errors import ConfigError
from syntagma.metrics.base import Array, Candidate, MeanMetric, Segment, sign
from syntagma.metrics.bleu import IBleu, bleu_score
from syntagma.metrics.lexical import lexical_distance
from syntagma.metrics.trees import DEPTH, DSyn


class DLexBeam(MeanMetric):
    """The mean D_lex of every two hypotheses of a list; a list of fewer than two has no pair and does not count."""

    names: tuple[str, ...] = ("d_lex_beam",)
    needs = frozenset({"nbest"})

    def segment(self, segment: Segment) -> Sequence[float]:
        """The mean over the pairs, and whether there is one."""
        distances = [self.between(a, b) for a, b in combinations(segment.nbest, 2)]
        return (sum(distances) / len(distances), 1.0) if distances else (0.0, 0.0)

    def between(self, a: Candidate, b: Candidate) -> float:
        """The distance of two hypotheses, from 0 to 1."""
        return lexical_distance(a.text.strip(), b.text.strip())

    def signature(self) -> str:
        """As D_lex."""
        return sign("D_lex beam", pairs="all", unit="character bag", norm="sum of lengths")


class DSynBeam(DLexBeam):
    """The mean D_syn of every two hypotheses of a list."""

    names: tuple[str, ...] = ("d_syn_beam",)
    needs = frozenset({"nbest", "nbest_trees"})

    def __init__(self, depth: int | None = DEPTH, trees: str = "induced") -> None:
        self._d_syn = DSyn(depth, trees)

    def between(self, a: Candidate, b: Candidate) -> float:
        """The distance of two hypotheses' trees."""
        return self._d_syn.distance(a.tree, b.tree)

    def signature(self) -> str:
        """As D_syn."""
        depth = "all" if self._d_syn.depth is None else f"0-{self._d_syn.depth}"
        return sign("D_syn beam", pairs="all", depth=depth, norm="sum of sizes", trees=self._d_syn.trees)


class BeamQuality(IBleu):
    """BLEU and iBLEU averaged over the beam: the corpus figure of all first hypotheses, of all second ones, and so on.

    A list shorter than `beam` is missing from the corpora of the ranks that it lacks.
    """

    names: tuple[str, ...] = ("beam_bleu", "beam_ibleu")
    needs = frozenset({"nbest", "refs", "src"})

    def __init__(self, beam: int, r: float = 0.7, tokenize: str = "none", lowercase: bool = False) -> None:
        super().__init__(r, tokenize, lowercase)
        self.beam = beam

    def segment(self, segment: Segment) -> Sequence[float]:
        """For each rank BLEU's row and self-BLEU's."""
        if len(segment.nbest) > self.beam:
            raise ConfigError(
                f"a list has {len(segment.nbest)} hypotheses, more than the beam of {self.beam}",
                remedy=f"pass --beam {len(segment.nbest)} or more",
            )
        rows: list[float] = []
        for candidate in segment.nbest:
            rows += self._against(candidate.text, segment.refs) + self._against(candidate.text, (segment.src,))
        return rows + [0.0] * (20 * self.beam - len(rows))

    def _ranks(self, totals: Array, effective_order: bool) -> Array:
        ranks = totals.reshape(*totals.shape[:-1], self.beam, 20)
        bleu, self_bleu = bleu_score(ranks[..., :10], effective_order), bleu_score(ranks[..., 10:], effective_order)
        used = (ranks[..., 1] > 0) | (ranks[..., 0] > 0)  # ranks that some list has
        counted = np.maximum(used.sum(axis=-1), 1)
        mean = np.where(used, bleu, 0.0).sum(axis=-1) / counted
        mean_self = np.where(used, self_bleu, 0.0).sum(axis=-1) / counted
        return np.stack([mean, self.r * mean - (1 - self.r) * mean_self], axis=-1)

    def score(self, totals: Array) -> Array:
        """Both means."""
        return self._ranks(totals, effective_order=False)

    def segment_scores(self, statistics: Array) -> Array:
        """Both means of sentence BLEUs."""
        return self._ranks(statistics, effective_order=True)

    def signature(self) -> str:
        """As iBLEU's, with the beam."""
        return sign("beam quality", beam=self.beam, mean="ranks", r=self.r, **self._choices())
