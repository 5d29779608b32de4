from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from search_models import TEXTS, random_model
from syntagma.errors import ConfigError
from syntagma.network.contexts import AnnotatedContext
from syntagma.runtime.base import WordSet, score_texts
from syntagma.runtime.torch import TorchRuntime
from syntagma.search import Generator, SearchOptions
from syntagma.search.constraints.base import Allowed, KnownInfill
from syntagma.search.constraints.budget import WordBudgetConstraint, Written
from syntagma.search.constraints.case import CaseConstraint
from syntagma.search.constraints.draft import DraftConstraint
from syntagma.search.constraints.grammar import InfillState
from syntagma.search.constraints.lexical import LexicalConstraint
from syntagma.search.drafts import Draft, DraftRules, write_drafts
from syntagma.search.explain import explain
from syntagma.search.hypothesis import Hypothesis, merge
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


def ids_of(drafts: list[list[Draft]]) -> list[list[tuple[int, ...]]]:
    return [[draft.ids for draft in own] for own in drafts]


def drafts_of(generator: Generator, texts: list[str], count: int) -> list[list[tuple[int, ...]]]:
    sources = generator.runtime.encode([SUBWORDS.encode(text) for text in texts])
    return ids_of(write_drafts(generator.runtime, sources, [count] * len(texts), [12] * len(texts)))


def requests(generator: Generator, options: SearchOptions, nbest: int = 1) -> list[SearchRequest]:
    return [generator.request(0, TEXTS[0], Steering(), options, nbest, plan=True)]


def test_drafts_begin_differently_and_hold_words_only(generator: Generator) -> None:
    (drafts,) = drafts_of(generator, TEXTS[:1], 6)
    assert drafts
    assert len({ids[:2] for ids in drafts}) == len(drafts) <= 6
    assert max(Counter(ids[0] for ids in drafts).values()) == 2
    controls = set(generator.config.controls)
    assert all(controls.isdisjoint(ids) and len(ids) <= 12 for ids in drafts)


def test_drafts_keep_within_the_budget_of_their_words(generator: Generator) -> None:
    free = drafts_of(generator, TEXTS, 6)
    spent = frozenset({free[0][0][1]})  # a token that follows another, which no budget of words would know

    class Budget(WordBudgetConstraint):
        def advance(self, state: Written, token: int) -> Written:
            return state._replace(spent=spent)

    sources = generator.runtime.encode([SUBWORDS.encode(text) for text in TEXTS])
    rules = [DraftRules(Budget("", SUBWORDS)), DraftRules(), DraftRules()]
    drafts = ids_of(write_drafts(generator.runtime, sources, [6] * 3, [12] * 3, rules))
    assert drafts[1:] == free[1:]
    assert drafts[0] != free[0]
    assert not any(spent & set(ids[1:]) for ids in drafts[0])


def test_drafts_begin_with_a_capital_where_the_text_must(generator: Generator) -> None:
    source = generator.runtime.encode([SUBWORDS.encode(TEXTS[0])])

    class Capitals(CaseConstraint):
        def may_begin(self, first: int) -> bool:
            return first % 2 == 0

    (drafts,) = ids_of(write_drafts(generator.runtime, source, [6], [12], [DraftRules(case=Capitals(SUBWORDS))]))
    (free,) = drafts_of(generator, TEXTS[:1], 11)  # and the end makes twelve
    assert drafts
    assert [ids for ids in drafts if ids[0] % 2] == []
    assert {ids for ids in free if ids[0] % 2 == 0} <= set(drafts)


def test_a_draft_is_as_likely_as_its_text_scored_in_one_go(generator: Generator) -> None:
    source = SUBWORDS.encode(TEXTS[0])
    (drafts,) = write_drafts(generator.runtime, generator.runtime.encode([source]), [4], [12])
    scores = score_texts(generator.runtime, [(source, draft.ids) for draft in drafts])
    assert [draft.log_probability for draft in drafts] == pytest.approx(scores, abs=1e-4)
    options = OPTIONS.changed({"rerank": "seq2seq", "num_drafts": 6})
    (request,) = generator.scheduler().run(requests(generator, options))
    assert request.known_scores
    assert set(request.rank_scores) == set(request.beam)


def test_drafts_do_not_depend_on_their_neighbours(generator: Generator) -> None:
    together = drafts_of(generator, TEXTS, 4)
    assert together == [drafts_of(generator, [text], 4)[0] for text in TEXTS]


def test_texts_grow_in_the_shapes_of_drafts(generator: Generator) -> None:
    (drafts,) = drafts_of(generator, TEXTS[:1], 10)  # two for each of the shapes that three texts have
    steerer = generator._steerer
    shapes = set(steerer.exemplar_shapes([(SUBWORDS.decode(ids), None) for ids in drafts]))
    outputs = generator(TEXTS[0], nbest=3)
    trees = [output.tree for output in outputs]
    assert trees
    assert {Template.from_tree(tree, None, SUBWORDS.labels) for tree in trees if tree is not None} <= shapes


def test_drafts_compete_with_what_grows_in_their_shapes(generator: Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    written = [tuple(SUBWORDS.encode(text)) for text in TEXTS]
    drafts = [Draft(ids, -1.0) for ids in written]
    monkeypatch.setattr("syntagma.search.plan.write_drafts", lambda *rest: [drafts])
    (plain,) = generator.scheduler().run(requests(generator, OPTIONS))
    (request,) = generator.scheduler().run(requests(generator, OPTIONS.changed({"num_drafts": 6}), nbest=2))
    assert request.plans == plain.plans + len(TEXTS)
    kept = [each for each in request.beam if each.plan >= plain.plans]
    assert {each.ids for each in kept} <= set(written)
    assert len(kept) == len(TEXTS)
    assert [each.ids for each in request.beam if each.plan < plain.plans] == [each.ids for each in plain.beam]
    for each in kept:  # scored as what is grown is
        parts = [part for level in each.history()[1:] for part in level.part_scores]
        assert sum(parts) == pytest.approx(each.log_probability, abs=1e-3)
    outputs = generator.outputs(request, Steering())
    assert all(output.tree is not None for output in outputs)  # type: ignore[union-attr]


def step_by_step(generator: Generator, request: SearchRequest, monkeypatch: pytest.MonkeyPatch) -> SearchRequest:
    """The same request where drafts are written token by token."""
    with monkeypatch.context() as patch:
        patch.setattr(DraftConstraint, "known", lambda self, state: None)
        (done,) = generator.scheduler().run([request])
    return done


def test_drafts_score_in_one_step_what_they_score_token_by_token(
    generator: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts = [Draft(tuple(SUBWORDS.encode(text)), -1.0) for text in TEXTS]
    monkeypatch.setattr("syntagma.search.plan.write_drafts", lambda *rest: [drafts])
    options = OPTIONS.changed({"num_plans": 0, "num_drafts": 3})
    (fast,) = generator.scheduler().run(requests(generator, options))
    (plain,) = requests(generator, options)
    step_by_step(generator, plain, monkeypatch)
    assert 1 < len(fast.beam) <= fast.plans <= 3
    assert [each.ids for each in fast.beam] == [each.ids for each in plain.beam]
    for mine, other in zip(fast.beam, plain.beam, strict=True):
        assert mine.score == pytest.approx(other.score, abs=1e-4)
        levels = zip(mine.history()[1:], other.history()[1:], strict=True)
        assert all(one.part_scores == pytest.approx(two.part_scores, abs=1e-4) for one, two in levels)
    assert fast.row_steps < plain.row_steps / 3


def test_the_best_drafts_compete(generator: Generator) -> None:
    settings = {"num_plans": 0, "num_drafts": 6, "rerank": "seq2seq", "channel_weight": 0.5}
    (request,) = generator.scheduler().run(requests(generator, OPTIONS.changed(settings)))
    source = request.source
    worth = {
        ids: score / len(ids) + 0.5 * request.known_scores[ids, source] / len(source)
        for (read, ids), score in request.known_scores.items()
        if read == source and (ids, source) in request.known_scores
    }
    best = sorted(worth, key=lambda ids: -worth[ids])
    assert len(best) > 2
    assert {each.ids for each in request.beam} <= set(best[:2])
    for each in request.beam:
        tree = (each.log_probability - request.known_scores[source, each.ids]) / 2 / len(each.ids)
        assert request.rank_scores[each] == pytest.approx(worth[each.ids] + tree)


def test_a_shape_is_grown_in_where_no_draft_holds_what_must_stay(
    generator: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, lost = (Draft(tuple(SUBWORDS.encode(text)), -1.0) for text in TEXTS[:2])
    options = OPTIONS.changed({"num_plans": 0, "num_drafts": 2})
    for drafts, held in (([kept, lost], 1), ([lost], 0)):
        monkeypatch.setattr("syntagma.search.plan.write_drafts", lambda *rest, drafts=drafts: [drafts])
        (request,) = requests(generator, options)
        request.lexical = LexicalConstraint.of(SUBWORDS, ["apple"])
        (done,) = generator.scheduler().run([request])
        assert done.plans == 1
        assert all("apple" in SUBWORDS.decode(each.ids) for each in done.beam)
        assert [each.ids for each in done.beam if each.ids == kept.ids] == [kept.ids] * held


def test_something_grows_where_the_source_may_not_come_back(
    generator: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts = [Draft(tuple(SUBWORDS.encode(TEXTS[0])), -1.0)]
    monkeypatch.setattr("syntagma.search.plan.write_drafts", lambda *rest: [drafts])
    options = OPTIONS.changed({"num_plans": 0, "num_drafts": 2, "forbid_copy": True})
    (only,) = generator.scheduler().run(requests(generator, options))
    assert only.plans == 1
    (request,) = generator.scheduler().run(requests(generator, options.changed({"copy_fallback": False})))
    assert request.plans == 2


def test_a_draft_is_lost_where_another_constraint_forbids_its_words(generator: Generator) -> None:
    first, second, third = (token for token in SUBWORDS.encode(TEXTS[0])[:3])
    constraint = DraftConstraint([[KnownInfill((PART_ID, first, END), (0.0, 0.0, 0.0))]], 2, generator.grammar)
    every = WordSet(np.array([first, second]))

    def allowed(kinds: int = 15, **changes: list[int] | None) -> Allowed:
        made = Allowed(kinds, every, InfillState(0, 1, 9, True))
        for name, value in changes.items():
            setattr(made, name, value)
        return made

    cases = [
        ((first, END), allowed(), first),
        ((END,), allowed(), END),
        ((third, END), allowed(), None),
        ((first, END), allowed(denied=[first]), None),
        ((first, END), allowed(kinds=8), None),
        ((), allowed(), None),
    ]
    for state, each, expected in cases:
        constraint.mask(KnownInfill(state, (0.0,) * len(state)), each)
        assert (each.only, each.kinds == 0) == (expected, expected is None)
    assert constraint.advance(KnownInfill((first, END), (-1.0, -2.0)), first) == ((END,), (-2.0,))


def test_literals_leave_as_many_texts_as_all_plans_found(generator: Generator) -> None:
    (request,) = requests(generator, OPTIONS)
    (done,) = generator.scheduler().run([request])
    text = SUBWORDS.decode(done.beam[0].ids)
    word = split(text).words[0].text
    lexical = LexicalConstraint.of(SUBWORDS, [word])
    held = sum(word in SUBWORDS.decode(each.ids) for each in done.beam)
    (asked,) = requests(generator, OPTIONS)
    asked.lexical, asked.required.first_pass = lexical, True
    (found,) = generator.scheduler().run([asked])
    assert len(found.beam) >= min(held, 3)


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
    request.follow([], 0, 0, 9)
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


@pytest.mark.parametrize("changes", [{"num_plans": 3}, {"num_plans": 0, "num_drafts": 2}])
def test_a_model_that_writes_no_drafts_is_refused(changes: dict[str, int]) -> None:
    unable = Generator(TorchRuntime(random_model(SUBWORDS, 3)), SUBWORDS, OPTIONS.changed(changes))
    with pytest.raises(
        ConfigError, match="use num_plans=0 and num_drafts=0, or a model trained with seq2seq_objective"
    ):
        unable(TEXTS[0])


def test_several_texts_have_more_shapes() -> None:
    assert OPTIONS.for_texts(1, {}).num_plans == 3
    several = OPTIONS.for_texts(5, {})
    assert (several.num_plans, several.beam) == (7, 14)
    assert OPTIONS.for_texts(5, {"num_plans": 5}).num_plans == 5
    drafting = SearchOptions(beam=3, num_drafts=12)
    assert drafting.for_texts(1, {}) == drafting
    assert (drafting.for_texts(5, {}).num_drafts, drafting.for_texts(5, {}).beam) == (30, 5)
    assert drafting.for_texts(5, {"num_drafts": 6}).num_drafts == 6


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
