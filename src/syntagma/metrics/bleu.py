"""BLEU, self-BLEU and iBLEU, at corpus level, equal to sacrebleu's figures.

BLEU is Papineni's with orders 1 to 4, the closest reference length and exponential smoothing (which only matters where
an order has no match).  self-BLEU is BLEU against the source: how much was copied.  iBLEU, r BLEU - (1 - r) self-BLEU,
rewards what is near the reference and far from the source; both parts are corpus figures (Sun and Zhou 2012; r = 0.7 in
the paper).

>>> Bleu().corpus([Segment("the cat sat on the mat", ("the cat sat on a mat",))])[0].value.__round__(2)
53.73
>>> IBleu().corpus([Segment("a b c d", refs=("a b c d",), src="a b c d")])[0].value.__round__(6)
40.0
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache

import numpy as np

from syntagma.errors import ConfigError
from syntagma.metrics.base import Array, Metric, Segment, sign

ORDER = 4
TOKENISERS = ("none", "13a", "intl", "char", "zh")
_COLUMNS = 2 + 2 * ORDER  # hypothesis length, reference length, matches by order, n-grams by order


class Bleu(Metric):
    """BLEU against the references.

    `tokenize` is "none" for text whose tokens are separated by spaces already, which is what the paper scores, or one
    of sacrebleu's: "13a" for raw text, "intl", "char", "zh".
    """

    names: tuple[str, ...] = ("bleu",)
    needs = frozenset({"refs"})

    def __init__(self, tokenize: str = "none", lowercase: bool = False) -> None:
        if tokenize not in TOKENISERS:
            raise ConfigError(f"there is no tokenisation {tokenize!r}", remedy=f"use one of {', '.join(TOKENISERS)}")
        self.tokenize = tokenize
        self.lowercase = lowercase

    def prepare(self, text: str) -> list[str]:
        """The tokens that n-grams are made of."""
        return _tokeniser(self.tokenize)(text.lower() if self.lowercase else text).split()

    def segment(self, segment: Segment) -> Sequence[float]:
        """Lengths, then matches and n-grams of each order."""
        return self._against(segment.hyp, segment.refs)

    def _against(self, hyp: str, refs: tuple[str, ...]) -> tuple[int, ...]:
        return _matches(hyp, refs, self.tokenize, self.lowercase)

    def score(self, totals: Array) -> Array:
        """BLEU of aggregated rows."""
        return bleu_score(totals)[..., None]

    def segment_scores(self, statistics: Array) -> Array:
        """Sentence BLEU: orders longer than the sentence do not count."""
        return bleu_score(statistics, effective_order=True)[..., None]

    def signature(self) -> str:
        """The choices that sacrebleu's signature has, under the same names."""
        return sign("BLEU", **self._choices())

    def _choices(self) -> dict[str, object]:
        case = "lc" if self.lowercase else "mixed"
        return {"level": "corpus", "case": case, "tok": self.tokenize, "smooth": "exp", "order": ORDER}


class SelfBleu(Bleu):
    """BLEU against the source; lower is more novel."""

    names: tuple[str, ...] = ("self_bleu",)
    needs = frozenset({"src"})
    lower_is_better = frozenset({"self_bleu"})

    def segment(self, segment: Segment) -> Sequence[float]:
        """The same row with the source as the only reference."""
        return self._against(segment.hyp, (segment.src,))

    def signature(self) -> str:
        """As BLEU's."""
        return sign("self-BLEU", against="source", **self._choices())


class IBleu(Bleu):
    """r BLEU - (1 - r) self-BLEU."""

    names: tuple[str, ...] = ("ibleu",)
    needs = frozenset({"refs", "src"})

    def __init__(self, r: float = 0.7, tokenize: str = "none", lowercase: bool = False) -> None:
        super().__init__(tokenize, lowercase)
        if not 0 <= r <= 1:
            raise ConfigError(f"iBLEU's r is {r}", remedy="give a number from 0 to 1")
        self.r = r

    def segment(self, segment: Segment) -> Sequence[float]:
        """BLEU's row, then self-BLEU's."""
        return self._against(segment.hyp, segment.refs) + self._against(segment.hyp, (segment.src,))

    def score(self, totals: Array) -> Array:
        """iBLEU of aggregated rows."""
        return self._combine(totals, effective_order=False)

    def segment_scores(self, statistics: Array) -> Array:
        """iBLEU of sentence BLEUs."""
        return self._combine(statistics, effective_order=True)

    def _combine(self, totals: Array, *, effective_order: bool) -> Array:
        bleu = bleu_score(totals[..., :_COLUMNS], effective_order)
        self_bleu = bleu_score(totals[..., _COLUMNS:], effective_order)
        combined: Array = (self.r * bleu - (1 - self.r) * self_bleu)[..., None]
        return combined

    def signature(self) -> str:
        """As BLEU's, with r."""
        return sign("iBLEU", r=self.r, **self._choices())


def bleu_score(totals: Array, effective_order: bool = False) -> Array:
    """BLEU in percent, shape (...), of rows, shape (..., 10)."""
    hyp_length, ref_length = totals[..., 0], totals[..., 1]
    correct, total = totals[..., 2 : 2 + ORDER], totals[..., 2 + ORDER :]
    # the n-th order without a match counts as 1 / 2^n matches
    halvings = np.cumsum((correct == 0) & (total > 0), axis=-1)
    matched = np.where(correct > 0, correct, 0.5**halvings)
    orders = total > 0
    log_precision = np.log(np.where(orders, matched, 1.0)) - np.log(np.where(orders, total, 1.0))
    counted = np.maximum(orders.sum(axis=-1), 1) if effective_order else ORDER
    mean = np.exp(log_precision.sum(axis=-1) / counted)
    shortness = np.where(hyp_length > 0, ref_length / np.where(hyp_length > 0, hyp_length, 1.0), 1.0)
    brevity = np.exp(np.minimum(0.0, 1.0 - shortness))
    defined = correct.any(axis=-1) & (effective_order | orders.all(axis=-1))
    bleu: Array = np.where(defined, 100.0 * brevity * mean, 0.0)
    return bleu


@lru_cache(maxsize=64)
def _matches(hyp: str, refs: tuple[str, ...], tokenize: str, lowercase: bool) -> tuple[int, ...]:
    """The row of one hypothesis; cached because BLEU and iBLEU ask for the same one."""
    hyp_ngrams = _ngrams(hyp, tokenize, lowercase)
    ref_ngrams = [_ngrams(ref, tokenize, lowercase) for ref in refs]
    length = len(hyp_ngrams[0])
    closest = min((len(ngrams[0]) for ngrams in ref_ngrams), key=lambda n: (abs(n - length), n), default=0)
    correct = [common(hyp_ngrams[order], *(ngrams[order] for ngrams in ref_ngrams)) for order in range(ORDER)]
    return (length, closest, *correct, *(max(length - order, 0) for order in range(ORDER)))


def common(grams: Sequence[Hashable], *others: Sequence[Hashable]) -> int:
    """The clipped count: `grams` that `others` have, each at most as often as in the one that has most of it.

    >>> common("the the cat".split(), "the cat".split(), "a cat a cat".split())
    2
    """
    distinct = set(grams)
    if len(others) == 1 and len(distinct) == len(grams):
        return len(distinct.intersection(others[0]))  # the usual case: nothing occurs twice
    counts = Counter(grams)
    most = Counter(others[0]) if others else Counter[Hashable]()
    for other in others[1:]:
        most |= Counter(other)
    return sum([min(counts[gram], most[gram]) for gram in counts.keys() & most.keys()])


@lru_cache(maxsize=64)
def _ngrams(text: str, tokenize: str, lowercase: bool) -> tuple[Sequence[Hashable], ...]:
    """The n-grams of each order, from 1."""
    tokens = _tokeniser(tokenize)(text.lower() if lowercase else text).split()
    shifted = [tokens[start:] for start in range(ORDER)]
    return (tokens, *(list(zip(*shifted[:order], strict=False)) for order in range(2, ORDER + 1)))


@lru_cache
def _tokeniser(name: str) -> Callable[[str], str]:
    if name == "none":
        return str.rstrip
    from sacrebleu.metrics.bleu import BLEU

    tokenise: Callable[[str], str] = BLEU(tokenize=name).tokenizer
    return lambda text: tokenise(text.rstrip())
