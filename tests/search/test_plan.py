from __future__ import annotations

import numpy as np
import pytest
import torch

from search_models import TEXTS, random_model
from syntagma.errors import ConfigError
from syntagma.network.contexts import AnnotatedContext
from syntagma.runtime.torch import TorchRuntime
from syntagma.search import Generator, SearchOptions
from syntagma.search.constraints.budget import WordBudgetConstraint, Written
from syntagma.search.explain import explain
from syntagma.search.hypothesis import Hypothesis, merge
from syntagma.search.plan import write_drafts
from syntagma.search.request import RETURNED_UNCHANGED, SearchRequest
from syntagma.search.steering import Steering
from syntagma.template import Template
from syntagma.text import Subwords, split
from syntagma.text.subwords import END, PART_ID

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
OPTIONS = SearchOptions(beam=6, num_plans=3, max_tokens=14)


@pytest.fixture(scope="module")
def generator() -> Generator:
    network = random_model(SUBWORDS, 3, seq2seq_objective=True, output_bias=True)
    with torch.no_grad():
        network.output_bias[END] = 12.0  # else an untrained model writes on and on
    return Generator(TorchRuntime(network), SUBWORDS, OPTIONS)


def drafts_of(generator: Generator, texts: list[str], count: int) -> list[list[tuple[int, ...]]]:
    sources = generator.runtime.encode([SUBWORDS.encode(text) for text in texts])
    return write_drafts(generator.runtime, sources, [count] * len(texts), [12] * len(texts))


def requests(generator: Generator, options: SearchOptions) -> list[SearchRequest]:
    return [generator.request(0, TEXTS[0], Steering(), options, plan=True)]


def test_drafts_begin_differently_and_hold_words_only(generator: Generator) -> None:
    (drafts,) = drafts_of(generator, TEXTS[:1], 6)
    assert drafts
    assert len({ids[0] for ids in drafts}) == len(drafts) <= 6
    controls = set(generator.config.controls)
    assert all(controls.isdisjoint(ids) and len(ids) <= 12 for ids in drafts)


def test_drafts_keep_within_the_budget_of_their_words(generator: Generator) -> None:
    free = drafts_of(generator, TEXTS, 6)
    spent = frozenset({free[0][0][1]})  # a token that follows another, which no budget of words would know

    class Budget(WordBudgetConstraint):
        def advance(self, state: Written, token: int) -> Written:
            return state._replace(spent=spent)

    sources = generator.runtime.encode([SUBWORDS.encode(text) for text in TEXTS])
    drafts = write_drafts(generator.runtime, sources, [6] * 3, [12] * 3, [Budget("", SUBWORDS), None, None])
    assert drafts[1:] == free[1:]
    assert drafts[0] != free[0]
    assert not any(spent & set(ids[1:]) for ids in drafts[0])


def test_drafts_do_not_depend_on_their_neighbours(generator: Generator) -> None:
    together = drafts_of(generator, TEXTS, 4)
    assert together == [drafts_of(generator, [text], 4)[0] for text in TEXTS]


def test_texts_grow_in_the_shapes_of_drafts(generator: Generator) -> None:
    (drafts,) = drafts_of(generator, TEXTS[:1], 6)
    steerer = generator._steerer
    shapes = set(steerer.exemplar_shapes([(SUBWORDS.decode(ids), None) for ids in drafts]))
    outputs = generator(TEXTS[0], nbest=3)
    trees = [output.tree for output in outputs]
    assert trees
    assert {Template.from_tree(tree, None, SUBWORDS.labels) for tree in trees if tree is not None} <= shapes


def test_no_infill_is_much_longer_than_the_drafts(generator: Generator) -> None:
    endless = random_model(SUBWORDS, 3, seq2seq_objective=True, output_bias=True)
    with torch.no_grad():
        endless.output_bias[END] = 12.0
        endless.output_bias[PART_ID] = -12.0  # parts that never end by themselves
    options = SearchOptions(beam=6, num_plans=3)
    request = next(generator.scheduler().run(requests(Generator(TorchRuntime(endless), SUBWORDS, options), options)))
    assert request.longest is not None
    assert request.longest < options.max_tokens
    assert all(len(before.infill) <= request.longest + 64 for each in request.beam for before in each.history())


def test_where_no_text_fits_the_shapes_the_source_is_returned(generator: Generator) -> None:
    (request,) = requests(generator, OPTIONS)
    request.follow(None, 0, 9)
    assert request.longest is None
    request.longest, request.beam = 9, []
    request.settle()
    (output,) = generator.outputs(request, Steering())  # type: ignore[misc]
    assert (output.text, output.note) == (TEXTS[0], RETURNED_UNCHANGED)
    (strict,) = requests(generator, OPTIONS.changed({"forbid_copy": True, "copy_fallback": False}))
    strict.longest, strict.beam = 9, []
    strict.settle()
    assert "repeats the source" in str(generator.outputs(strict, Steering()))


def test_neighbours_change_nothing(generator: Generator) -> None:
    together = [[output.text for output in outputs] for outputs in generator.stream(TEXTS, nbest=3)]  # type: ignore[union-attr]
    alone = [[output.text for output in next(iter(generator.stream([text], nbest=3)))] for text in TEXTS]  # type: ignore[union-attr]
    assert together == alone


def test_what_is_steered_is_not_planned(generator: Generator) -> None:
    free = SearchOptions(beam=6, max_tokens=14)
    unplanned = Generator(generator.runtime, SUBWORDS, free)
    for steering in ({"template": "(NP *)", "control": "hard"}, {"start": "<NP> ."}, {"must": ["mistake"]}):
        planned = generator(TEXTS[1], **steering)  # type: ignore[arg-type]
        assert [output.text for output in planned] == [output.text for output in unplanned(TEXTS[1], **steering)]  # type: ignore[arg-type]


def test_a_model_that_writes_no_drafts_is_refused() -> None:
    unable = Generator(TorchRuntime(random_model(SUBWORDS, 3)), SUBWORDS, OPTIONS)
    with pytest.raises(ConfigError, match="use num_plans=0, or a model trained with seq2seq_objective=true"):
        unable(TEXTS[0])


def test_several_texts_have_more_shapes() -> None:
    assert OPTIONS.for_texts(1, {}).num_plans == 3
    several = OPTIONS.for_texts(5, {})
    assert (several.num_plans, several.beam) == (7, 14)
    assert OPTIONS.for_texts(5, {"num_plans": 5}).num_plans == 5


def test_shapes_share_the_beam(generator: Generator) -> None:
    for beam, shapes, share in ((6, 3, 2), (7, 3, 2), (2, 3, 1), (1, 3, 1)):
        (request,) = requests(generator, OPTIONS.changed({"beam": beam}))
        (done,) = generator.scheduler().run([request])
        assert 1 <= done.plans <= min(shapes, beam)
        assert done.options.beam == max(1, beam // done.plans) >= share
        assert len(done.beam) <= beam


def test_a_context_of_several_plans_is_shown_once() -> None:
    def hypothesis(ids: list[int], plan: int) -> Hypothesis:
        zeros = [0] * len(ids)
        return Hypothesis(AnnotatedContext(ids, zeros, zeros, zeros), 0.0, 1, plan=plan)

    beam = [hypothesis([7], 0), hypothesis([8], 1), hypothesis([7], 2)]
    shown, places = merge(beam, 3)
    assert shown == beam[:2]
    assert [places[each] for each in beam] == [0, 1, 0]
    assert merge(beam, 1) == (beam, {beam[0]: 0, beam[1]: 1, beam[2]: 2})


def test_an_explanation_joins_the_plans(generator: Generator) -> None:
    explanation = explain(generator, TEXTS[0])
    first = [node for node in explanation.depths[0] if node.kept]
    assert len({node.context for node in first}) == len(first)
    assert all(sum(node.winner for node in depth) == 1 for depth in explanation.depths)
    assert np.isfinite(explanation.outputs[0].score)
