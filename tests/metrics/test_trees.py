from __future__ import annotations

import pytest

from syntagma.metrics import (
    DSyn,
    DSynRef,
    Interpretability,
    ParsedTemplateMatch,
    Segment,
    TemplateMatch,
    labelled_spans,
)
from syntagma.metrics.trees import upper
from syntagma.tree import Tree

ATE = Tree.read("(TOP (S (NP (PRP I)) (VP (VBD ate) (NP (DT an) (NN apple))) (. .)))")
EAT = Tree.read("(TOP (S (VP (VB Eat) (NP (DT an) (NN apple))) (. .)))")


@pytest.mark.parametrize(
    ("tree", "depth", "expected"),
    [
        (ATE, 0, "(S)"),
        (ATE, 1, "(S (NP) (VP) (.))"),
        (ATE, 2, "(S (NP (PRP)) (VP (VBD) (NP)) (.))"),
        (ATE, None, "(S (NP (PRP)) (VP (VBD) (NP (DT) (NN))) (.))"),
        (Tree.read("(TOP (NP (NN a)) (VP (VB b)))"), 1, "(TOP (NP (NN)) (VP (VB)))"),  # no single top constituent
        (Tree.read("(TOP word)"), 3, "(TOP)"),
    ],
)
def test_the_upper_part(tree: Tree, depth: int | None, expected: str) -> None:
    assert str(upper(tree, depth)) == expected


def test_d_syn_by_hand() -> None:
    # 9 and 7 nodes at depths 0 to 3; NP and PRP are inserted, VB is renamed
    segment = Segment("", hyp_tree=EAT, src_tree=ATE)
    assert DSyn().corpus([segment])[0].value == pytest.approx(100 * 3 / (9 + 7))
    assert "depth:0-3" in DSyn().signature()
    assert "trees:mine" in DSyn(trees="mine").signature()


@pytest.mark.parametrize(
    ("hyp", "src", "expected"), [(None, None, 0.0), (ATE, None, 100.0), (None, ATE, 100.0), (ATE, ATE, 0.0)]
)
def test_d_syn_without_a_tree(hyp: Tree | None, src: Tree | None, expected: float) -> None:
    assert DSyn().corpus([Segment("", hyp_tree=hyp, src_tree=src)])[0].value == expected


def test_d_syn_to_several_references_is_their_mean() -> None:
    segment = Segment("", hyp_tree=EAT, ref_trees=(ATE, EAT))
    assert DSynRef().corpus([segment])[0].value == pytest.approx(100 * 3 / 16 / 2)
    assert "d_syn_ref" in DSynRef.lower_is_better


def test_labelled_spans_are_pruned_and_counted() -> None:
    tree = Tree.read("(TOP (S (NP (NP (NN a))) (ADVP (RB b))))")
    assert labelled_spans(tree) == {(0, 2, "S"): 1, (0, 1, "NP"): 2}
    assert labelled_spans(None) == {}


def test_interpretability_by_hand() -> None:
    induced = Tree.read("(TOP (S (NP I) (VP ate (NP an) apple) .))")
    figures = Interpretability().corpus([Segment("", induced=induced, hyp_tree=ATE)])
    assert [score.name for score in figures] == ["tree_precision", "tree_recall", "tree_f1"]
    assert [score.value for score in figures] == pytest.approx([75.0, 75.0, 75.0])  # S, NP and VP right; NP wrong
    fewer = Tree.read("(TOP (S (NP I) ate an apple .))")
    figures = Interpretability().corpus([Segment("", induced=fewer, hyp_tree=ATE)])
    assert [score.value for score in figures] == pytest.approx([100.0, 50.0, 200 / 3])


def test_interpretability_of_trees_over_other_words() -> None:
    other = Tree.read("(TOP (S (NP I) (VP nod)))")
    figures = Interpretability().corpus([Segment("", induced=other, hyp_tree=ATE), Segment("")])
    assert [score.value for score in figures] == [0.0, 0.0, 0.0]


def test_template_match() -> None:
    segments = [
        Segment("", induced=ATE, template="(S (NP) (VP (NP)))"),
        Segment("", induced=EAT, template="(S (NP) (VP (NP)))"),
        Segment("", induced=None, template="(S (NP) (VP (NP)))"),
        Segment("", induced=EAT, template="(S (VP (NP)))"),
    ]
    assert TemplateMatch().corpus(segments)[0].value == 50.0


def test_template_match_of_a_parse_is_another_figure() -> None:
    segments = [
        Segment("", induced=ATE, hyp_tree=EAT, template="(S (NP) (VP (NP)))"),
        Segment("", induced=ATE, hyp_tree=ATE, template="(S (NP) (VP (NP)))"),
        Segment("", induced=ATE, hyp_tree=None, template="(S (NP) (VP (NP)))"),
        Segment("", induced=ATE, hyp_tree=EAT, template="(S (NP) (VP (NP)))"),
    ]
    assert TemplateMatch().corpus(segments)[0].value == 100.0
    assert ParsedTemplateMatch().corpus(segments)[0].value == 25.0
