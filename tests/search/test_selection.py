from __future__ import annotations

from search_models import TEXTS
from syntagma.network.contexts import AnnotatedContext
from syntagma.search.hypothesis import Hypothesis
from syntagma.search.selection import structure, unlike_each_other
from syntagma.text import Subwords, split

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
NP, VP = SUBWORDS.label_id("NP"), SUBWORDS.label_id("VP")
LABELS = frozenset(SUBWORDS.label_id(label) for label in ("T", *SUBWORDS.labels))


def hypothesis(context: list[int], score: float, parent: Hypothesis | None = None) -> Hypothesis:
    zeros = [0] * len(context)
    depth = 1 if parent is None else parent.depth + 1
    return Hypothesis(AnnotatedContext(context, zeros, zeros, zeros), score, depth, parent)


ROOT = hypothesis([SUBWORDS.label_id("T")], 0.0)
NOUN, VERB, BOTH = (hypothesis(context, 0.0, ROOT) for context in ([NP, 50], [VP, 50], [NP, VP]))


def test_words_make_no_other_structure() -> None:
    noun, same, verb = hypothesis([51], -1, NOUN), hypothesis([52, 53], -2, NOUN), hypothesis([51], -1, VERB)
    assert structure(noun, LABELS) == structure(same, LABELS) != structure(verb, LABELS)


def test_after_the_best_text_come_those_least_like_the_others() -> None:
    best, near = hypothesis([60, 61, 62], -1, NOUN), hypothesis([60, 61, 63], -1.1, NOUN)
    other_words, other_shape = hypothesis([70, 71, 72], -1.4, NOUN), hypothesis([60, 61, 64], -1.2, VERB)
    ranked = [best, near, other_shape, other_words]
    ranks = {each: each.score for each in ranked}
    assert unlike_each_other(ranked, ranks, LABELS) == [best, other_words, other_shape, near]
    assert unlike_each_other(ranked, ranks | {other_words: -3.0}, LABELS)[-1] is other_words
    assert unlike_each_other([], {}, LABELS) == []
