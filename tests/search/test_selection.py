from __future__ import annotations

from search_models import TEXTS, random_generator
from syntagma.network.contexts import AnnotatedContext
from syntagma.search import SearchOptions
from syntagma.search.hypothesis import Hypothesis
from syntagma.search.selection import by_structure, structure, unlike_each_other
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


def test_a_search_for_structures_finds_more_of_them() -> None:
    def structures(seed: int, asked: int) -> int:
        outputs = random_generator(SUBWORDS, seed, beam=6, num_structures=asked)(TEXTS[0], nbest=6)
        return len({tuple(token for level in output.levels[1:4] for token in level.split() if token[0] == "<")
                    for output in outputs})  # fmt: skip

    found = [(structures(seed, 0), structures(seed, 4)) for seed in range(4)]
    assert all(plain <= asked for plain, asked in found)
    assert any(plain < asked for plain, asked in found)
