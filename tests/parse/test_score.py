"""Golden figures, each computed by hand from evalb's rules."""

from __future__ import annotations

import pytest

from syntagma.errors import InputError
from syntagma.parse.score import BracketScore, compare, score_trees
from syntagma.tree import Tree

GOLD = "(TOP (S (NP (DT The) (NN man)) (VP (VBD saw) (NP (DT the) (NN dog)) (PP (IN with) (NP (NNS eyes)))) (. .)))"
HIGH = (
    "(TOP (S (NP (DT The) (NN man)) (VP (VBD saw) (NP (NP (DT the) (NN dog)) (PP (IN with) (NP (NNS eyes))))) (. .)))"
)


def counts(score: BracketScore) -> tuple[int, int, int, int, int]:
    return score.matched, score.gold, score.predicted, score.exact, score.crossing


@pytest.mark.parametrize(
    ("gold", "guess", "expected"),
    [
        (GOLD, GOLD, (6, 6, 6, 1, 0)),
        (GOLD, HIGH, (6, 6, 7, 0, 0)),  # one NP too many, nothing crosses
        (HIGH, GOLD, (6, 7, 6, 0, 0)),
        # the label differs: one too many and one missing
        ("(TOP (S (NP (NN a)) (VP (VB b))))", "(TOP (S (NP (NN a)) (NP (VB b))))", (2, 3, 3, 0, 0)),
        # attachment that crosses: (a b) against (b c)
        ("(TOP (S (NP (X a) (X b)) (X c)))", "(TOP (S (X a) (NP (X b) (X c))))", (1, 2, 2, 0, 1)),
        # a full stop inside or outside a constituent is the same
        ("(TOP (S (NP (X a)) (VP (X b)) (. .)))", "(TOP (S (NP (X a)) (VP (X b) (. .))))", (3, 3, 3, 1, 0)),
        # punctuation is what the gold tree tags so, whatever the guess says
        ("(TOP (S (NP (X a)) (, ,) (VP (X b))))", "(TOP (S (NP (X a) (NN ,)) (VP (X b))))", (3, 3, 3, 1, 0)),
        # a constituent of punctuation only is gone
        ("(TOP (S (NP (X a)) (PRN (: -))))", "(TOP (S (NP (X a)) (: -)))", (2, 2, 2, 1, 0)),
        # PRT is ADVP
        ("(TOP (VP (VB go) (PRT (RP on))))", "(TOP (VP (VB go) (ADVP (RB on))))", (2, 2, 2, 1, 0)),
        # the same constituent twice counts twice
        ("(TOP (NP (NP (NN a))))", "(TOP (NP (NN a)))", (1, 2, 1, 0, 0)),
        ("(TOP (NP (NN a)))", "(TOP (NP (NP (NN a))))", (1, 1, 2, 0, 0)),
    ],
)
def test_counts(gold: str, guess: str, expected: tuple[int, ...]) -> None:
    assert counts(compare(Tree.read(gold), Tree.read(guess))) == expected


def test_figures() -> None:
    score = score_trees([Tree.read(GOLD), Tree.read(GOLD)], [Tree.read(GOLD), Tree.read(HIGH)])
    figures = score.figures()
    assert figures["precision"] == pytest.approx(100 * 12 / 13)
    assert figures["recall"] == 100.0
    assert figures["f1"] == pytest.approx(100 * 24 / 25)
    assert figures["exact_match"] == 50.0
    assert figures["no_crossing"] == 100.0
    assert figures["tagging"] == 100.0
    assert figures["sentences"] == 2


def test_tagging_leaves_punctuation_out() -> None:
    gold, guess = Tree.read("(TOP (S (NN a) (VB b) (. .)))"), Tree.read("(TOP (S (NN a) (NN b) (: .)))")
    assert compare(gold, guess).tagging == 50.0


def test_only_the_pruned_labels_count() -> None:
    gold = Tree.read("(TOP (S (ADVP (RB now)) (NP (PRP I)) (VP (VBP go))))")
    guess = Tree.read("(TOP (S (ADJP (RB now)) (NP (PRP I)) (VP (VBP go))))")
    assert compare(gold, guess).f1 == 75.0
    assert compare(gold, guess, ("S", "NP", "VP", "PP")).f1 == 100.0


def test_other_words_are_an_error() -> None:
    with pytest.raises(InputError, match="line 1: the parse has 1 words, the gold tree 2"):
        score_trees([Tree.read("(TOP (NP (X a) (X b)))")], [Tree.read("(TOP (NP (X a)))")])


def test_nothing_scores_nothing() -> None:
    assert set(BracketScore().figures().values()) == {0}
