from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from hypothesis import given

from strategies import trees
from syntagma.tree import Tree, draw, draw_indented, prune, read_tree, svg
from syntagma.tree.draw import display_width

TREE = read_tree("(S (NP (PRP I)) (VP (VBD ate) (NP (DT an) (NN apple))) (. .))")


def test_every_row_stands_over_its_words() -> None:
    assert draw(prune(TREE)).splitlines() == [
        "         TOP",
        "          │",
        "          S",
        " ┌──────┬─┴─────────┐",
        "NP     VP           .",
        " │   ┌──┴───┐",
        " I  ate    NP",
        "          ┌─┴──┐",
        "         an  apple",
    ]


def test_too_wide_becomes_a_list() -> None:
    assert draw(prune(TREE), width=12) == draw_indented(prune(TREE))
    assert "└─ NP  an apple" in draw_indented(prune(TREE))


@given(trees())
def test_pictures_hold_all_words(tree: Tree) -> None:
    for picture in (draw(tree), draw_indented(tree), draw(tree, colour=True)):
        for word in tree.words():
            assert word in picture
    root = ElementTree.fromstring(svg(tree))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert len(texts) == len(tree) + sum(1 for _ in tree.nodes())


def test_nothing_in_a_word_becomes_markup() -> None:
    picture = svg(Tree("TOP", ['<script>alert("x")</script>', "a&b", "\x1b[0m"]))
    assert "<script" not in picture
    ElementTree.fromstring(picture)


def test_width_of_wide_and_combining_characters() -> None:
    assert [display_width(text) for text in ("abc", "日本", "e\u0301")] == [3, 4, 1]


def test_a_very_deep_tree_is_drawn() -> None:
    deep = read_tree("(S " * 3000 + "w" + ")" * 3000)
    assert len(draw(deep).splitlines()) == 3001
    assert svg(deep).count("<text") == 3002
