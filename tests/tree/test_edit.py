from __future__ import annotations

import random
from importlib.util import find_spec

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syntagma.tree import Tree
from syntagma.tree.edit import edit_distance, normalised_edit_distance, tree_size


def shape(text: str) -> Tree:
    """A tree without words: `A(B C(D))`."""
    walk: list[str] = []
    for token in text.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            walk.pop()
        else:
            walk += [")"] if token == ")" else ["(" + token, ")"]
    return Tree.from_walk(walk)


CASES = [
    ("A", "A", 0),
    ("A", "B", 1),
    ("A", "A(B)", 1),
    ("A(B C)", "A(C B)", 2),
    ("A(B(C D) E)", "A(C D E)", 1),
    ("A(B(C D) E)", "A(B(C E) D)", 2),
    ("F(D(A C(B)) E)", "F(C(D(A B)) E)", 2),  # Zhang and Shasha's example
    ("A(B(C(D(E))))", "A(E)", 3),
    ("A(A(A(A)))", "A(A A A)", 4),
    ("S(NP VP(NP))", "S(NP VP(PP(NP)))", 1),
    ("S(NP(DT NN) VP(VBD))", "S(VP(VBD) NP(DT NN))", 4),
    ("A", "X(Y(A Z) Q)", 4),
    ("A", "X(Y(W Z) Q)", 5),
]


@pytest.mark.parametrize(("a", "b", "expected"), CASES)
def test_golden(a: str, b: str, expected: int) -> None:
    assert edit_distance(shape(a), shape(b)) == expected
    assert edit_distance(shape(b), shape(a)) == expected


def made_tree(chance: random.Random, nodes: int) -> Tree:
    """A random tree: chains, fans and all between."""
    reach = chance.choice((1, 3, nodes))
    parents = [chance.randrange(max(0, node - reach), node) for node in range(1, nodes)]
    walks = [["(" + chance.choice("ABCD")] for _ in range(nodes)]
    for node in range(nodes - 1, 0, -1):
        walks[parents[node - 1]][1:1] = [*walks[node], ")"]
    return Tree.from_walk([*walks[0], ")"])


@pytest.mark.skipif(find_spec("apted") is None, reason="apted is not installed")
def test_equal_to_apted_on_a_thousand_pairs() -> None:
    from apted import APTED
    from apted.helpers import Tree as Peer

    def braces(tree: Tree) -> Peer:
        return Peer.from_text("".join("}" if item == ")" else "{" + item[1:] for item in tree.walk))

    chance = random.Random(7)
    pairs = [(made_tree(chance, chance.randint(1, 16)), made_tree(chance, chance.randint(1, 16))) for _ in range(1000)]
    ours = [edit_distance(a, b) for a, b in pairs]
    assert ours == [APTED(braces(a), braces(b)).compute_edit_distance() for a, b in pairs]


def slow_distance(first: tuple[Tree, ...], second: tuple[Tree, ...], known: dict[tuple[object, object], int]) -> int:
    """The distance of two forests by its definition."""
    if (first, second) not in known:
        if not first or not second:
            known[first, second] = sum(map(tree_size, first + second))
        else:
            a, b = first[-1], second[-1]
            below_a, below_b = (tuple(child for child in node.children if isinstance(child, Tree)) for node in (a, b))
            known[first, second] = min(
                slow_distance(first[:-1] + below_a, second, known) + 1,
                slow_distance(first, second[:-1] + below_b, known) + 1,
                slow_distance(below_a, below_b, known)
                + slow_distance(first[:-1], second[:-1], known)
                + (a.label != b.label),
            )
    return known[first, second]


labels = st.sampled_from("AB")
trees = st.recursive(labels.map(Tree), lambda inner: st.builds(Tree, labels, st.lists(inner, max_size=3)), max_leaves=6)


@settings(max_examples=100, deadline=None)
@given(trees, trees)
def test_equal_to_the_definition(a: Tree, b: Tree) -> None:
    assert edit_distance(a, b) == slow_distance((a,), (b,), {})


@settings(max_examples=50, deadline=None)
@given(trees, trees, trees)
def test_a_metric(a: Tree, b: Tree, c: Tree) -> None:
    assert edit_distance(a, b) == edit_distance(b, a)
    assert (edit_distance(a, b) == 0) == (a == b)
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)


def test_words_are_nodes_and_no_labels() -> None:
    assert edit_distance(Tree.read("(NP fruit)"), Tree.read("(NP flies)")) == 1
    assert edit_distance(Tree.read("(NP (NP NP))"), Tree.read("(NP NP)")) == 1


def test_a_chain_of_a_thousand_nodes() -> None:
    deep = Tree.from_walk(["(A"] * 1000 + [")"] * 1000)
    assert edit_distance(deep, shape("A(A)")) == 998
    assert edit_distance(deep, Tree.from_walk(["(A"] * 999 + ["(B", ")"] + [")"] * 999)) == 1


def test_normalised() -> None:
    assert normalised_edit_distance(shape("A(B)"), shape("A(C)")) == 0.25
    assert normalised_edit_distance(None, shape("A")) == 1.0
    assert normalised_edit_distance(None, None) == 0.0


def test_size_counts_words() -> None:
    assert tree_size(Tree.read("(TOP (S (NP (PRP I)) (VP nod)))")) == 7
