"""How to search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from syntagma.config import Settings
from syntagma.errors import ConfigError

_SPARE = 3
"""Hypotheses beside those that are asked for: `novel` and `stutter` leave some out, `prune` lets others die."""
_WIDEST = 1000
"""The widest beam: beyond, a step of a single text takes minutes and gigabytes."""


@dataclass(frozen=True)
class SearchOptions(Settings):
    """The settings of structural beam search; a model's folder may carry its own defaults."""

    beam: int = 5
    """Hypotheses kept at each depth, and infills kept for each of them."""
    alpha: float = 0.8
    """The accumulation weight: how much of a hypothesis's score is what it had before its last level."""
    score: Literal["sum", "mean"] = "sum"
    """An infill's score: the sum of its tokens' log-probabilities, or their mean (as the authors' program has it)."""
    first_level: Literal["weighted", "plain"] = "weighted"
    """Whether level 1's score is weighted as in Algorithm 1, or enters as it is (as in the authors' program)."""
    rank: Literal["score", "joint", "whole"] = "score"
    """How finished texts are ordered: by their score, in which late levels count most; by the log-probability of
    their tree and words together, for each subword of the text; or by the mean of that and of the words alone, written
    in one go, which a model must have learnt (`whole`)."""
    back: float = 0.0
    """How much the way back counts in the order by `joint` or `whole`: the log-probability of the source, written in
    one go from the text, for each of its subwords.  For models that were trained both ways, such as paraphrasers; an
    order by `score` is by the score alone."""
    max_depth: int = 24
    """The last depth at which a constituent may be filled; there it gets words only."""
    max_tokens: int = 120
    """The most tokens in one infill, or in a baseline's output."""
    reward: float = 0.32
    """Gamma: what a context that matches a soft template gains."""
    novel: bool = False
    """Leave out a hypothesis that only repeats the source, as long as there is another."""
    stutter: bool = True
    """Whether a text may say the same words twice in a row; if not, a hypothesis that does is left out as long as there
    is another, unless the source does it too."""
    coin: bool = True
    """Whether a text may hold words that the model makes up from pieces; if not, every word is one of those that it has
    met, which its folder must list (`words.txt`), or of the source."""
    split: bool = False
    """Search a text of several sentences sentence by sentence, and put together what is found; not where something
    steers the search.  For models that were trained on single sentences."""
    diversity: float = 0.0
    """What a context loses for each share of tokens it has in common with those already kept at its depth."""
    groups: int = 0
    """Into how many groups the beam is split for that penalty; 0: every hypothesis is its own."""
    sample: bool = False
    """Draw infills instead of searching for the best: `beam` independent samples."""
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int = 1
    bounds: bool = True
    """Drop partial infills that cannot enter the beam any more; never changes a result."""
    prune: float = 0.0
    """Drop partial infills whose log-probability is so much lower than the best infill's of their context; 0: none.
    Faster, but a good hypothesis that begins badly may be lost."""

    @property
    def way_back(self) -> float:
        """What `back` comes to in this order."""
        return 0.0 if self.rank == "score" else self.back

    def for_texts(self, nbest: int, changes: Mapping[str, Any], widest: int | None = None) -> SearchOptions:
        """These settings, changed, with a beam for so many texts.

        A beam that is asked for is as wide as the texts need at least; where none is, several texts have a few places
        more than there are of them, because some hypotheses are dropped, up to `widest`.

        >>> plain = SearchOptions(beam=5)
        >>> [plain.for_texts(nbest, {}).beam for nbest in (1, 5)], plain.for_texts(5, {"beam": 2}).beam
        ([5, 8], 5)
        """
        options = self.changed(changes)
        wanted = nbest if nbest == 1 or "beam" in changes else nbest + _SPARE
        if widest is not None:
            wanted = max(nbest, min(wanted, widest))
        return options.changed({"beam": max(options.beam, wanted)})

    def __post_init__(self) -> None:
        for name in ("beam", "max_depth", "max_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name!r} cannot be {getattr(self, name)}", remedy="give a number of at least 1")
        if self.beam > _WIDEST:
            raise ConfigError(f"'beam' cannot be {self.beam}", remedy=f"give a number of at most {_WIDEST}")
        if self.prune < 0:
            raise ConfigError(f"'prune' cannot be {self.prune}", remedy="give a number over 0, or 0 to drop nothing")
        if self.back < 0:
            raise ConfigError(f"'back' cannot be {self.back}", remedy="give a number over 0, or 0 for no way back")
        if not (self.temperature > 0 and 0 < self.top_p <= 1):
            raise ConfigError(
                "the temperature or top-p makes no sense", remedy="give a temperature over 0, top_p up to 1"
            )
        if not 0 <= self.alpha < 1:
            raise ConfigError(
                f"an accumulation weight of {self.alpha} makes no sense", remedy="give alpha from 0 up to 1"
            )
