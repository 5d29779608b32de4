from __future__ import annotations

import pytest

from syntagma.text.prose import unreadable

SENTENCES = [
    "The temperature was 30 °C; nobody slept.",
    "He paid €50 (or was it 60?) to O'Brien & Sons.",
    "BBC News said so",
    "I met Zoë Müller in Kraków.",
    "Tom and Mary live in New York City",
    "Write to sales@example.com or see https://example.com/a?b=1.",
    "Use rice -- not pasta -- today.",
    "It's 5 > 3, isn't it?",
]
OTHERS = [
    ("for (i = 0; i < n; i++) {", "code"),
    ("x == y && f(x)", "code"),
    ("<b>bold</b> text", "code"),
    ("import numpy as np", "code"),
    ("Terms And Conditions Of Use", "heading"),
    ("See you soon 😀", "signs"),
    ("The angle α is small.", "signs"),
    ("Это моя книга.", "script"),
]


@pytest.mark.parametrize("text", SENTENCES)
def test_a_sentence_is_read(text: str) -> None:
    assert unreadable(text, "en") == ""


@pytest.mark.parametrize(("text", "reason"), OTHERS)
def test_anything_else_is_left_as_it_is(text: str, reason: str) -> None:
    assert reason in unreadable(text, "en")
    assert unreadable(text, None) == ""
