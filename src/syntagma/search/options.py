"""How to search."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from syntagma.config import Settings
from syntagma.errors import ConfigError

_SPARE = 3
"""Hypotheses beside those that are asked for: constraints leave some out, `prune` lets others die."""
_WIDEST = 1000
"""The widest beam: beyond, a step of a single text takes minutes and gigabytes."""

_RERANKERS = {"score": "none", "whole": "seq2seq"}


def _same(value: Any) -> Any:
    return value


def _negated(value: Any) -> Any:
    return not value if isinstance(value, bool) else value


def _reranker(value: Any) -> Any:
    return _RERANKERS.get(value, value)


ALIASES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "novel": ("forbid_copy", _same),
    "stutter": ("no_adjacent_repeats", _negated),
    "coin": ("known_words_only", _negated),
    "rank": ("rerank", _reranker),
    "back": ("channel_weight", _same),
    "diversity": ("diversity_penalty", _same),
    "groups": ("num_beam_groups", _same),
}
"""What settings were called before, with their present names and values."""

_warned: set[str] = set()


def renamed(values: Mapping[str, Any], warn: bool = False) -> dict[str, Any]:
    """Settings under their present names; those given under a former one win, with a warning on stderr if `warn`.

    >>> renamed({"beam": 3, "coin": False, "rank": "whole"})
    {'beam': 3, 'known_words_only': True, 'rerank': 'seq2seq'}
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"the settings of a search cannot be {values!r}", remedy="give names with their values")
    found = {name: value for name, value in values.items() if name not in ALIASES}
    for name, value in values.items():
        if name in ALIASES:
            present, change = ALIASES[name]
            found[present] = change(value)
            if warn and name not in _warned:
                _warned.add(name)
                print(f"syntagma: the setting {name!r} is now {present!r}={found[present]!r}", file=sys.stderr)
    return found


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
    rerank: Literal["none", "joint", "seq2seq"] = "none"
    """How finished texts are ordered: by their score, in which late levels count most; by the log-probability of
    their tree and words together, for each subword of the text; or by the mean of that and of the words alone, written
    in one go, which a model must have learnt (`whole` in its configuration)."""
    channel_weight: float = 0.0
    """How much the noisy channel counts in reranking: the log-probability of the source, written in one go from the
    text, for each of its subwords.  For models that were trained both ways, such as paraphrasers; without a reranker
    it counts nothing."""
    max_depth: int = 24
    """The last depth at which a constituent may be filled; there it gets words only."""
    max_tokens: int = 120
    """The most tokens in one infill, or in a baseline's output."""
    max_row_steps: int = 10_000
    """The most decoder steps of a request for each place of its beam, after which it is given up; 0: any number."""
    reward: float = 0.32
    """Gamma: what a context that matches a soft template gains."""
    forbid_copy: bool = False
    """Leave out a hypothesis that only repeats the source, but for case and punctuation."""
    copy_fallback: bool = True
    """With `forbid_copy`: say the source back, with a note, where every other hypothesis is bad."""
    no_adjacent_repeats: bool = False
    """Leave out a hypothesis that says the same words twice in a row as long as there is another, unless the source
    does it too."""
    known_words_only: bool = False
    """Write no words that the model makes up from pieces: every word is one that it has met, which its folder must
    list (`words.txt`), or one of the source."""
    keep_literals: bool = False
    """Keep the numbers, names and addresses of the source to the letter.  For models whose target is in the source's
    language."""
    max_unary_repeats: int = 2
    """How often in a row a constituent may become nothing but another with its own label; -1: any number."""
    valid_brackets: bool = True
    """For the linearised baseline: whether what it writes is a tree for certain.  Without, brackets that do not fit are
    passed over, and those left open are closed at the end."""
    check_template: bool = False
    """Under hard control, put the texts first that the bundled parser too gives the template's shape.  For models that
    write English."""
    split: bool = False
    """Search a text of several sentences sentence by sentence, and put together what is found.  For models that were
    trained on single sentences."""
    diversity_penalty: float = 0.0
    """What a context loses for each share of tokens it has in common with those already kept at its depth."""
    num_beam_groups: int = 0
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

    @classmethod
    def paper(cls) -> Self:
        """The paper's search: Algorithms 1 and 2 and nothing else."""
        return cls(alpha=0.8, score="sum", max_unary_repeats=-1)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The settings with `values`, also under their former names, and defaults for the rest."""
        return super().from_dict(renamed(values))

    def changed(self, values: Mapping[str, Any]) -> Self:
        """The settings with some changed; a former name is read with a warning on stderr."""
        return type(self).from_dict(self.to_dict() | renamed(values, warn=True))

    def for_texts(self, nbest: int, changes: Mapping[str, Any], widest: int | None = None) -> Self:
        """These settings, changed by a user, with a beam for so many texts.

        A beam that is asked for is as wide as the texts need at least; where none is, several texts have a few places
        more than there are of them, because some hypotheses are dropped, up to `widest`.  A user who forbids copies
        gets none, whatever the others are like.

        >>> plain = SearchOptions(beam=5)
        >>> [plain.for_texts(nbest, {}).beam for nbest in (1, 5)], plain.for_texts(5, {"beam": 2}).beam
        ([5, 8], 5)
        """
        changes = renamed(changes, warn=True)
        options = self.changed({"copy_fallback": False} | changes if changes.get("forbid_copy") else changes)
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
        for name, nothing in (
            ("prune", "to drop nothing"),
            ("channel_weight", "for no noisy channel"),
            ("max_row_steps", "for any number"),
        ):
            if getattr(self, name) < 0:
                raise ConfigError(
                    f"{name!r} cannot be {getattr(self, name)}", remedy=f"give a number over 0, or 0 {nothing}"
                )
        if not (self.temperature > 0 and 0 < self.top_p <= 1):
            raise ConfigError(
                "the temperature or top-p makes no sense", remedy="give a temperature over 0, top_p up to 1"
            )
        if not 0 <= self.alpha < 1:
            raise ConfigError(
                f"an accumulation weight of {self.alpha} makes no sense", remedy="give alpha from 0 up to 1"
            )


NAMED: dict[str, Callable[[], SearchOptions]] = {"paper": SearchOptions.paper}
"""Settings that have a name."""


def named(name: str) -> SearchOptions:
    """The settings of that name."""
    if name not in NAMED:
        raise ConfigError(f"there is no search setting {name!r}", remedy=f"choose one of {', '.join(NAMED)}")
    return NAMED[name]()
