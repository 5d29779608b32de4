"""How to search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from syntagma.aliases import renamed
from syntagma.errors import ConfigError
from syntagma.settings import Settings, setting

_SPARE = 3
"""Hypotheses beside those that are asked for: constraints leave some out, `prune` lets others die."""
_SPARE_PLANS = 2
_DRAFTS_EACH = 6
WIDEST = 1000
"""The widest beam: beyond, a step of a single text takes minutes and gigabytes."""


@dataclass(frozen=True)
class SearchOptions(Settings):
    """The settings of structural beam search; a model's folder may carry its own defaults."""

    beam: int = setting(5, ge=1, le=WIDEST)
    """Hypotheses kept at each depth, and infills kept for each of them."""
    alpha: float = setting(0.8, ge=0, lt=1)
    """The accumulation weight: how much of a hypothesis's score is what it had before its last level."""
    score: Literal["sum", "mean"] = "sum"
    """An infill's score: the sum of its tokens' log-probabilities, or their mean (as the authors' program has it)."""
    first_level: Literal["weighted", "plain"] = "weighted"
    """Whether level 1's score is weighted as in Algorithm 1, or enters as it is (as in the authors' program)."""
    rerank: Literal["none", "joint", "seq2seq"] = "none"
    """How finished texts are ordered: by their score, in which late levels count most; by the log-probability of
    their tree and words together, for each subword of the text; or by that and the words alone, written in one go,
    which a model must have learnt (`seq2seq_objective` in its configuration)."""
    joint_weight: float = setting(0.5, ge=0, le=1)
    """How much the tree and words together count with rerank=seq2seq; the words alone have the rest."""
    channel_weight: float = setting(0.0, ge=0)
    """How much the noisy channel counts in reranking: the log-probability of the source, written in one go from the
    text, for each of its subwords.  For models that were trained both ways, such as paraphrasers; without a reranker
    it counts nothing."""
    novelty_weight: float = setting(0.0, ge=0)
    """How much a text gains in reranking for the share of its pairs of neighbouring subwords that the source does not
    have.  For paraphrasers, which otherwise prefer what is nearly the source; without a reranker it counts nothing."""
    max_depth: int = setting(24, ge=1)
    """The last depth at which a constituent may be filled; there it gets words only."""
    max_tokens: int = setting(120, ge=1)
    """The most tokens in one infill, or in a baseline's output."""
    max_row_steps: int = setting(10_000, ge=0)
    """The most decoder steps of a request for each place of its beam, after which it is given up; 0: any number."""
    reward: float = 0.32
    """Gamma: what a context that matches a soft template gains."""
    forbid_copy: bool = False
    """Leave out a hypothesis that only repeats the source, but for case and punctuation."""
    copy_fallback: bool = True
    """With `forbid_copy`: return the source, with a note, where every other hypothesis is bad."""
    copy_margin: float = setting(0.0, ge=0)
    """Leave out a finished text that is less faithful than the source itself, by more than this: its
    log-probability written in one go, for each subword, and the noisy channel's; and one that is that much worse than
    the best; of several texts those after the first by more than three times this.  Where that leaves none, return the
    source, with a note, unless copies are forbidden.  For paraphrasers that are reranked; 0: never."""
    no_adjacent_repeats: bool = False
    """Leave out a hypothesis that says the same words twice in a row as long as there is another, unless the source
    does it too."""
    no_repeat_ngram_size: int = setting(0, ge=0)
    """Leave out a hypothesis in which so many words in a row stand twice as long as there is another, unless the source
    does it too; 0: never."""
    no_repeated_words: bool = False
    """Write no word of four letters or more, function words apart, more often than the source does, or twice.  For
    paraphrasers of English."""
    keep_capital: bool = False
    """Leave out a text that begins with a small letter as long as there is another, where the source begins with a
    capital."""
    known_words_only: bool = False
    """Write no words that the model makes up from pieces: every word is one that it has met, which its folder must
    list (`words.txt`), or one of the source."""
    keep_literals: bool = False
    """Keep the numbers, names and addresses of the source to the letter.  For models whose target is in the source's
    language."""
    max_unary_repeats: int = setting(2, ge=-1)
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
    diversity_penalty: float = setting(0.0, ge=0)
    """What a context loses for each share of tokens it has in common with those already kept at its depth."""
    num_beam_groups: int = setting(0, ge=0)
    """Into how many groups the beam is split for that penalty; 0: every hypothesis is its own."""
    num_structures: int = setting(0, ge=0)
    """How many different structures the beam keeps, each with an equal share of its places; of the texts, after the
    best those come first that are least like the others.  A structure is the labels of the first contexts.  0: the
    scores alone decide."""
    num_plans: int = setting(0, ge=0)
    """In how many planned shapes, at most as many as the beam has places, a text that nothing else steers is grown;
    each has an equal share of the beam to itself.  The model writes whole texts with different beginnings; their trees,
    parsed, are the shapes.  For models that write English and have learnt `seq2seq_objective`.  0: none, the search
    finds the shape itself, or drafts are all that is asked for."""
    num_drafts: int = setting(0, ge=0)
    """How many of those texts are written where they compete as well: the best, two for each text that is asked for,
    each as the tree that the parser reads in it, with its levels' scores."""
    seq2seq: bool = False
    """Write each text in one go, as a sequence-to-sequence model does: the baseline in a guided model's own weights.
    For models that have learnt `seq2seq_objective`.  Nothing can steer it, and it gives no tree."""
    sample: bool = False
    """Draw infills instead of searching for the best: `beam` independent samples."""
    temperature: float = setting(1.0, gt=0)
    """The temperature of samples."""
    top_p: float = setting(1.0, gt=0, le=1)
    """Draw from the likeliest tokens that make up this share."""
    seed: int = setting(1, ge=0)
    """The seed of samples."""
    bounds: bool = True
    """Drop partial infills that cannot enter the beam any more; never changes a result."""
    prune: float = setting(0.0, ge=0)
    """Drop partial infills whose log-probability is so much lower than the best infill's of their context; 0: none.
    Faster, but a good hypothesis that begins badly may be lost."""

    @property
    def drafts(self) -> bool:
        """Whether whole texts are written first."""
        return max(self.num_plans, self.num_drafts) > 0 and not self.sample

    @property
    def width(self) -> int:
        """The measure that its work grows with: hypotheses at each depth, and drafts, which are written and scored."""
        return self.beam + self.num_drafts

    @classmethod
    def paper(cls) -> Self:
        """The paper's search: Algorithms 1 and 2 and nothing else."""
        return cls(alpha=0.8, score="sum", max_unary_repeats=-1)

    def for_texts(self, nbest: int, changes: Mapping[str, Any], widest: int | None = None) -> Self:
        """These settings, changed by a user, with a beam for so many texts.

        A beam that is asked for is as wide as the texts need at least; where none is, several texts have a few places
        more than there are of them, because some hypotheses are dropped, up to `widest`.  Where structures share the
        beam, several texts have as many structures, with two places each; where shapes are planned, two more of them
        than texts, each with the share that it has for one text, or where drafts compete, six drafts a text.  A user
        who forbids copies gets none, whatever the others are like.

        >>> plain = SearchOptions(beam=5)
        >>> [plain.for_texts(nbest, {}).beam for nbest in (1, 5)], plain.for_texts(5, {"beam": 2}).beam
        ([5, 8], 5)
        >>> varied = SearchOptions(beam=6, num_structures=3).for_texts(5, {})
        >>> varied.beam, varied.num_structures
        (13, 5)
        >>> planned = SearchOptions(beam=8, num_plans=4).for_texts(5, {})
        >>> planned.beam, planned.num_plans
        (14, 7)
        """
        changes = renamed("SearchOptions", changes, warn=True)
        options = self.changed({"copy_fallback": False} | changes if changes.get("forbid_copy") else changes)
        if options.num_drafts and nbest > 1:
            drafts = options.num_drafts if "num_drafts" in changes else max(options.num_drafts, _DRAFTS_EACH * nbest)
            return options.changed({"num_drafts": drafts, "beam": max(nbest, options.beam)})
        if options.num_plans and nbest > 1:
            plans = options.num_plans if "num_plans" in changes else max(options.num_plans, nbest + _SPARE_PLANS)
            beam = options.beam if "beam" in changes else plans * max(1, options.beam // options.num_plans)
            beam = max(nbest, beam if widest is None else min(beam, widest))
            return options.changed({"num_plans": plans, "beam": beam})
        varied = nbest > 1 and options.num_structures > 0 and "num_structures" not in changes
        wanted = nbest if nbest == 1 or "beam" in changes else (2 if varied else 1) * nbest + _SPARE
        if widest is not None:
            wanted = max(nbest, min(wanted, widest))
        structures = max(options.num_structures, nbest) if varied else options.num_structures
        return options.changed({"beam": max(options.beam, wanted), "num_structures": structures})


NAMED: dict[str, Callable[[], SearchOptions]] = {"paper": SearchOptions.paper}
"""Settings that have a name."""


def named(name: str) -> SearchOptions:
    """The settings of that name."""
    if name not in NAMED:
        raise ConfigError(f"there is no search setting {name!r}", remedy=f"choose one of {', '.join(NAMED)}")
    return NAMED[name]()
