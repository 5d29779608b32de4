from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import trees
from syntagma.errors import LabelError
from syntagma.levels import PART, Label, levels, read_tokens
from syntagma.template import ANY, Guide, Template, TemplateError
from syntagma.tree import KEPT_LABELS, Tree, prune, read_tree

LABELS = st.sampled_from(KEPT_LABELS)
depths = st.one_of(st.none(), st.integers(1, 5))


@st.composite
def templates(draw: st.DrawFn) -> Template:
    """Any template that can be written, with stars and dots."""
    text = draw(
        st.recursive(
            st.one_of(LABELS, LABELS.map(lambda label: f"({label} *)"), st.just("...")),
            lambda inside: st.builds(
                lambda label, items: f"({label} {' '.join(items)})", LABELS, st.lists(inside, max_size=3)
            ),
            max_leaves=6,
        )
    )
    return Template.parse(f"(T {text})")


class TestSyntax:
    @pytest.mark.parametrize(
        "text",
        [
            "(S (NP) (VP (NP)))",
            "S(NP VP(NP))",
            "(S(NP)(VP(NP)))",
            "S(NP, VP(NP))",
            "(T (S (NP) (VP (NP))))",
            "TOP(S(NP VP(NP)))",
        ],
    )
    def test_the_same_template_in_many_spellings(self, text: str) -> None:
        template = Template.parse(text)
        assert str(template) == "(S (NP) (VP (NP)))"
        assert template == Template.parse("(S (NP) (VP (NP)))")
        assert [template.pattern(depth) for depth in range(1, 7)] == [("T",), ("S",), ("NP", "VP"), ("NP",), (), ()]
        assert template.depth == 5

    def test_free_and_open_ended(self) -> None:
        template = Template.parse("(S (NP *) ... (VP ... (PP)))")
        assert str(template) == "(S (NP *) ... (VP ... (PP)))"
        assert [template.pattern(depth) for depth in (3, 4, 5)] == [("NP", ANY, "VP"), (ANY, "PP"), (ANY,)]
        assert template.depth == 4

    @given(templates())
    def test_reading_undoes_writing(self, template: Template) -> None:
        assert Template.parse(str(template)) == template

    @pytest.mark.parametrize(
        ("text", "column", "what"),
        [
            ("(S (NP)", 1, "never closed"),
            ("S(NP", 2, "never closed"),
            ("S)", 2, "closes nothing"),
            ("()", 1, "without a label"),
            ("(S (*))", 4, "without a label"),
            ("(S * NP)", 6, "follows a"),
            ("(S (NP) *)", 9, "cannot stand here"),
            ("(S .)", 4, "cannot stand here"),
        ],
    )
    def test_bad_templates_say_where(self, text: str, column: int, what: str) -> None:
        with pytest.raises(TemplateError, match=what) as caught:
            Template.parse(text)
        assert caught.value.place.column == column

    def test_templates_are_values(self) -> None:
        same, other = Template.parse("S(NP)"), Template.parse("S(VP)")
        assert len({Template.parse("(S (NP))"), same, other}) == 2
        assert same != other
        assert same != str(same)
        assert same != Template.parse("S(NP)", labels=("S", "NP"))

    def test_unknown_labels_and_nothing(self) -> None:
        with pytest.raises(LabelError, match="'QP' is not a label") as caught:
            Template.parse("(S (QP))")
        assert caught.value.place.column == 5
        with pytest.raises(TemplateError, match="empty"):
            Template.parse("  ")
        assert str(Template.parse("(S (QP))", labels=("S", "QP"))) == "(S (QP))"

    def test_a_deep_template_is_handled(self) -> None:
        text = "(S " * 5000 + "(NP)" + ")" * 5000
        assert str(Template.parse(text)) == text


class TestMatching:
    def test_the_papers_example(self) -> None:
        template = Template.parse("(T (NP) (VP))")
        assert template.matches(read_tokens("<NP> <VP>"), 2)
        assert template.matches(read_tokens("Well , <NP> <VP> !"), 2)
        assert not template.matches(read_tokens("<NP>"), 2)
        assert not template.matches(read_tokens("<VP> <NP>"), 2)
        assert template.matches(read_tokens("all words"), 3)

    @given(trees(), depths)
    def test_a_tree_matches_its_template_at_every_depth(self, tree: Tree, depth: int | None) -> None:
        template = Template.from_tree(tree, depth)
        for number, level in enumerate(levels(prune(tree)), 1):
            assert template.matches(level.context, number)
        assert template.matches(tree.words(), prune(tree).depth)
        assert template.matches_tree(tree)
        assert Template.parse(str(template)) == template

    @given(templates(), st.integers(1, 4))
    def test_allows_step_by_step_is_exactly_what_matches_accepts(self, template: Template, depth: int) -> None:
        kept = [Label(name) for name in KEPT_LABELS]
        for size in range(4):
            for context in itertools.product(kept, repeat=size) if depth > 1 else [(Label("T"),)][:size]:
                stepped = True
                for at, label in enumerate(context):
                    stepped = stepped and label.name in template.allows(context[:at], depth).labels
                stepped = stepped and template.allows(context, depth).end
                assert template.matches(context, depth) == stepped

    def test_a_cut_template_is_free_below(self) -> None:
        tree = read_tree("(S (NP (PRP I)) (VP (VBD ate) (NP (DT an) (NN apple))))")
        assert str(Template.from_tree(tree, 3)) == "(S (NP *) (VP *))"
        assert str(Template.from_tree(tree)) == "(S (NP) (VP (NP)))"
        assert Template.from_tree(tree, 3).matches(read_tokens("<PP> <PP> <S>"), 4)
        assert Template.from_tree(tree, 3).depth == 3


class TestGuide:
    def follow(self, guide: Guide | None, text: str) -> Guide | None:
        for token in read_tokens(text):
            guide = guide.follow(token) if guide else None
        return guide.next_level() if guide else None

    def test_knows_which_label_grew_from_which(self) -> None:
        """Both contexts read `<NP>` at depth 4; only the one whose VP holds it has the shape."""
        template = Template.parse("(S (NP) (VP (NP)))")
        guide = self.follow(self.follow(template.guide(), "<c> <S>"), "<c> <NP> <VP> .")
        assert self.follow(guide, "<c> I <c> ate <NP>") is not None
        assert self.follow(guide, "<c> <NP> <c> ate") is None
        assert template.matches(read_tokens("<NP> ate ."), 4)

    def test_allowed_labels(self) -> None:
        guide = Template.parse("S(NP ... VP)").guide()
        guide = self.follow(guide, "<c> <S>") or guide
        opened = guide.follow(PART)
        assert opened is not None
        assert (opened.allowed.labels, opened.allowed.end) == ({"NP"}, False)
        after = opened.follow(Label("NP"))
        assert after is not None
        assert (after.allowed.labels, after.allowed.end) == (set(KEPT_LABELS), False)
        assert (opened.needed, after.needed) == ({"NP"}, {"VP"})
        done = after.follow(Label("VP"))
        assert done is not None
        assert done.allowed.end

    @given(trees(), templates())
    def test_following_a_tree_agrees_with_what_is_allowed(self, tree: Tree, template: Template) -> None:
        guide: Guide | None = template.guide()
        for level in levels(prune(tree)):
            for token in level.infill:
                if guide is None:
                    break
                if isinstance(token, Label):
                    assert (guide.follow(token) is not None) == (token.name in guide.allowed.labels)
                guide = guide.follow(token)
            guide = guide.next_level() if guide else None
        assert template.matches_tree(tree) == (guide is not None)

    def test_a_tree_of_another_shape_does_not_match(self) -> None:
        tree = read_tree("(S (NP (PRP I)) (VP (VBD ate)))")
        assert Template.parse("(S (NP) (VP))").matches_tree(tree)
        assert Template.parse("(S ...)").matches_tree(tree)
        assert not Template.parse("(S (NP) (VP (NP)))").matches_tree(tree)
        assert not Template.parse("(S (VP))").matches_tree(tree)
        assert not Template.parse("(S)").matches_tree(tree)
