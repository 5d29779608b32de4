from __future__ import annotations

from typing import Any

import numpy as np

from search_models import TEXTS, ScriptedRuntime
from syntagma.network.contexts import AnnotatedContext
from syntagma.search import Generator, SearchOptions
from syntagma.search.hypothesis import Hypothesis
from syntagma.search.selection import by_structure, structure, unlike_each_other
from syntagma.text import Subwords, split
from syntagma.text.subwords import END, PART_ID

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


def test_each_structure_has_its_share_of_the_beam() -> None:
    ranked = [hypothesis([60 + number], -number, NOUN) for number in range(4)]
    ranked += [hypothesis([70], -5, VERB), hypothesis([71], -6, VERB), hypothesis([80], -7, BOTH)]
    for structures, expected in ((1, [60, 61, 62, 63]), (2, [60, 61, 70, 71]), (3, [60, 61, 70, 80])):
        kept = by_structure(ranked, SearchOptions(beam=4, num_structures=structures), LABELS)
        assert [each.ids[0] for each in kept] == expected


def test_after_the_best_text_come_those_least_like_the_others() -> None:
    best, near = hypothesis([60, 61, 62], -1, NOUN), hypothesis([60, 61, 63], -1.1, NOUN)
    other_words, other_shape = hypothesis([70, 71, 72], -1.4, NOUN), hypothesis([60, 61, 64], -1.2, VERB)
    ranked = [best, near, other_shape, other_words]
    ranks = {each: each.score for each in ranked}
    assert unlike_each_other(ranked, ranks, LABELS) == [best, other_words, other_shape, near]
    assert unlike_each_other(ranked, ranks | {other_words: -3.0}, LABELS)[-1] is other_words
    assert unlike_each_other([], {}, LABELS) == []


def nouns_rather_than_verbs(before: tuple[int, ...]) -> Any:
    """A constituent becomes a noun phrase, seldom a verb phrase, or one of many words."""
    likely = np.linspace(-1.0, -1.5, SUBWORDS.size)
    likely[[NP, VP]] = -0.1, -2.0
    if before[-1] != PART_ID:
        likely[:] = -9.0
        likely[[END, PART_ID]] = -0.1
    return likely


def test_a_search_for_structures_finds_more_of_them() -> None:
    def first_labels(asked: int) -> set[str]:
        options = SearchOptions(beam=6, num_structures=asked, max_depth=3, max_tokens=4)
        outputs = Generator(ScriptedRuntime(SUBWORDS, nouns_rather_than_verbs), SUBWORDS, options)(TEXTS[0], nbest=6)
        return {output.levels[1] for output in outputs if output.levels[1].startswith("<")}

    assert first_labels(0) < first_labels(4)
