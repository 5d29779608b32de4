"""Random values for laws."""

from __future__ import annotations

from hypothesis import strategies as st

from syntagma.tree import Tree

LABELS = ("S", "NP", "VP", "PP", "ADJP", "DT")

words = st.text(st.characters(exclude_categories=("Cs", "Zs", "Zl", "Zp", "Cc")), min_size=1, max_size=5).filter(
    lambda word: word.split() == [word] and "RB-" not in word and "SB-" not in word and "CB-" not in word
)
odd_words = st.one_of(
    words, st.sampled_from(["(", ")", "<NP>", "\\<NP>", "<c>", "a(b)", "[", "{", ":)", "<T>", "</s>"])
)


@st.composite
def trees(draw: st.DrawFn, leaf: st.SearchStrategy[str] = odd_words) -> Tree:
    """A tree under the root TOP, with words and constituents mixed at every depth."""
    child = st.recursive(
        leaf,
        lambda inside: st.builds(Tree, st.sampled_from(LABELS), st.lists(inside, min_size=1, max_size=4)),
        max_leaves=12,
    )
    return Tree("TOP", draw(st.lists(child, min_size=1, max_size=4)))
