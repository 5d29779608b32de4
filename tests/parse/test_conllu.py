"""CoNLL-U files: what is read, and what is wrong with the others."""

from __future__ import annotations

import pytest

from syntagma.errors import InputError
from syntagma.parse.conllu import DependencyTree, read_sentences
from syntagma.parse.dependencies import Style, to_tree
from syntagma.tree import Tree


def conllu(text: str) -> list[str]:
    """Rows `id form upos head relation [features]` as lines of a file; other lines stay."""
    lines = []
    for line in text.strip("\n").splitlines():
        columns = line.split()
        if line.startswith("#") or len(columns) < 5 or "\t" in line:
            lines.append(line.strip())
            continue
        number, form, upos, head, relation, *features = columns
        lines.append(
            "\t".join([number, form.replace("~", " "), "_", upos, "_", *(features or "_"), head, relation, "_", "_"])
        )
    return lines


def read(text: str) -> DependencyTree:
    (sentence,) = read_sentences(conllu(text))
    assert isinstance(sentence, DependencyTree), str(sentence)
    return sentence


def test_words_heads_and_relations() -> None:
    sentence = read("""
# text = I nod.
1 I PRON 2 nsubj
2 nod VERB 0 root VerbForm=Fin|Tense=Pres
3 . PUNCT 2 punct
""")
    assert sentence.words() == ("I", "nod", ".")
    assert [token.head for token in sentence.tokens] == [2, 0, 2]
    assert sentence.tokens[1].has("Tense=Pres")
    assert not sentence.tokens[1].has("Tense=P")
    assert sentence.line == 2


def test_a_multiword_token_is_one_word() -> None:
    sentence = read("""
1 Er PRON 5 nsubj
2-3 im _ _ _
2 in ADP 4 case
3 dem DET 4 det
4 Haus NOUN 5 obl
5 ist VERB 0 root
""")
    assert sentence.words() == ("Er", "im", "Haus", "ist")
    assert [(token.head, token.relation) for token in sentence.tokens] == [
        (4, "nsubj"), (3, "case"), (4, "obl"), (0, "root"),
    ]  # fmt: skip


def test_a_multiword_token_takes_the_relation_of_its_highest_word() -> None:
    sentence = read("""
1-3 dámelo _ _ _
1 da VERB 0 root
2 me PRON 1 iobj
3 lo PRON 1 obj
4 ya ADV 1 advmod
""")
    assert [(token.form, token.upos, token.head) for token in sentence.tokens] == [
        ("dámelo", "VERB", 0),
        ("ya", "ADV", 1),
    ]


def test_empty_nodes_and_comments_anywhere_are_passed_over() -> None:
    sentence = read("""
# sent_id = 1
1 Sue PROPN 2 nsubj
# a comment in an odd place
2 likes VERB 0 root
2.1 likes VERB _ _
3 tea NOUN 2 obj
# and one at the end
""")
    assert sentence.words() == ("Sue", "likes", "tea")


def test_a_form_with_a_space_becomes_words() -> None:
    sentence = read("""
1 10~000 NUM 2 nummod
2 men NOUN 0 root
""")
    assert sentence.words() == ("10", "000", "men")
    assert [(token.head, token.relation) for token in sentence.tokens] == [(3, "nummod"), (1, "fixed"), (0, "root")]


def test_blank_lines_and_returns() -> None:
    lines = ["", *(f"{line}\r" for line in conllu("1 a X 0 root")), "  ", "", *conllu("1 b X 0 root")]
    assert [sentence.words() for sentence in read_sentences(lines) if isinstance(sentence, DependencyTree)] == [
        ("a",),
        ("b",),
    ]
    assert [*read_sentences(["# only a comment", ""])] == []


def test_tags_can_stand_in_trees() -> None:
    line = "\t".join(["1", "(", "_", "PUNCT", "$(", "_", "0", "root", "_", "_"])
    (sentence,) = read_sentences([line])
    assert isinstance(sentence, DependencyTree)
    assert sentence.tokens[0].tag == "$*LRB*"


@pytest.mark.parametrize("space", [" ", "\u3000", "\u00a0", "\u2009"])
def test_odd_tags_and_spaces_make_trees_that_can_be_read(space: str) -> None:
    rows = [["1", f"10{space}000", "NUM", f"C{space}D", "2"], ["2", "(", "", "", "0"], ["3", "b", "_", "$(", "2"]]
    lines = [
        "\t".join([number, form, "_", upos, xpos, "", head, "", "_", "_"]) for number, form, upos, xpos, head in rows
    ]
    (sentence,) = read_sentences(lines)
    assert isinstance(sentence, DependencyTree)
    for style in Style:
        tree = to_tree(sentence, style)
        assert tree.words() == sentence.words() == ("10", "000", "(", "b")
        assert Tree.read(str(tree)) == tree


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 a X 2 dep\n2 b X 1 dep", r"line 1: the heads run in a cycle \(1 a, 2 b\)"),
        ("1 a X 0 root\n2 b X 3 dep\n3 c X 2 dep", r"line 2: the heads run in a cycle \(2 b, 3 c\)"),
        ("1 a X 1 dep", r"line 1: the heads run in a cycle \(1 a\)"),
        ("1 a X 0 root\n2 b X 0 root", r"line 2: the sentence has 2 roots \(1 a, 2 b\)"),
        ("1 a X 7 dep", r"line 1: the head of 'a' is 7, but the last word is 1"),
        ("1 a X _ root", r"line 1: the head of 'a' is '_', which is no number"),
        ("1 a X -1 root", r"line 1: the head of 'a' is '-1', which is no number"),
        ("1 a X 0 root\n3 b X 1 dep", r"line 2: the id '3' stands where 2 should"),
        ("x a X 0 root", r"line 1: the id 'x' stands where 1 should"),
        ("1 a", r"line 1: a word has 1 columns, not 10 between tabs"),
        ("1.1 a X _ _", r"line 1: the sentence has no words"),
        (
            "1 a X 0 root\n1-2 ab _ _ _\n2 b X 1 dep",
            r"line 2: the multi-word token '1-2' does not stand before its words",
        ),
        ("1-2\t" + "\t_" * 8 + "\n1 a X 0 root\n2 b X 1 dep", r"line 1: the word 1-2 is empty"),
        ("1-3 ab _ _ _\n1 a X 0 root\n2 b X 1 dep", r"line 3: the multi-word token 'ab' lacks words"),
        ("1-2 ab _ _ _\n1 a X 0 root\n2-3 b _ _ _\n2 b X 1 dep\n3 c X 1 dep", r"line 3: .* overlaps the one before"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, message: str) -> None:
    good = conllu("1 good X 0 root")
    wrong, sentence = read_sentences([*conllu(text), "", *good])
    assert isinstance(wrong, InputError)
    assert isinstance(sentence, DependencyTree)  # the next one is not harmed
    with pytest.raises(InputError, match=message + r".*; mend the sentence, or leave it out with --bad skip"):
        raise wrong


def test_a_line_that_cannot_be_read_spoils_its_sentence_only() -> None:
    lines = [*conllu("1 a X 0 root"), InputError("no UTF-8"), "", *conllu("1 b X 0 root")]
    wrong, sentence = read_sentences(lines)
    assert isinstance(wrong, InputError)
    assert isinstance(sentence, DependencyTree)
