"""Texts of several sentences."""

from __future__ import annotations

from itertools import islice, product
from typing import Any

import pytest

from search_models import TEXTS, random_model
from syntagma.levels import MalformedInfill, expand, show
from syntagma.network.config import Architecture
from syntagma.runtime.torch import TorchRuntime
from syntagma.search import Generator, Output, SearchOptions, Steering
from syntagma.search.document import Document, best_together, segments
from syntagma.template import TemplateError
from syntagma.text import Subwords, split

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
FIRST, SECOND = "He has made a mistake.", "Did she really see that?"


def generator_of(architecture: Architecture = "extra-encoder", **options: Any) -> Generator:
    given = {"beam": 3, "max_depth": 4, "max_tokens": 12, "split": True} | options
    return Generator(TorchRuntime(random_model(SUBWORDS, 1, architecture)), SUBWORDS, SearchOptions.from_dict(given))


def test_sentences_are_searched_apart_and_put_together() -> None:
    generator = generator_of()
    first, second = generator(FIRST), generator(SECOND)
    found = generator(f"{FIRST}  {SECOND}")
    assert [one.text for one in found] == [
        f"{first[a].text}  {second[b].text}" for a, b in islice(best_together([len(first), len(second)]), 3)
    ]
    assert found[0].score == pytest.approx(first[0].score + second[0].score)
    for one in found:
        assert one.tree is not None
        context = one.trace[0].context
        assert show(context) == "<T>"
        for level in one.trace:
            assert level.context == context
            grown = expand(level.context, level.infill)
            assert not isinstance(grown, MalformedInfill)
            context = grown
        assert one.tree.words() == context
        assert one.trace[-1].score == pytest.approx(one.score)
    assert first[0].tree is not None
    assert second[0].tree is not None
    assert found[0].tree is not None
    assert found[0].tree.children == first[0].tree.children + second[0].tree.children


def test_many_texts_keep_their_order() -> None:
    generator = generator_of()
    texts = [f"{FIRST} {SECOND}", SECOND, "", f"{SECOND} {FIRST} {FIRST}", FIRST]
    found = list(generator.stream(texts, batch=2))
    assert [[one.text for one in some] for some in found if isinstance(some, list)] == [
        [one.text for one in generator(text)] if text else [] for text in texts
    ]


def test_steering_loses_no_sentence() -> None:
    """A start context and a soft template shape the first sentence; forbidden words hold for all."""
    generator, text = generator_of(), f"{FIRST} {SECOND}"
    for asked in ({"template": "(S ...)"}, {"start": "<NP> <VP> ."}, {"must_not": ["zebra"]}):
        first = generator(FIRST, **asked)[0]  # type: ignore[arg-type]
        found = generator(text, **asked)[0]  # type: ignore[arg-type]
        assert found.text == f"{first.text} {generator(SECOND)[0].text}"
        context = found.trace[0].context
        for level in found.trace:
            assert level.context == context
            grown = expand(level.context, level.infill)
            assert not isinstance(grown, MalformedInfill)
            context = grown
    word = split(generator(SECOND)[0].text).texts()[0]
    assert word not in split(generator(text, must_not=[word])[0].text).texts()


def test_a_hard_template_is_for_one_sentence() -> None:
    generator = generator_of()
    with pytest.raises(TemplateError, match="2 sentences, and a hard template guarantees the shape of one; give the"):
        generator(f"{FIRST} {SECOND}", template="(S ...)", control="hard")
    assert generator(f"{FIRST} {SECOND}", template="(S ...)", control="hard", split=False)


@pytest.mark.parametrize("must", ["mistake", "really", "apple"])
def test_a_required_word_is_met_by_one_of_the_sentences(must: str) -> None:
    """By that whose source has it; by any where none has."""
    generator = generator_of()
    text = f"{FIRST} {SECOND}"
    found = generator(text, must=[must])
    alone = [generator(FIRST)[0].text, generator(SECOND)[0].text]
    for output in found:
        assert must in output.text.lower()
    if must == "mistake":
        assert found[0].text.endswith(alone[1])
    elif must == "really":
        assert found[0].text.startswith(alone[0])
    else:
        assert found[0].text.startswith(alone[0]) or found[0].text.endswith(alone[1])


@pytest.mark.parametrize("text", ["He left. Nobody answered.", "Hello! How are you doing? I am well. Bye."])
def test_every_sentence_is_a_segment(text: str) -> None:
    assert "".join(segments(text)) == text
    assert [segment.strip()[-1] for segment in segments(text)] == [sign for sign in text if sign in ".!?"]


def test_what_one_go_and_chance_find_is_put_together_too() -> None:
    plain = generator_of("seq2seq")
    assert plain(f"{FIRST} {SECOND}")[0].text == f"{plain(FIRST)[0].text} {plain(SECOND)[0].text}"
    drawn = generator_of(sample=True, seed=3)
    assert len(drawn(f"{FIRST} {SECOND}")) == 3


def test_samples_that_repeat_a_sentence_are_left_out() -> None:
    """So sentences may have different numbers of them."""
    requests = [generator_of().request(0, text, Steering(), SearchOptions(sample=True)) for text in (FIRST, SECOND)]
    document = Document(requests, ["", " "], beam=5, sample=True)
    first, second = (Output(text, -1.0, None, ()) for text in (FIRST, SECOND))
    assert [one.text for one in document.combine([[first], [second, first]])] == [f"{FIRST} {SECOND}"]


def test_a_text_may_have_very_many_sentences() -> None:
    rows = list(islice(best_together([5] * 3000), 5))
    assert [sum(row) for row in rows] == [0, 1, 1, 1, 1]
    assert len(set(rows)) == 5


@pytest.mark.parametrize("sizes", [[1], [3, 2], [2, 1, 4], [3, 3, 3]])
def test_the_best_together_come_first(sizes: list[int]) -> None:
    rows = list(best_together(sizes))
    assert sorted(rows) == list(product(*map(range, sizes)))
    assert [sum(row) for row in rows] == sorted(sum(row) for row in rows)
