from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from search_models import TEXTS, random_generator
from serve_models import growing_generator
from syntagma.errors import ConfigError
from syntagma.hub import bundled
from syntagma.search import Generator
from syntagma.search.constraints.base import Allowed
from syntagma.search.constraints.grammar import WORDS, InfillState
from syntagma.search.constraints.lexical import LexicalConstraint, spellings
from syntagma.search.request import SearchRequest
from syntagma.text import Subwords, split

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
SENTENCE = "It seems like he has made a mistake."


def search(generator: Generator, text: str, **asked: Any) -> tuple[SearchRequest, int]:
    """A finished request, and what it cost."""
    request = generator.request(0, text, generator.steering(**asked), generator.defaults)
    scheduler = generator.scheduler()
    list(scheduler.run([request]))
    return request, scheduler.row_steps


def test_a_free_result_that_has_the_word_is_the_result() -> None:
    for seed in range(4):
        generator = random_generator(SUBWORDS, seed, beam=4)
        free, cost = search(generator, TEXTS[0])
        words = [word for word in split(SUBWORDS.decode(free.beam[0].ids)).texts() if word.isalpha() and len(word) > 1]
        for word in words[:1]:
            found, steps = search(generator, TEXTS[0], must=[word])
            assert steps == cost
            assert found.beam[0].ids == free.beam[0].ids


@pytest.mark.parametrize("must", [["apple"], ["mistake", "ate"]])
def test_required_words_cost_a_few_times_the_free_search(must: list[str]) -> None:
    for seed in range(3):
        generator = growing_generator(beam=4, max_tokens=40)
        _, cost = search(generator, TEXTS[seed])
        found, steps = search(generator, TEXTS[seed], must=must)
        assert steps <= 8 * cost
        assert all(found.required.held_by(hypothesis) for hypothesis in found.beam)


def test_bounds_change_nothing_with_required_words() -> None:
    for seed in range(4):
        generator = random_generator(SUBWORDS, seed, beam=4)
        beams = []
        for bounds in (True, False):
            generator.defaults = generator.defaults.changed({"bounds": bounds})
            request, _ = search(generator, TEXTS[1], must=["apple"])
            beams.append([(hypothesis.ids, round(hypothesis.score, 4)) for hypothesis in request.beam])
        assert beams[0] == beams[1]


def test_a_capital_is_asked_for_at_the_beginning_of_a_text_only() -> None:
    generator = random_generator(SUBWORDS)
    (task,) = generator.request(0, TEXTS[0], generator.steering(), generator.defaults).next_tasks()
    constraint = LexicalConstraint.of(SUBWORDS, must=["apple"])
    capital = {ids[0] for ids in spellings("Apple", SUBWORDS)}
    grammar = generator.grammar

    def asked(*tokens: int) -> set[int]:
        state = constraint.begin(task)
        assert state is not None
        for token in tokens:
            state = constraint.advance(state, token)
        allowed = Allowed(WORDS, grammar.words, InfillState(0, 1, 9, labels=False))
        constraint.mask(state, allowed)
        return set(allowed.asked or ())

    other = SUBWORDS.encode("mistake")[0]
    assert asked(generator.config.part) >= capital
    assert not asked(generator.config.part, other) & capital
    assert asked(generator.config.part, other) == asked(generator.config.part) - capital


def test_a_forbidden_word_is_not_written_across_two_parts() -> None:
    """Nor where two parts meet: the context that they grow is left out."""
    generator = random_generator(SUBWORDS, 1, beam=3)
    word = SUBWORDS.encode("mistake")
    assert len(word) > 1
    request = generator.request(0, TEXTS[0], generator.steering(must_not=["mistake"]), generator.defaults)
    (task,) = request.next_tasks()
    assert not any(constraint.keep(_with(request, word)) for constraint in request.constraints if constraint.strict)
    assert task.constraints


@pytest.mark.parametrize("start", ["he nods .", "<NP> nods <NP>", "Nods <NP> .", "he nods and , right ?"])
def test_a_start_may_not_hold_a_forbidden_word(start: str) -> None:
    generator = random_generator(SUBWORDS, 1)
    with pytest.raises(
        ConfigError, match=r"^the start context holds 'nods', which must not appear; write another start"
    ):
        generator.steering(start=start, must_not=["apple", "nods"])
    generator.steering(start=start, must_not=["apple"])
    generator.steering(must_not=["apple", "nods"])


def _with(request: SearchRequest, ids: list[int]) -> Any:
    from syntagma.network.contexts import AnnotatedContext
    from syntagma.search.hypothesis import Hypothesis

    return Hypothesis(AnnotatedContext.plain(ids, request.config), 0.0, 2)


@cache
def paraphraser() -> Generator:
    return Generator.from_pretrained("paraphrase-en")


@pytest.mark.skipif("paraphrase-en" not in bundled("model"), reason="the bundled model is not here")
class TestBundled:
    def test_required_words(self) -> None:
        generator = paraphraser()
        _, cost = search(generator, SENTENCE)
        found, steps = search(generator, SENTENCE, must=["mistake"])
        assert steps == cost
        assert generator.vocabulary.decode(found.beam[0].ids) == generator(SENTENCE)[0].text
        for word in ("error", "probably", "wrong"):
            found, steps = search(generator, SENTENCE, must=[word])
            assert steps <= 6 * cost
            for text in (generator.vocabulary.decode(hypothesis.ids) for hypothesis in found.beam):
                assert word in split(text.lower()).texts()

    def test_no_sentence_is_lost(self) -> None:
        generator = paraphraser()
        text = "I bought a car. It is red! Do you like it?"
        for asked in ({"must": ["car"]}, {"must": ["purchased"]}, {"must_not": ["zebra"]}, {"start": "<NP> <VP> ."}):
            found = generator(text, **asked)[0].text  # type: ignore[arg-type]
            assert found.count(".") + found.count("!") + found.count("?") == 3, found
            assert "red" in found
            assert "like" in found
        assert "car" in generator(text, must=["car"])[0].text
        assert generator("He left. Nobody answered.")[0].text.endswith("answered.")

    def test_words_grow_across_parts_only_towards_known_ones(self) -> None:
        generator = paraphraser()
        found = generator("Tom is hard to be working with.", nbest=5)
        known = generator.words
        assert known is not None
        for output in found:
            assert "\N{REPLACEMENT CHARACTER}" not in output.text
            for join in (join for level in output.trace for join in level.joins):
                assert known.knows(join.replace("+", "").lower().encode()) or not join.replace("+", "").isalpha()
