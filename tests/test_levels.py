from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import odd_words, trees
from syntagma.errors import LabelError
from syntagma.levels import PART, TOP, Label, Level, MalformedInfill, expand, levels, read_tokens, show, tree_of
from syntagma.tree import KEPT_LABELS, Tree, prune, read_tree

CONTEXT = read_tokens("<NP> really <VP> .")


class TestReference:
    def test_all_levels_equal_the_authors(self, reference: Path) -> None:
        made = [
            f"{show(level.context)} | {show(level.infill)}"
            for line in (reference / "toy.trees").read_text().splitlines()
            for level in levels(prune(read_tree(line)))
        ]
        contexts = [line.split(" <sep> ")[1] for line in (reference / "toy.contexts").read_text().splitlines()]
        infills = (reference / "toy.infills").read_text().splitlines()
        theirs = [f"{context} | {infill}" for context, infill in zip(contexts, infills, strict=True)]
        assert made == [line.replace("<TOP>", "<T>").replace("<CONS-0>", "<c>") for line in theirs]
        assert len(made) == 56


class TestLaws:
    @given(trees())
    def test_expanding_a_trees_own_infills_gives_its_sentence(self, tree: Tree) -> None:
        pruned = prune(tree)
        context: tuple[object, ...] = (TOP,)
        count = 0
        for level in levels(pruned):
            assert level.context == context
            grown = expand(context, level.infill)
            assert not isinstance(grown, MalformedInfill)
            context = grown
            count += 1
        assert context == tree.words()
        assert count == pruned.depth - 1

    @given(trees())
    def test_the_trace_gives_the_pruned_tree(self, tree: Tree) -> None:
        assert tree_of(levels(prune(tree))) == prune(tree)

    @given(trees(), st.data())
    def test_growing_from_any_level_gives_the_rest_of_the_tree(self, tree: Tree, data: st.DataObject) -> None:
        trace = list(levels(prune(tree)))
        start = data.draw(st.integers(0, len(trace) - 1))
        assert tree_of(trace[start:]).words() == tree.words()

    @given(trees())
    def test_text_keeps_words_and_labels_apart(self, tree: Tree) -> None:
        for level in levels(prune(tree)):
            assert read_tokens(show(level.context)) == level.context
            assert read_tokens(show(level.infill)) == level.infill

    @given(st.lists(st.one_of(odd_words, st.sampled_from([PART, TOP, Label("NP")]))))
    def test_expand_is_total(self, infill: list[object]) -> None:
        grown = expand(CONTEXT, infill)
        if isinstance(grown, MalformedInfill):
            assert grown.part >= 0
        else:
            assert grown[0] != "really"
            assert infill.count(PART) == 2

    @given(trees())
    def test_other_words_take_the_leaves_places(self, tree: Tree) -> None:
        pruned = prune(tree)
        numbered = list(levels(pruned, range(len(tree))))
        words = tree.words()
        assert [tuple(words[t] if type(t) is int else t for t in level.context) for level in numbered] == [
            level.context for level in levels(pruned)
        ]
        with pytest.raises(ValueError, match="words"):
            list(levels(pruned, [*words, "more"]))


class TestMalformed:
    @pytest.mark.parametrize(
        ("infill", "part", "what"),
        [
            ("I <c> went <c> home", 0, "before the first <c>"),
            ("<c> I", 2, "too few parts: 1 for 2"),
            ("", 1, "too few parts: 0 for 2"),
            ("<c> I <c> went <c> home", 3, "too many parts: 3 for 2"),
            ("<c> <c> went", 1, "part 1 of 2 is empty"),
            ("<c> I <c>", 2, "part 2 of 2 is empty"),
        ],
    )
    def test_the_error_says_which_part(self, infill: str, part: int, what: str) -> None:
        error = expand(CONTEXT, read_tokens(infill))
        assert isinstance(error, MalformedInfill)
        assert error.part == part
        assert what in str(error)

    def test_a_trace_must_fit(self) -> None:
        first = Level((TOP,), read_tokens("<c> <NP> <VP>"))
        with pytest.raises(MalformedInfill, match="2 labels open") as caught:
            tree_of([first])
        assert caught.value.part == 1
        with pytest.raises(MalformedInfill, match="1 parts for 2") as caught:
            tree_of([first, Level(CONTEXT, read_tokens("<c> I"))])
        assert caught.value.part == 2
        with pytest.raises(MalformedInfill, match="empty"):
            tree_of([first, Level(CONTEXT, read_tokens("<c> I <c>"))])


class TestTokens:
    def test_ids_expand_as_words_do(self) -> None:
        grown = expand((5, 20, 6), (4, 30, 4, 31, 5), is_open=lambda token: token in (5, 6), part=4)
        assert grown == (30, 20, 31, 5)

    def test_labels_are_single_objects(self) -> None:
        assert Label("NP") is Label("NP")
        assert pickle.loads(pickle.dumps((Label("NP"), PART))) == (Label("NP"), PART)
        assert Label("NP") != "<NP>"
        assert repr(Label("NP")) == "Label('NP')"

    def test_an_unknown_label_says_its_column(self) -> None:
        with pytest.raises(LabelError, match="<XP> is not a label here") as caught:
            read_tokens("a <XP> b", labels=("NP", "VP"))
        assert caught.value.place.column == 3
        assert read_tokens("<TOP> <T>", labels=("NP",)) == (TOP, TOP)

    def test_a_deep_chain_is_streamed(self) -> None:
        deep = read_tree("(S " * 50_000 + "w" + ")" * 50_000)
        trace = list(levels(deep))
        assert len(trace) == 50_001
        assert tree_of(trace) == deep


@pytest.mark.parametrize("text", ["<NP> <VP", "<NP> VP>", "<NP> <VP.", "<NP> <VP>.", "<NP>, <VP> .", "<NP><VP>", "<T"])
def test_what_is_nearly_a_label_is_refused(text: str) -> None:
    with pytest.raises(LabelError, match=r"hardly a word; write <\w+> with spaces around it"):
        read_tokens(text, KEPT_LABELS)
    read_tokens(text)  # without labels it is for text that the program wrote


@pytest.mark.parametrize("text", ["<3 <NP>", "a < b", "x -> y", "<b", r"\\<NP> <NP>", "VP", "1>2"])
def test_what_is_not_like_a_label_is_a_word(text: str) -> None:
    assert len(read_tokens(text, KEPT_LABELS)) == len(text.split())
