from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from syntagma.parse.treebank import example
from syntagma.parse.variants import Constituents, Variants, join_clitics, keep_words, swap, vary
from syntagma.tree import Tree

TREE = Tree.read(
    "(TOP (S (NP (PRP I)) (VP (VBP do) (RB n't) (VP (VB know) (NP (NP (NNP John) (POS 's)) (NN dog)))) (? ?)))"
)
OTHER = Tree.read("(TOP (S (NP (DT The) (JJ old) (NN man)) (VP (VBD saw) (NP (PRP her))) (. .)))")


def test_joined_clitics_keep_the_tree() -> None:
    one = join_clitics(example(TREE))
    assert one.words == ("I", "don't", "know", "John's", "dog", "?")
    assert one.tags == ("PRP", "VBP", "VB", "NNP", "NN", ".")
    assert one.spans == {(0, 6): "S", (0, 1): "NP", (1, 5): "VP", (2, 5): "VP", (3, 5): "NP", (3, 4): "NP"}


def test_constituents_that_come_to_cover_the_same_words_are_a_chain() -> None:
    one = example(Tree.read("(TOP (S (NP (NN a)) (PRN (: -) (NP (NN b)) (: -))))"))
    assert keep_words(one, [True, False, True, False]).spans == {(0, 2): "S", (0, 1): "NP", (1, 2): "PRN+NP"}
    assert keep_words(one, [False] * 4) is one


def test_variants_are_drawn_by_the_seed() -> None:
    one = example(TREE)
    often = Variants(lower=1.0, no_final=1.0, no_punctuation=0.0)
    assert vary(one, often, random.Random(1)).words == ("i", "do", "n't", "know", "john", "'s", "dog")
    assert vary(one, Variants(0, 0, 0, 0, 0), random.Random(1)) == one
    some = [vary(one, Variants(), random.Random(seed)) for seed in range(60)]
    assert some == [vary(one, Variants(), random.Random(seed)) for seed in range(60)]
    assert len({words.words for words in some}) > 3


def test_a_constituent_gives_way_to_another_of_its_label() -> None:
    one = example(OTHER)
    others = Constituents({"NP": [(example(TREE), 4, 7)]})
    swapped = [swap(one, others, random.Random(seed)) for seed in range(20)]
    assert {" ".join(new.words) for new in swapped} == {"John 's dog saw her .", "The old man saw John 's dog ."}
    longer = next(new for new in swapped if new.words[0] == "The")
    assert longer.tags == ("DT", "JJ", "NN", "VBD", "NNP", "POS", "NN", ".")
    assert longer.spans == {(0, 8): "S", (0, 3): "NP", (3, 7): "VP", (4, 7): "NP", (4, 6): "NP"}


def test_a_sentence_without_a_place_for_the_others_stays() -> None:
    one = example(OTHER)
    assert swap(one, Constituents({"PP": [(one, 0, 1)]}), random.Random(1)) is one
    assert "S" not in Constituents.of([one]).by_label, "a whole sentence is no constituent to swap"
    assert set(Constituents.of([one], longest=1).by_label) == {"NP"}


@given(st.integers(0, 10**6))
def test_swapping_keeps_trees_well_formed(seed: int) -> None:
    chance = random.Random(seed)
    others = Constituents.of([example(TREE), example(OTHER)])
    one = example(chance.choice([TREE, OTHER]))
    for _ in range(5):
        one = vary(one, Variants(0, 0, 0, 0, 0, swapped=1.0), chance, others)
        assert len(one.words) == len(one.tags)
        assert one.spans[0, len(one.words)] == "S"
        crossing = [(a, b, c, d) for a, b in one.spans for c, d in one.spans if a < c < b < d]
        assert crossing == []
        assert all(0 <= start < end <= len(one.words) for start, end in one.spans)
