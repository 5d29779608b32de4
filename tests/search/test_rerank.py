from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from search_models import TEXTS, random_model
from syntagma.runtime.base import Capabilities, score_texts
from syntagma.runtime.torch import TorchRuntime
from syntagma.search import Generator, SearchOptions
from syntagma.search.explain import explain
from syntagma.search.request import RETURNED_UNCHANGED, SearchRequest
from syntagma.search.rerank import check_rerank, new_pairs, rerank
from syntagma.text import Subwords, split

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)


def reranked(**options: Any) -> Generator:
    settings = {"beam": 4, "max_depth": 5, "max_tokens": 14, "rerank": "seq2seq", "channel_weight": 0.5} | options
    return Generator(
        TorchRuntime(random_model(SUBWORDS, 3, seq2seq_objective=True)), SUBWORDS, SearchOptions.from_dict(settings)
    )


def faithfulness(generator: Generator, source: str, text: str) -> float:
    ids, copy = tuple(SUBWORDS.encode(text)), tuple(SUBWORDS.encode(source))
    forth, back = score_texts(generator.runtime, [(copy, ids), (ids, copy)])
    return forth / len(ids) + 0.5 * back / len(copy)


@pytest.mark.parametrize("text", TEXTS)
def test_texts_far_less_faithful_than_the_source_or_far_worse_than_the_best_are_left_out(text: str) -> None:
    free = reranked()(text, nbest=4)
    copy = faithfulness(reranked(), text, text)
    losses = sorted(copy - faithfulness(reranked(), text, output.text) for output in free)
    margin = max(1e-3, (losses[0] + losses[-1]) / 2)
    kept = reranked(copy_margin=margin)(text, nbest=4)
    good = [output for output in free if copy - faithfulness(reranked(), text, output.text) <= margin]
    best = max(output.rank_score or 0.0 for output in free)
    expected = [output.text for output in good if best - (output.rank_score or 0.0) <= margin]
    assert [output.text for output in kept] == (expected or [text])


@pytest.fixture
def nothing_is_faithful(monkeypatch: pytest.MonkeyPatch) -> None:
    def only_the_source(ids: tuple[int, ...], request: SearchRequest, scores: object) -> float:
        return 0.0 if ids == request.source_as_target else -9.0

    monkeypatch.setattr("syntagma.search.rerank._faithfulness", only_the_source)


@pytest.mark.usefixtures("nothing_is_faithful")
def test_where_none_is_left_the_source_is_returned_unchanged_with_a_note() -> None:
    (output,) = reranked(copy_margin=1.0)(TEXTS[0], nbest=4)
    assert (output.text, output.note, output.levels[0]) == (TEXTS[0], RETURNED_UNCHANGED, "<T>")
    assert output.tree is not None
    assert tuple(output.tree.words()) == split(TEXTS[0]).texts()


@pytest.mark.usefixtures("nothing_is_faithful")
def test_a_growth_and_an_explanation_return_it_too_until_the_user_steps_in() -> None:
    generator = reranked(copy_margin=1.0)
    (output,) = generator.grow(TEXTS[0]).finish()
    assert (output.text, output.note) == (TEXTS[0], RETURNED_UNCHANGED)
    assert f"Note: {RETURNED_UNCHANGED}." in explain(generator, TEXTS[0]).to_html()
    assert [output.note for output in generator.grow(TEXTS[0]).forbid(words=["xyz"]).finish()] != [RETURNED_UNCHANGED]


@pytest.mark.usefixtures("nothing_is_faithful")
def test_a_user_who_forbids_copies_gets_none() -> None:
    for text in TEXTS:
        (output, *_) = reranked(copy_margin=1.0)(text, forbid_copy=True)
        assert output.text != text


@pytest.mark.usefixtures("nothing_is_faithful")
def test_what_a_user_steers_is_never_left_out() -> None:
    generator = reranked(copy_margin=1.0)
    assert generator(TEXTS[0], start="<NP> <VP> ?")[0].text != TEXTS[0]
    assert "apple" in generator(TEXTS[1], must=["apple"])[0].text
    assert generator.grow(TEXTS[0]).replace(0, "<NP> <VP> ?").finish()[0].text != TEXTS[0]


@pytest.mark.parametrize("text", TEXTS)
def test_novelty_prefers_what_differs_from_the_source(text: str) -> None:
    source = tuple(SUBWORDS.encode(text))
    outputs = reranked(novelty_weight=1000.0)(text, nbest=4)
    shares = [new_pairs(tuple(SUBWORDS.encode(output.text)), source) for output in outputs]
    assert len(shares) > 1
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize(("by", "finished"), [("none", True), ("joint", False)])
def test_what_is_not_reranked_is_only_put_in_order(by: str, finished: bool) -> None:
    orders: list[dict[Any, float]] = []
    request: Any = SimpleNamespace(
        options=SearchOptions.from_dict({"rerank": by}), finished=finished, beam=["a text"], order=orders.append
    )
    rerank([request], reranked().runtime)
    assert orders == [{}]


def test_joint_reranking_needs_no_model_that_writes_whole_texts() -> None:
    check_rerank(SearchOptions.from_dict({"rerank": "joint"}), Capabilities(True, scores_texts=False), False)
