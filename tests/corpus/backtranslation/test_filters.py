"""Each filter by pairs that it must refuse and pairs that it must not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntagma.corpus.backtranslation.filters import (
    ALONE,
    FILTERS,
    KnownWords,
    Limits,
    PairToJudge,
    WordCounts,
    first_reason,
    overlap,
)

KNOWN = KnownWords(frozenset({"the", "house", "cheap", "is", "purchase"}), frozenset({"Tom", "Mary"}))

REFUSED = [
    ("script", "He left.", "Он ушёл."),
    ("length", "He went home early.", "Home."),
    ("length", "He went home.", "He went home because it was late and he had no more time for us."),
    ("length", "word " * 41 + ".", "word " * 41 + "."),
    ("open-end", "He went home.", "He went to the house"),
    ("quotes", "He said no.", 'He said "no.'),
    ("quotes", "He said no.", "He (the man said no."),
    ("copy", "He's sure he won't go.", "He is sure he will not go!"),
    ("copy", "The moon's out.", "the moon is out."),
    ("copy", "It's for those people.", "That is for these people."),
    ("overlap", "He went to the old house today.", "Today he went to the old house."),
    ("loop", "He went home.", "He went went home."),
    ("loop", "They like cats and dogs.", "They like cats and cats."),
    ("loop", "He saw the big dog there.", "He saw the dog, he saw the dog, and left."),
    ("numbers", "He has 12 cats.", "He has 13 cats."),
    ("numbers", "He has three cats.", "He has two cats."),
    ("numbers", "In 1,000 years we won't.", "In 100 years we won't."),
    ("numbers", "He has cats.", "He has twenty cats."),
    ("names", "We met in Boston.", "We met in London."),
    ("names", "Tom is late.", "Mary is late."),
    ("names", "Tom is late.", "He is late."),
    ("names", "He came late.", "That day Tom came late."),
    ("question", "Is he here?", "He is here."),
    ("negation", "I like it.", "I don't like it."),
    ("negation", "Nobody came.", "People came."),
    ("pronouns", "He is my friend.", "She is my friend."),
    ("pronouns", "Show it to me.", "Show it to us."),
    ("unknown-word", "The house is cheap.", "The abode is cheap."),
    ("article", "It was an old house.", "It was a ancient house."),
    ("similarity", "He left.", "It rains."),
]
KEPT = [
    ("script", "He left.", "He went away — café and all."),
    ("length", "He went home early.", "He was early in going home."),
    ("open-end", "He left.", 'He said "I go."'),
    ("quotes", "He said no.", '“No,” he said (twice), "no".'),
    ("copy", "He left early.", "Early he left."),
    ("overlap", "He bought the house.", "He purchased that house."),
    ("loop", "She had had enough of it.", "She had had enough."),
    ("numbers", "He has 1,000 cats and 3 dogs.", "Three dogs and 1000 cats are his."),
    ("numbers", "No one knows the second one.", "Nobody knows the other."),
    ("names", "Yesterday I met Tom's wife.", "I met the wife of Tom yesterday."),
    ("names", "Luckily he came.", "He came, luckily."),
    ("names", 'He said, "Come in."', 'He said, "Enter."'),
    ("question", "Where is he?", 'Where has he gone?"'),
    ("negation", "He can't do it.", "He is unable to do it."),
    ("negation", "He doesn't like it.", "He dislikes it."),
    ("negation", "It never rains.", "There is no rain."),
    ("pronouns", "I'm sure you know.", "You know, I'm certain."),
    ("pronouns", "He has lost his way.", "His way is lost to him."),
    ("unknown-word", "The abode is cheap.", "Cheap is the abode; the purchase is the abode's."),
    ("unknown-word", "The house is cheap.", "Kowalski is the house."),
    ("article", "It was a house.", "It was a one-off in a university of a European land."),
]


def judge(name: str, source: str, paraphrase: str) -> str | None:
    cosine = 0.5 if name == "similarity" else None
    return FILTERS[name](PairToJudge(source, paraphrase, cosine), Limits(known=KNOWN))


@pytest.mark.parametrize(("name", "source", "paraphrase"), REFUSED)
def test_refused(name: str, source: str, paraphrase: str) -> None:
    assert judge(name, source, paraphrase)


@pytest.mark.parametrize(("name", "source", "paraphrase"), KEPT)
def test_kept(name: str, source: str, paraphrase: str) -> None:
    assert judge(name, source, paraphrase) is None


def test_every_filter_is_tried() -> None:
    assert {name for name, *_ in REFUSED} == set(FILTERS)
    assert {name for name, *_ in KEPT} == set(FILTERS) - {"similarity"}


def test_thresholds_decide() -> None:
    pair = PairToJudge("He went to the old house today.", "He went to the new house today.", 0.7)
    names = ["length", "overlap", "similarity"]
    assert overlap(pair.source, pair.paraphrase) == 0.75
    assert first_reason(pair, Limits(), names) == ("similarity", "the cosine is 0.700")
    assert first_reason(pair, Limits(min_similarity=0.7), names) is None
    assert first_reason(pair, Limits(max_overlap=0.7), names) == ("overlap", "0.75 of the words are the same")
    assert first_reason(pair, Limits(max_words=7), names) == ("length", "the source has 8 words")
    assert first_reason(PairToJudge("A cat.", "The abode."), Limits(check_words=False), ["unknown-word"]) is None


def test_known_words_are_those_of_enough_sentences() -> None:
    counts = WordCounts()
    for text in (
        "the cat saw Tom.",
        "the cat, the cat sat by Tom.",
        "The dog? Dog!",
        "Go, Will, go.",
        "I will, I'd say.",
    ):
        counts.add(text)
    known = counts.known(2, more=["abode"])
    assert known.common == {"the", "cat", "abode"}  # twice in one sentence is one sentence
    assert known.names == {"Tom"}


@given(st.text(), st.text())
def test_no_filter_breaks_on_any_text(source: str, paraphrase: str) -> None:
    for name in FILTERS:
        judge(name, source, paraphrase)


@given(st.text(min_size=1))
def test_a_sentence_is_never_its_own_paraphrase(text: str) -> None:
    assert first_reason(PairToJudge(text, text), Limits(), list(FILTERS)) is not None
    names = [name for name in FILTERS if name not in (*ALONE, "copy", "overlap")]
    assert first_reason(PairToJudge(text, text), Limits(), names) is None
