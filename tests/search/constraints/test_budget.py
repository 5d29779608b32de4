from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_models import random_generator
from syntagma.search import Steering
from syntagma.search.constraints.base import Allowed
from syntagma.search.constraints.budget import WordBudgetConstraint
from syntagma.search.constraints.grammar import WORDS
from syntagma.search.hypothesis import Infill
from syntagma.text import Subwords, split

WORDS_OF = ["nails", "grow", "faster", "winter", "than", "in", "summer"]
SUBWORDS = Subwords.train([split(" ".join(WORDS_OF) + " Winter winters").words] * 20, size=400)


def constraint(source: str) -> WordBudgetConstraint:
    return WordBudgetConstraint(source, SUBWORDS)


def denied(budget: WordBudgetConstraint, text: str) -> set[str]:
    """The words that may not come after a text."""
    state = budget.after([])
    for token in [*SUBWORDS.encode(text), SUBWORDS.encode(",")[0]]:
        state = budget.advance(state, token)
    allowed = Allowed(WORDS, None, None)  # type: ignore[arg-type]
    budget.mask(state, allowed)
    return {SUBWORDS.decode([token]).strip() for token in allowed.denied or ()}


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("Nails grow.", "in winter than in", {"winter", "Winter"}),
        ("Winter after winter.", "in winter than in", set()),
        ("Winter after winter.", "in winter in Winter", {"winter", "Winter"}),
        ("Nails grow.", "winters", {"winters", "Winters"}),  # which is another word than winter
    ],
)
def test_a_word_that_is_spent_is_denied(source: str, text: str, expected: set[str]) -> None:
    assert denied(constraint(source), text) <= expected | {"W", "Winters"}
    assert bool(denied(constraint(source), text)) == bool(expected)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(WORDS_OF), min_size=1, max_size=8), st.lists(st.sampled_from(WORDS_OF), max_size=8))
def test_counting_token_by_token_is_counting_at_once(source: list[str], text: list[str]) -> None:
    budget = constraint(" ".join(source))
    ids = SUBWORDS.encode(" ".join(text))
    state = budget.after([])
    for token in [*ids, SUBWORDS.encode(".")[0]]:
        state = budget.advance(state, token)
    assert (state.counts, state.spent) == (budget.after(ids).counts, budget.after(ids).spent)


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("nails grow in winter", ["winter nails grow"]),
        ("winter is winter", ["winter nails winter", "winter nails grow"]),
    ],
    ids=["it is left out", "the source says it twice"],
)
def test_the_search_leaves_out_what_says_a_word_too_often(source: str, kept: list[str]) -> None:
    generator = random_generator(SUBWORDS, 5)
    request = generator.request(0, source, Steering(), generator.defaults.changed({"no_repeated_words": True}))
    (task,) = request.next_tasks()
    texts = ["winter nails winter", "winter nails grow"]
    infills = [(request.config.part, *SUBWORDS.encode(text)) for text in texts]
    request.complete(task, [Infill(infill, -0.1 * rank, -0.1 * rank) for rank, infill in enumerate(infills)])
    request.advance()
    assert [SUBWORDS.decode(hypothesis.ids) for hypothesis in request.beam] == kept


def test_a_search_writes_no_word_twice() -> None:
    generator = random_generator(SUBWORDS, 3, beam=3, no_repeated_words=True)
    for source in ("nails grow", "winter in summer"):
        for output in generator(source):
            words = [word.text.lower() for word in split(output.text).words]
            content = [word for word in words if word in ("nails", "grow", "faster", "winter", "summer")]
            assert len(set(content)) == len(content)
