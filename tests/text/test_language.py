"""Guesses at the language of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntagma.text.language import guess_language, script_of


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Ich weiß nicht, ob er morgen kommt."),
        ("de", "Der Hund liegt auf dem Sofa und schläft."),
        ("en", "I don't know whether he will come tomorrow."),
        ("en", "The dog is lying on the sofa."),
        ("fr", "Je ne sais pas s'il vient demain."),
        ("fr", "Le chien est couché sur le canapé."),
        ("ro", "Nu știu dacă el va veni mâine."),
        ("ro", "Câinele stă pe canapea și doarme."),
        ("zh", "我不知道他明天来不来。"),
        ("zh", "我不知道Tom明天來不來。"),
        ("zh", "他用Microsoft PowerPoint做演示。"),
        ("zh", "我 不 知道 他 明天 来 不 来 。"),
        ("de", "Tom will jetzt in Boston arbeiten, nicht hier."),
        ("ja", "彼が明日来るかどうか分かりません。"),
        ("ko", "그가 내일 올지 모르겠어요."),
        ("el", "Δεν ξέρω αν θα έρθει αύριο."),
    ],
)
def test_languages(language: str, text: str) -> None:
    assert guess_language(text) == language


@pytest.mark.parametrize("text", ["", "  ", "42 + 1 = 43", "!?", "Kawasaki", "qwrtz"])
def test_what_says_nothing(text: str) -> None:
    assert guess_language(text) is None


def test_several_texts_decide_together() -> None:
    assert guess_language("Tom.") is None
    assert guess_language(["Tom.", "Er ist nicht da.", "OK"]) == "de"


def test_only_those_that_come_into_question() -> None:
    text = "Le chien est couché sur le canapé."
    assert guess_language(text, ["fr", "zh"]) == "fr"
    assert guess_language("我不知道。", ["de", "en"]) is None
    assert guess_language("Ich weiß das nicht.", ["de", "zh"]) == "de"


def test_letters_may_be_composed_or_not() -> None:
    assert guess_language("Ca\u0302inele sta\u0306 pe canapea s\u0326i doarme.") == "ro"


def test_scripts() -> None:
    assert [script_of(sign) for sign in "aд我1 "] == ["LATIN", "CYRILLIC", "CJK", "", ""]


@given(st.text())
def test_any_text_gets_an_answer(text: str) -> None:
    assert guess_language(text) in (None, "de", "en", "fr", "ro", "zh", "ja", "ko", "el", "he", "th", "hy", "ka")
