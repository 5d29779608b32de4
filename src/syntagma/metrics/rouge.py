"""ROUGE-1, 2 and L as ROUGE-1.5.5 computes them in the paper's setting, equal to the package py-rouge.

Texts are cut at 100 words, put in small letters, stripped of all but letters and digits, and stemmed: a word of four or
more letters by the list of exceptions in `rouge_exceptions.txt`, else by Porter's rules.  F weighs precision and recall
alike (alpha 0.5); the figure is the mean of the segments' F.  ROUGE-L's precision and recall are raised to 1 / 1.2: so
does the weight of 1.2 act in py-rouge, and the paper's figures have it.  Over several references, matches and lengths
are summed before precision and recall are taken (py-rouge's averaging model, ROUGE-1.5.5's `-f A`).

>>> [round(score.value, 1) for score in Rouge().corpus([Segment("he runs quickly", ("he was running quickly",))])]
[85.7, 40.0, 88.1]
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise

from syntagma.metrics.base import MeanMetric, Segment, sign
from syntagma.metrics.bleu import common
from syntagma.metrics.porter import stem

WORD_LIMIT = 100
ALPHA = 0.5
LCS_WEIGHT = 1.2

_NOT_ALPHANUMERIC = re.compile("[^a-z0-9]")
_STEMMED_FROM = 4
# words that the tokeniser of the original setting takes apart
_JOINED = {word: (word[:3], word[3:]) for word in ("gimme", "gonna", "gotta", "lemme", "wanna")}


class Rouge(MeanMetric):
    """ROUGE-1, ROUGE-2 and ROUGE-L against the references."""

    names: tuple[str, ...] = ("rouge1", "rouge2", "rougeL")
    needs = frozenset({"refs"})

    def prepare(self, text: str) -> tuple[str, ...]:
        """The stems of the first hundred words."""
        return _stems(text)

    def values(self, segment: Segment) -> Sequence[float]:
        """The three F of one segment."""
        hyp = _stems(segment.hyp)
        refs = [_stems(ref) for ref in segment.refs]
        hyp_pairs, ref_pairs = list(pairwise(hyp)), [list(pairwise(ref)) for ref in refs]
        words = sum(map(len, refs))
        return (
            f_score(sum([common(hyp, ref) for ref in refs]), len(hyp) * len(refs), words),
            f_score(
                sum([common(hyp_pairs, pairs) for pairs in ref_pairs]),
                len(hyp_pairs) * len(refs),
                sum(map(len, ref_pairs)),
            ),
            f_score(sum([common_length(hyp, ref) for ref in refs]), len(hyp) * len(refs), words, LCS_WEIGHT),
        )

    def signature(self) -> str:
        """The setting, in ROUGE-1.5.5's terms."""
        return sign(
            "ROUGE-1.5.5",
            stem="porter+wordnet",
            limit=f"{WORD_LIMIT}w",
            alpha=ALPHA,
            weightL=LCS_WEIGHT,
            refs="average",
        )


def common_length(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """The length of the longest common subsequence, a row of the usual table at a time in the bits of a number.

    >>> common_length("the cat sat".split(), "the old cat then sat".split())
    3
    """
    places: dict[Hashable, int] = {}
    for place, word in enumerate(first):
        places[word] = places.get(word, 0) | 1 << place
    everything = (1 << len(first)) - 1
    row = everything  # a bit is off where the subsequence grows
    for word in second:
        matched = row & places.get(word, 0)
        row = (row + matched | row - matched) & everything
    return len(first) - row.bit_count()


def f_score(matches: int, hyp_total: int, ref_total: int, weight: float = 1.0) -> float:
    """The weighted harmonic mean of precision and recall, each raised to 1 / `weight`; 0 where nothing matches.

    >>> f_score(2, 4, 2)
    0.6666666666666666
    """
    if not matches:
        return 0.0
    precision, recall = matches / hyp_total, matches / ref_total
    if weight != 1.0:
        precision, recall = precision ** (1 / weight), recall ** (1 / weight)
    return precision * recall / ((1 - ALPHA) * precision + ALPHA * recall)


@lru_cache(maxsize=64)
def _stems(text: str) -> tuple[str, ...]:
    stems: list[str] = []
    for token in text.lower().split(None, WORD_LIMIT)[:WORD_LIMIT]:
        stems += _token_stems(token)
    return tuple(stems)


@lru_cache(maxsize=65536)
def _token_stems(token: str) -> tuple[str, ...]:
    """The stems of the words in a token, which may be none or, as in `well-known`, several."""
    words = [part for word in _NOT_ALPHANUMERIC.sub(" ", token).split() for part in _JOINED.get(word, (word,))]
    return tuple(_exceptions().get(word) or stem(word) if len(word) >= _STEMMED_FROM else word for word in words)


@cache
def _exceptions() -> dict[str, str]:
    text = files("syntagma.metrics").joinpath("rouge_exceptions.txt").read_text(encoding="utf-8")
    pairs = ((line.split(" ")[0], line.split(" ")[1]) for line in text.splitlines() if not line.startswith("#"))
    return dict(pairs)
