from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from search_models import TEXTS, ScriptedRuntime
from syntagma.search import Generator, SearchOptions
from syntagma.text import Subwords, split
from syntagma.text.subwords import END, PART_ID
from syntagma.tree import Tree

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
NOUN = SUBWORDS.label_id("NP")


def looping(before: tuple[int, ...]) -> Any:
    """Every constituent becomes one noun phrase and nothing else."""
    likely = np.linspace(-5, -6, SUBWORDS.size)
    likely[NOUN if before[-1] == PART_ID else [PART_ID, END]] = -0.1
    return likely


def longest_chain(tree: Tree) -> int:
    """How often in a row a constituent is nothing but another of its own label."""
    longest = 0
    for node in tree.nodes():
        size, inner = 0, node
        while len(inner.children) == 1 and isinstance(below := inner.children[0], Tree) and below.label == node.label:
            size, inner = size + 1, below
        longest = max(longest, size)
    return longest


@pytest.mark.parametrize(("most", "longest"), [(0, 0), (1, 1), (2, 2), (-1, 7)])
def test_a_label_becomes_itself_only_so_often(most: int, longest: int) -> None:
    """Else it would do so down to the last depth."""
    options = SearchOptions(beam=1, max_depth=9, max_tokens=9, max_unary_repeats=most)
    (output,) = Generator(ScriptedRuntime(SUBWORDS, looping), SUBWORDS, options)(TEXTS[0])
    assert output.tree is not None
    assert longest_chain(output.tree) == longest


def test_a_label_may_become_itself_and_more() -> None:
    """However often: that is no chain."""
    word = next(token for token in range(SUBWORDS.size) if SUBWORDS.piece(token) == b"a")

    def growing(before: tuple[int, ...]) -> Any:
        likely = np.linspace(-5, -6, SUBWORDS.size)
        likely[{PART_ID: NOUN, NOUN: word}.get(before[-1], END)] = -0.1
        return likely

    options = SearchOptions(beam=1, max_depth=4, max_tokens=9, max_unary_repeats=0)
    (output,) = Generator(ScriptedRuntime(SUBWORDS, growing), SUBWORDS, options)(TEXTS[0])
    assert [context.count("<NP>") for context in output.levels] == [0, 1, 1, 1, 0]


@pytest.mark.parametrize("most", [0, 1, 2])
def test_the_users_own_context_begins_a_new_count(most: int) -> None:
    options = SearchOptions(beam=1, max_depth=9, max_tokens=9, max_unary_repeats=most)
    (output,) = Generator(ScriptedRuntime(SUBWORDS, looping), SUBWORDS, options)(TEXTS[0], start="<NP>")
    assert [context == "<NP>" for context in output.levels[: most + 2]] == [True] * (most + 1) + [False]
