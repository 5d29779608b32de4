"""Searches of a model whose probabilities are written down: what each rule of the search does can be read off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from search_models import TEXTS, ScriptedRuntime
from syntagma.levels import PART, Label
from syntagma.network.config import Architecture
from syntagma.search import Generator, SearchOptions
from syntagma.search.generator import Steering
from syntagma.search.request import SearchRequest, fits
from syntagma.search.result import _joins
from syntagma.template import TemplateError
from syntagma.text import Subwords, Word, split
from syntagma.text.subwords import END, PART_ID

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
PIECES = [SUBWORDS.piece(token) for token in range(SUBWORDS.size)]
NOUN = SUBWORDS.label_id("NP")
A, B, C, D = (PIECES.index(letter) for letter in (b"a", b"b", b"c", b"d"))


def generator(script: dict[str, dict[int, float]], **options: Any) -> Generator:
    """A search of a script; what it does not name is out of the question."""

    def likely(before: tuple[int, ...]) -> Any:
        scores = np.full(SUBWORDS.size, -50.0)
        written = b"".join(PIECES[token] for token in before[1:]).decode()
        for token, score in script.get(written, {END: -9.0}).items():
            scores[token] = score
        return scores

    runtime = ScriptedRuntime(SUBWORDS, likely)
    settings = SearchOptions.from_dict({"beam": 2, "max_depth": 1, "max_tokens": 9, "alpha": 0.0} | options)
    return Generator(runtime, SUBWORDS, settings)


def search(script: dict[str, dict[int, float]], **options: Any) -> list[tuple[str, float]]:
    """Texts and scores."""
    return [(output.text, round(output.score, 3)) for output in generator(script, **options)(TEXTS[0])]


COMPETING = {
    "": {A: -0.1, B: -0.2},
    "a": {END: -1.0, C: -0.5},
    "b": {END: -3.0, D: -1.0},
    "ac": {END: -5.0},
    "bd": {END: -0.1},
}
"""After two tokens: `ac` -0.6, `a` done -1.1, `bd` -1.2.  So `a` takes the second place of the beam from `bd`."""


@pytest.mark.parametrize("bounds", [True, False])
def test_with_sums_what_is_finished_competes_with_what_is_not(bounds: bool) -> None:
    assert search(COMPETING, score="sum", bounds=bounds) == [("a", -1.1), ("ac", -5.6)]


def test_with_means_what_is_finished_leaves_the_competition() -> None:
    assert search(COMPETING, score="mean") == [("bd", -0.325), ("a", -0.367)]


def test_each_part_has_its_share_of_the_score() -> None:
    """The mark that opens a part, and the end, count with the part that they open or close."""
    script = {"": {A: -0.125}, "a": {PART_ID: -0.25, B: -0.5}, "ab": {END: -1.0}}
    (output,) = generator(script, beam=1)(TEXTS[0], start="<NP> <NP>")
    assert output.text == "ab"
    assert output.trace[0].infill_score == -1.875
    assert output.trace[0].part_scores == (-0.125, -1.75)
    assert output.trace[0].joins == ("a+b",)


def test_a_join_is_seen_by_the_letters_on_either_side() -> None:
    context = (Label("NP"), Label("NP"))
    assert _joins(context, (PART, Word("x-a", " "), PART, Word("b", ""))) == ("x-a+b",)
    assert _joins(context, (PART, Word("a-", " "), PART, Word("b", ""))) == ()


def test_a_context_fits_that_takes_every_position() -> None:
    config = ScriptedRuntime(SUBWORDS, prepositional).config
    room = config.max_positions - len(config.context_marks)
    assert [fits([NOUN, *[A] * words], config, ()) for words in (room - 1, room)] == [True, False]


PRUNED = {"": {A: -0.1, B: -1.2, C: -1.4}, "a": {END: -2.0}, "b": {END: -0.1}, "c": {END: -0.1}}


@pytest.mark.parametrize(
    ("prune", "texts"), [(0, ["b", "c", "a"]), (1.35, ["b", "c", "a"]), (1.25, ["b", "a"]), (1.05, ["a"])]
)
def test_what_is_worse_than_the_best_by_more_than_the_margin_is_pruned(prune: float, texts: list[str]) -> None:
    assert [text for text, _ in search(PRUNED, beam=3, prune=prune)] == texts


@pytest.mark.parametrize(("architecture", "tree"), [("linearised", "(TOP (NP a))"), ("seq2seq", "None")])
def test_brackets_are_for_linearised_trees_only(architecture: Architecture, tree: str) -> None:
    follow = {0: [NOUN, A], NOUN: [A], A: [PART_ID, END], PART_ID: [END]}

    def likely(before: tuple[int, ...]) -> Any:
        scores = np.full(SUBWORDS.size, -50.0)
        scores[follow[before[-1] if before else 0]] = -0.1
        return scores

    runtime = ScriptedRuntime(SUBWORDS, likely, architecture)
    (output,) = Generator(runtime, SUBWORDS, SearchOptions(beam=1, max_tokens=9))(TEXTS[0])
    assert (output.text, str(output.tree)) == ("a", tree)


@pytest.mark.parametrize("moment", range(18))
def test_an_aborted_request_takes_nothing_with_it(moment: int) -> None:
    """At every moment: before the first step, while tasks wait for those of others, while rows are decoded."""

    def likely(before: tuple[int, ...]) -> Any:  # a noun phrase, and words as long as there is room
        scores = np.full(SUBWORDS.size, -50.0)
        for rank, token in enumerate([NOUN, A, B] if before[-1] == PART_ID else [A, B, PART_ID, END]):
            scores[token] = -0.1 - rank
        return scores

    runtime = ScriptedRuntime(SUBWORDS, likely)
    generator = Generator(runtime, SUBWORDS, SearchOptions(beam=2, max_depth=3, max_tokens=8))
    brief = generator.defaults.changed({"max_tokens": 3})  # whose next depth has to wait until others have one

    def requests() -> list[SearchRequest]:
        options = [generator.defaults] * 5 + [brief]
        return [generator.request(number, TEXTS[0], Steering(), one) for number, one in enumerate(options)]

    alone = {request.number: [one.ids for one in request.beam] for request in generator.scheduler().run(requests())}
    scheduler, entering = generator.scheduler(), requests()
    scheduler.add(entering)
    finished = [request for _ in range(moment) for request in scheduler.step()]
    given_up = [request for request in entering[1:3] if request not in finished]
    for request in given_up:
        scheduler.abort(request)
    finished += [request for _ in range(100) for request in scheduler.step()]
    assert not scheduler.running
    assert {request.number for request in finished} == alone.keys() - {request.number for request in given_up}
    assert all([one.ids for one in request.beam] == alone[request.number] for request in finished)


def prepositional(before: tuple[int, ...]) -> Any:
    """Any label rather than a word, and no word but `a`."""
    scores = np.full(SUBWORDS.size, -50.0)
    for rank, token in enumerate([*map(SUBWORDS.label_id, ("PP", "VP", "S", "NP")), END, PART_ID, A]):
        scores[token] = -0.1 - rank
    return scores


def test_a_hard_template_keeps_labels_out_that_the_model_would_rather_write() -> None:
    options = SearchOptions(beam=1, max_depth=6, max_tokens=9)
    generator = Generator(ScriptedRuntime(SUBWORDS, prepositional), SUBWORDS, options)
    steering = generator.steering(template="(S (NP) (VP))", control="hard")
    (output,) = generator(TEXTS[0], template="(S (NP) (VP))", control="hard")
    assert str(output.tree) == "(TOP (S (NP a) (VP a)))"
    assert not any(level.edited for level in output.trace)
    assert not generator.grow(TEXTS[0]).beam[0].edited
    growth = generator.grow(TEXTS[0], steering=steering).step().replace(0, "<NP> b")  # which has another shape, and may
    assert growth.finish()[0].text.endswith(" b")


@pytest.mark.parametrize(("pinned", "fits"), [("<NP> a <VP>", True), ("<PP> <VP>", False), ("a", False)])
def test_what_is_pinned_against_a_hard_template_is_refused(pinned: str, fits: bool) -> None:
    options = SearchOptions(beam=1, max_depth=6, max_tokens=9)
    generator = Generator(ScriptedRuntime(SUBWORDS, prepositional), SUBWORDS, options)
    steering = generator.steering(template="(S (NP) (VP))", control="hard")
    growth = generator.grow(TEXTS[0], steering=steering).step().pin(0, 1, pinned)
    if fits:
        assert str(growth.finish()[0].tree) == "(TOP (S (NP a) a (VP a)))"
    else:
        with pytest.raises(TemplateError, match="no output of this model has the template's shape"):
            growth.finish()
