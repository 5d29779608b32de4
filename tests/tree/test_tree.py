from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given

from strategies import LABELS, odd_words, trees
from syntagma.errors import BracketError, LabelError
from syntagma.tree import (
    KEPT_LABELS,
    Span,
    Tree,
    clean,
    collapse_unary,
    delexicalise,
    expand_unary,
    prune,
    read_tree,
    read_trees,
    strip_tags,
    strip_traces,
    with_words,
    write_pretty,
)

APPLE = "(TOP (S (NP (PRP I)) (VP (VBD ate) (NP (DT an) (NN apple))) (. .)))"


class TestValue:
    def test_parts(self) -> None:
        tree = Tree.read(APPLE)
        (sentence,) = tree.children
        assert isinstance(sentence, Tree)
        assert (tree.label, sentence.label, len(tree)) == ("TOP", "S", 5)
        assert [child.label for child in sentence.children if isinstance(child, Tree)] == ["NP", "VP", "."]
        assert tree.words() == ("I", "ate", "an", "apple", ".")
        assert [node.label for node in tree.nodes()][:5] == ["TOP", "S", "NP", "PRP", "VP"]
        assert Tree("DT", ["an"]).is_preterminal()
        assert not Tree("NP", [Tree("DT", ["an"])]).is_preterminal()

    def test_spans_are_parents_first(self) -> None:
        assert prune(Tree.read(APPLE)).spans() == [
            Span(0, 5, 1, "TOP"),
            Span(0, 5, 2, "S"),
            Span(0, 1, 3, "NP"),
            Span(1, 4, 3, "VP"),
            Span(2, 4, 4, "NP"),
        ]

    def test_cannot_be_changed(self) -> None:
        tree = Tree.read(APPLE)
        with pytest.raises(AttributeError, match="cannot be changed"):
            tree.label = "S"  # type: ignore[misc]
        with pytest.raises(AttributeError):
            tree.other = 1  # type: ignore[attr-defined]
        with pytest.raises(AttributeError):
            del tree._walk

    @pytest.mark.parametrize("label", ["", "N P", "N(", "<NP>", "a\0"])
    def test_bad_labels_are_refused(self, label: str) -> None:
        with pytest.raises(LabelError, match="cannot be a label"):
            Tree(label, ["x"])

    @pytest.mark.parametrize("word", ["", " ", "a b", "a\u00a0b"])
    def test_bad_words_are_refused(self, word: str) -> None:
        with pytest.raises(BracketError, match="cannot be a word"):
            Tree("NP", [word])

    def test_wrong_types_are_refused(self) -> None:
        with pytest.raises(TypeError, match="not int"):
            Tree("NP", [3])  # type: ignore[list-item]

    @given(trees(), trees())
    def test_equality_and_hash_agree_with_brackets(self, a: Tree, b: Tree) -> None:
        assert (a == b) == (str(a) == str(b))
        assert a == pickle.loads(pickle.dumps(a)) == copy.deepcopy(a)
        assert hash(a) == hash(Tree.read(str(a)))
        assert a != str(a)

    @given(trees())
    def test_children_rebuild_the_tree(self, tree: Tree) -> None:
        assert Tree(tree.label, tree.children) == tree


class TestBrackets:
    @given(trees())
    def test_read_undoes_write(self, tree: Tree) -> None:
        assert read_tree(str(tree)) == tree
        assert read_tree(write_pretty(tree)) == tree
        assert list(read_trees(write_pretty(tree).splitlines())) == [tree]

    @pytest.mark.parametrize(
        "text",
        [
            "(TOP (S (NP I)))", "(ROOT (S (NP I)))", "( (S (NP I)))", "(S (NP I))", "( S ( NP I ) )",
            "(S(NP I))", "\t(TOP\n  (S\n    (NP I)))\n",
        ],
    )  # fmt: skip
    def test_every_root_becomes_top(self, text: str) -> None:
        assert str(read_tree(text)) == "(TOP (S (NP I)))"

    def test_escapes(self) -> None:
        tree = read_tree("(X (-LRB- -LRB-) (-RRB- -RRB-) (A -LSB-) (B -RSB-) (C -LCB-) (D -RCB-) (E x-LRB-))")
        assert tree.words() == ("(", ")", "[", "]", "{", "}", "x(")
        assert str(tree) == "(TOP (X (-LRB- -LRB-) (-RRB- -RRB-) (A [) (B ]) (C {) (D }) (E x-LRB-)))"

    @pytest.mark.parametrize(
        ("text", "column", "what"),
        [
            ("(S (NP I)", 1, "never closed"),
            ("(S (NP I)) (VP", 12, "never closed"),
            ("(S (NP I)))", 11, "closes nothing"),
            (")", 1, "closes nothing"),
            ("()", 1, "empty"),
            ("(S)", 1, "'S' holds no words"),
            ("(S (NP I) (VP))", 11, "'VP' holds no words"),
            ("hello", 1, "'hello' stands outside"),
            ("(S (NP I)) x", 12, "'x' stands outside"),
            ("(S (NP I) ((VP x)))", 11, "no label"),
            ("(S (NP a\0b))", 9, "NUL"),
            ("( hi)", 1, "'hi' holds no words"),
        ],
    )
    def test_bad_brackets_say_where(self, text: str, column: int, what: str) -> None:
        with pytest.raises(BracketError, match=what) as caught:
            read_tree(text)
        assert caught.value.place.column == column

    @pytest.mark.parametrize("text", ["", "  \n", "(S a) (S b)"])
    def test_not_one_tree(self, text: str) -> None:
        with pytest.raises(BracketError):
            read_tree(text)

    def test_lines_are_counted_over_trees(self) -> None:
        with pytest.raises(BracketError) as caught:
            list(read_trees(["(S a)", "(S", "  (NP b)", "  (VP))", "(S c)"]))
        assert (caught.value.place.line, caught.value.place.column) == (4, 3)

    def test_long_words_are_cut_in_messages(self) -> None:
        with pytest.raises(BracketError) as caught:
            read_tree("x" * 10_000)
        assert len(str(caught.value)) < 200


class TestTransform:
    @given(trees())
    def test_pruning_keeps_the_words_and_only_the_labels(self, tree: Tree) -> None:
        pruned = prune(tree)
        assert pruned.words() == tree.words()
        assert {node.label for node in pruned.nodes()} <= {"TOP", *KEPT_LABELS}
        kept = [(s.start, s.end, s.label) for s in tree.spans()[1:] if s.label in KEPT_LABELS]
        assert [(s.start, s.end, s.label) for s in pruned.spans()[1:]] == kept
        assert prune(pruned) == pruned
        assert prune(tree, LABELS) == tree

    @given(trees())
    def test_expanding_undoes_collapsing(self, tree: Tree) -> None:
        collapsed = collapse_unary(tree)
        assert expand_unary(collapsed) == tree
        assert len(list(collapsed.nodes())) <= len(list(tree.nodes()))

    def test_collapsing_leaves_root_and_tags(self) -> None:
        assert str(collapse_unary(read_tree("(TOP (S (VP (VP (VB Go)) (. !))))"))) == "(TOP (S+VP (VP (VB Go)) (. !)))"

    def test_tags_and_traces(self) -> None:
        tree = read_tree(
            "(S (NP-SBJ-1 (PRP I)) (NP (-NONE- *T*-1)) (VP=2 (VBP nod) (S (NP (-NONE- *)))) (-LRB- -LRB-))"
        )
        stripped = strip_traces(tree)
        assert stripped is not None
        assert str(strip_tags(stripped)) == "(TOP (S (NP (PRP I)) (VP (VBP nod)) (-LRB- -LRB-)))"
        assert strip_traces(read_tree("(NP (-NONE- *))")) is None

    @given(trees())
    def test_other_words(self, tree: Tree) -> None:
        fresh = [f"({number}" for number in range(len(tree))]
        assert with_words(tree, fresh).words() == tuple(fresh)
        assert delexicalise(with_words(tree, fresh)) == delexicalise(tree)
        with pytest.raises(ValueError, match="words"):
            with_words(tree, [*fresh, "more"])

    def test_delexicalised_to_a_depth(self) -> None:
        assert str(delexicalise(read_tree(APPLE), 3)) == "(TOP (S (NP) (VP) (.)))"


class TestDepth:
    DEPTH = 50_000

    def test_a_very_deep_tree_is_handled_in_linear_time(self) -> None:
        text = "(TOP " + "(S (X a) " * self.DEPTH + "(NP w)" + ")" * (self.DEPTH + 1)
        tree = read_tree(text)
        assert tree.depth == self.DEPTH + 3
        assert str(tree) == text
        assert tree == pickle.loads(pickle.dumps(tree))
        assert len(tree.spans()) == 2 * self.DEPTH + 2
        assert len(prune(tree)) == self.DEPTH + 1
        assert expand_unary(collapse_unary(tree)) == tree
        assert sum(1 for _ in tree.nodes()) == 2 * self.DEPTH + 2
        node = tree
        for _ in range(self.DEPTH):  # a child shares its parent's walk, so going down does not copy
            node = next(child for child in reversed(node.children) if isinstance(child, Tree))
        assert node.label in ("S", "NP")


@given(odd_words)
def test_any_word_survives(word: str) -> None:
    assert Tree.read(str(Tree("TOP", [word]))).words() == (word,)


@pytest.mark.parametrize("tag", ["-SBJ", "=2", "|FOO", "-SBJ-1=2"])
def test_a_function_tag_is_no_part_of_a_label(tag: str) -> None:
    tree = read_tree(f"(S (NP{tag} (PRP I)) (VP nod))")
    assert str(clean(tree)) == "(TOP (S (NP (PRP I)) (VP nod)))"
    assert clean(tree, (f"NP{tag}", "S")) == tree
    assert str(prune(clean(tree))) == "(TOP (S (NP I) (VP nod)))"


def test_clean_leaves_words_and_brackets_alone() -> None:
    tree = read_tree("(S (NP (NN well-known=x|y)) (-LRB- -LRB-) (NP (-NONE- *T*-1)))")
    assert str(clean(tree)) == "(TOP (S (NP (NN well-known=x|y)) (-LRB- -LRB-)))"
    only_a_trace = read_tree("(S (NP (-NONE- *)))")
    assert clean(only_a_trace).words() == ("*",)
