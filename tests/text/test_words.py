from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntagma.text import Sentence, Word, join, split, split_tokens

CASES = [
    ("I can't go.", "I ca n't go ."),
    ('"Hi," he said.', '" Hi , " he said .'),
    ("It's 10:30 a.m. in the U.S.", "It 's 10:30 a.m. in the U.S."),
    ("Mr. Smith's dogs' bowls cost $5.50!", "Mr. Smith 's dogs ' bowls cost $ 5.50 !"),
    ("You cannot, you mustn't've...", "You can not , you must n't 've ..."),
    ("He left. She's gone.Really?!", "He left . She 's gone . Really ?!"),
    ("time-share, and/or AT&T (R&D)", "time-share , and/or AT&T ( R&D )"),
    ("Visit https://x.org/a?b=c, or mail a.b@c.de.", "Visit https://x.org/a?b=c , or mail a.b@c.de ."),
    ("“Don’t,” she said—twice.", "“ Do n’t , ” she said — twice ."),
    ("Geht's z.B. um 10 Uhr?", "Geht 's z.B. um 10 Uhr ?"),
    ("S-a dus, l-a văzut.", "S-a dus , l-a văzut ."),
    ("他写了一封信。", "他写了一封信 。"),
    ("rock 'n' roll in the '90s", "rock 'n' roll in the '90s"),
    ("He likes cats etc.", "He likes cats etc ."),
    ("<NP> <c>", "< NP > < c >"),
]


@pytest.mark.parametrize(("text", "words"), CASES)
def test_cut_as_in_the_treebank(text: str, words: str) -> None:
    assert " ".join(split(text).texts()) == words


@pytest.mark.parametrize("words", ["It 's n't `` so '' , Mr. Li 's -- 1,000 % ... ?", "I 'm gon na go , ca n't you ?"])
def test_tokenised_text_is_left_alone(words: str) -> None:
    assert " ".join(split(words).texts()) == words


@given(st.text())
def test_join_undoes_split(text: str) -> None:
    sentence = split(text)
    assert str(sentence) == text
    assert all(word.text.split() == [word.text] for word in sentence.words)
    assert str(split_tokens(text)) == text


@given(st.text(alphabet="aZ.'’n ts,!?-\n\"()0"))
def test_join_undoes_split_around_punctuation(text: str) -> None:
    assert str(split(text)) == text


def test_white_space_is_remembered() -> None:
    assert split(" a\t\tb ") == Sentence((Word("a", " "), Word("b", "\t\t")), " ")
    assert join([Word("ca", ""), Word("n't", ""), Word("go")]) == "can't go"


def test_a_very_long_text_takes_linear_time() -> None:
    for text in ("Aa.Ba" * 200_000, "a" * 1_000_000, "e.g. " * 200_000, "x@" * 200_000, "'" * 200_000):
        assert str(split(text)) == text
