from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntagma.text.compare import bare_words, same_words, without_repeats


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("It is cold.", "it is cold", True),
        ("It is cold.", "It is, cold!", True),
        ("It is cold.", "  It is   cold ", True),
        ("“No”, he said.", '"No," he said.', True),
        ("He can’t.", "He can't!", True),
        ("STRASSE", "straße", True),
        ("It is cold.", "Is it cold?", False),
        ("He can't.", "He cant.", False),
        ("well-known", "well known", False),
        ("It costs 2.5 euros.", "It costs 25 euros.", False),
        ("It costs 2,5.", "It costs 2, 5.", False),
        ("It costs 5 €.", "It costs 5 $.", False),
        ("'tis", "tis", True),
        ("rock- and pop", "rock and pop", True),
        ("?", "!", False),
        ("", "", True),
        ("", "a", False),
        ("I ❤ it.", "I it.", False),
        ("他写了。", "他写了", True),
        ("हिन्दी", "हिनदी", False),
    ],
)
def test_same_words(first: str, second: str, same: bool) -> None:
    assert same_words(first, second) is same
    assert same_words(second, first) is same


@given(st.text(), st.text())
def test_equal_texts_have_the_same_words(first: str, second: str) -> None:
    assert same_words(first, first)
    assert same_words(first, second) == (bare_words(first) == bare_words(second))
    assert same_words(first, f" {first} ")


@given(st.lists(st.sampled_from(["It is.", "it is", "Is it?", "is it", "No", "no!"])))
def test_the_first_of_each_kind_stays(texts: list[str]) -> None:
    kept = without_repeats(texts, str)
    assert {bare_words(text) for text in kept} == {bare_words(text) for text in texts}
    assert len(kept) == len({bare_words(text) for text in texts})
    assert kept == [text for at, text in enumerate(texts) if not any(same_words(text, old) for old in texts[:at])]
