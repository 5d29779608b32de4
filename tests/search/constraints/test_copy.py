from __future__ import annotations

import pytest

from search_models import TEXTS, random_generator
from syntagma.errors import ConfigError
from syntagma.search import Generator, Steering
from syntagma.search.hypothesis import Infill
from syntagma.search.request import RETURNED_UNCHANGED, SearchRequest
from syntagma.text import Subwords, split

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
SOURCE = "He ate an apple."


def searched(generator: Generator, texts: list[str], **options: object) -> SearchRequest:
    """A request whose first level has found those texts, best first."""
    request = generator.request(0, SOURCE, Steering(), generator.defaults.for_texts(1, options))
    (task,) = request.next_tasks()
    part = request.config.part
    infills = [Infill((part, *SUBWORDS.encode(text)), -float(place), -float(place)) for place, text in enumerate(texts)]
    assert request.complete(task, infills)
    assert not request.next_tasks()
    request.settle()
    return request


def texts_of(generator: Generator, request: SearchRequest) -> list[str]:
    found = generator.outputs(request, Steering())
    if not isinstance(found, list):
        raise found
    return [output.text for output in found]


def test_case_and_punctuation_make_no_other_text() -> None:
    generator = random_generator(SUBWORDS, beam=6)
    texts = ["He had an apple.", "He had an apple!", "he had an apple", SOURCE, "HE ATE AN APPLE", "an apple"]
    assert texts_of(generator, searched(generator, texts)) == [texts[0], texts[3], texts[5]]
    generator.defaults = generator.defaults.changed({"forbid_copy": True})
    request = searched(generator, texts)
    assert texts_of(generator, request) == [texts[0], texts[5]]
    assert not request.note


def test_the_source_is_returned_unchanged_where_all_else_is_bad() -> None:
    generator = random_generator(SUBWORDS, beam=4)
    generator.defaults = generator.defaults.changed({"forbid_copy": True, "no_adjacent_repeats": True})
    bad = ["an apple an apple", "He ate ate"]
    request = searched(generator, [bad[0], SOURCE, bad[1]])
    assert texts_of(generator, request) == [SOURCE]
    assert request.note == RETURNED_UNCHANGED
    (output,) = generator.outputs(request, Steering())  # type: ignore[misc]
    assert output.note == output.to_dict()["note"] == RETURNED_UNCHANGED
    assert texts_of(generator, searched(generator, bad)) == bad


def test_who_forbids_copies_gets_none() -> None:
    generator = random_generator(SUBWORDS, beam=4)
    generator.defaults = generator.defaults.changed({"no_adjacent_repeats": True})
    bad = "an apple an apple"
    assert texts_of(generator, searched(generator, [SOURCE, bad], forbid_copy=True)) == [bad]
    with pytest.raises(ConfigError, match="every output that was found repeats the source; allow copies"):
        texts_of(generator, searched(generator, [SOURCE], forbid_copy=True))
