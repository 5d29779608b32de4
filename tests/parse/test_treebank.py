from __future__ import annotations

from pathlib import Path

import pytest

from syntagma.errors import InputError
from syntagma.parse.treebank import backoff, clean, example, inventory, read_examples
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
