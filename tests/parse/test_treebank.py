from __future__ import annotations

import random
from pathlib import Path

import pytest

from syntagma.errors import InputError
from syntagma.parse.treebank import (
    Variants,
    backoff,
    clean,
    example,
    inventory,
    join_clitics,
    keep_words,
    read_examples,
    vary,
)  # fmt: skip
from syntagma.tree import Tree

TREE = Tree.read(
    "(TOP (S (NP (PRP I)) (VP (VBP do) (RB n't) (VP (VB know) (NP (NP (NNP John) (POS 's)) (NN dog)))) (? ?)))"
)


def test_labels_are_cleaned() -> None:
    tree = Tree.read("(TOP (SQ (NPP (NP me)) (-LSB- [) (? ?)))")
    assert str(clean(tree)) == "(TOP (SQ (NP (NN me)) (-LRB- [) (. ?)))"


def test_an_example_has_chains_and_tags() -> None:
    one = example(Tree.read("(TOP (S (VP (VB Go) (NP (NP (NN home))))))"))
    assert one.words == ("Go", "home")
    assert one.tags == ("VB", "NN")
    assert one.spans == {(0, 2): "S+VP", (1, 2): "NP+NP"}


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


def test_rare_labels_back_off_to_what_is_inside() -> None:
    labels, tags = inventory([example(TREE)] * 3, rare=4)
    assert labels == ["", "NP", "VP"]
    assert tags == []
    assert backoff("S+NP", set(labels)) == "NP"
    assert backoff("S", set(labels)) == ""


def test_a_tree_without_tags_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "bad.trees"
    path.write_text("(TOP (S (NP (PRP I)) (VP nod now)))\n")
    with pytest.raises(InputError, match=r"bad\.trees: tree 1 has the word 'nod' without a part of speech"):
        read_examples(path)
    path.write_text("")
    with pytest.raises(InputError, match="holds no tree"):
        read_examples(path)
