from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_models import random_generator
from syntagma.search import Steering
from syntagma.search.constraints.repeats import repeats
from syntagma.search.hypothesis import Infill
from syntagma.text import Subwords, split

WORDS = ("the", "dog", "of", "banana", "saw", "Mississippi")
SUBWORDS = Subwords.train([split(" ".join(WORDS) + " .").words] * 3, size=330)


def twice_in_a_row(words: list[str]) -> bool:
    return any(
        words[at : at + size] == words[at + size : at + 2 * size]
        for size in range(1, len(words) // 2 + 1)
        for at in range(len(words) - 2 * size + 1)
    )


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8))
def test_repeats_are_words_twice_in_a_row_however_they_are_spelled(words: list[str]) -> None:
    assert repeats(SUBWORDS.encode(" ".join(words)), SUBWORDS) == twice_in_a_row(words)


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), st.sampled_from(SUBWORDS.labels))
def test_a_label_keeps_words_apart(words: list[str], label: str) -> None:
    ids = SUBWORDS.encode(" ".join(words))
    assert repeats([*ids, *ids], SUBWORDS)
    assert repeats([*ids, SUBWORDS.label_id(label), *ids], SUBWORDS) == twice_in_a_row(words)
    several = [SUBWORDS.label_id(label)] * 4
    assert not repeats([*several, *SUBWORDS.encode("the dog")], SUBWORDS)


@pytest.mark.parametrize(
    ("source", "texts", "kept"),
    [
        ("the dog saw", ["the the dog", "the dog"], ["the dog"]),
        ("the dog saw", ["the the dog"], ["the the dog"]),
        ("the the dog saw", ["the the dog", "the dog"], ["the the dog", "the dog"]),
        ("the dog saw", ["the dog <NP>", "the dog the dog <NP>"], ["the dog <NP>"]),
    ],
    ids=["another is there", "nothing else is there", "the source does it too", "what is not finished"],
)
@pytest.mark.parametrize("forbidden", [True, False])
def test_the_search_leaves_it_out(source: str, texts: list[str], kept: list[str], forbidden: bool) -> None:
    generator = random_generator(SUBWORDS, 5)
    options = generator.defaults.changed({"no_adjacent_repeats": forbidden})
    request = generator.request(0, source, Steering(), options)
    (task,) = request.next_tasks()
    label = SUBWORDS.label_id("NP")
    infills = [
        (request.config.part, *SUBWORDS.encode(text.removesuffix(" <NP>")), *[label] * text.endswith("<NP>"))
        for text in texts
    ]
    request.complete(task, [Infill(infill, -0.1 * at, -0.1 * at) for at, infill in enumerate(infills)])
    request.advance()
    found = [hypothesis.context.ids for hypothesis in request.beam]
    expected = kept if forbidden else texts
    assert [tuple(ids) for ids in found] == [infills[texts.index(text)][1:] for text in expected]
