from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from search_models import TEXTS, random_generator, random_model
from syntagma import levels
from syntagma.errors import ConfigError, LabelError, SyntagmaError
from syntagma.hub import bundled
from syntagma.levels import Label, MalformedInfill, expand, read_tokens, show
from syntagma.network.batch import Example, make_batch
from syntagma.network.config import Architecture
from syntagma.network.contexts import AnnotatedContext
from syntagma.network.convert.authors import convert
from syntagma.network.network import Network
from syntagma.runtime.base import Mask
from syntagma.runtime.torch import TorchRuntime
from syntagma.search import Generator, Output, SearchOptions, Steering
from syntagma.search.constraints.copy import CopyConstraint
from syntagma.search.constraints.grammar import (
    END,
    LABELS,
    PART,
    WORDS,
    BracketState,
    FreeState,
    InfillState,
    TokenKind,
)
from syntagma.search.hypothesis import Hypothesis, Infill
from syntagma.search.request import SearchRequest
from syntagma.search.rerank import rerank
from syntagma.search.result import bracketed
from syntagma.search.selection import diverse
from syntagma.template import Template, TemplateError
from syntagma.text import Subwords, Word, split
from syntagma.tree import Tree

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)


def check(output: Output) -> None:
    """The output is finished, its levels follow from each other, and its tree is theirs."""
    assert output.tree is not None
    context = output.trace[0].context
    for level in output.trace:
        assert level.context == context
        grown = expand(level.context, level.infill)
        assert not isinstance(grown, MalformedInfill)
        context = grown
    assert all(isinstance(token, str) for token in context)
    assert output.tree.words() == context
    assert "<" not in str(Tree.read(str(output.tree)).label)


class SearchWork(NamedTuple):
    """What searching with some options cost and found: contexts and scores of each text."""

    row_steps: int
    beams: list[list[tuple[list[int], float]]]


def work_of(reference: Path, **options: Any) -> SearchWork:
    generator = authors_generator(reference, **{"beam": 4, "score": "sum"} | options)
    sources = (reference / "toy.src").read_text().splitlines()[:4]
    scheduler = generator.scheduler()
    requests = [generator.request(n, text, Steering(), generator.defaults) for n, text in enumerate(sources)]
    done = sorted(scheduler.run(requests), key=lambda request: request.number)
    beams = [[(list(found.context.ids), round(found.score, 4)) for found in one.beam] for one in done]
    return SearchWork(scheduler.row_steps, beams)


def search(generator: Generator, text: str, **options: Any) -> list[Hypothesis]:
    """The final beam."""
    request = generator.request(0, text, Steering(), generator.defaults.changed(options))
    (done,) = generator.scheduler().run([request])
    return done.beam


def whole_score(network: Network, text: str, hypothesis: Hypothesis) -> float:
    """The log-probability of all that a hypothesis has written, by the network's forward pass."""
    config = network.config
    levels = [
        (list(one.parent.context.ids), list(one.infill)) for one in hypothesis.history() if one.parent is not None
    ]
    example = Example(SUBWORDS.encode(text), levels)
    with torch.inference_mode():
        return float(network.token_scores(make_batch([example], config)).sum())


class TestWellFormed:
    @pytest.mark.parametrize("architecture", ["extra-encoder", "extra-attention", "concat"])
    @pytest.mark.parametrize("score", ["sum", "mean"])
    def test_an_untrained_model_writes_only_trees(self, architecture: Architecture, score: str) -> None:
        for seed in range(6):
            network = random_model(SUBWORDS, seed, architecture, copy=bool(seed % 2), label_index=True, history=True)
            options = SearchOptions.from_dict({"beam": 1 + seed % 3, "score": score, "max_depth": 4, "max_tokens": 12})
            for found in Generator(TorchRuntime(network), SUBWORDS, options).stream(TEXTS):
                assert isinstance(found, list)
                assert 1 <= len(found) <= options.beam
                for output in found:
                    check(output)

    def test_thousands_of_random_contexts_get_well_formed_infills(self) -> None:
        chance = random.Random(1)
        network = random_model(SUBWORDS, 3)
        config = network.config
        words = [at for at in range(SUBWORDS.size) if SUBWORDS.is_word(at)]
        options = SearchOptions(beam=1, max_tokens=20, max_depth=1)
        requests = []
        for number in range(2000):
            labels = chance.choices(config.labels[1:], k=chance.randint(1, 5))
            context = labels + chance.choices(words, k=chance.randint(0, 6))
            chance.shuffle(context)
            start = Hypothesis(AnnotatedContext.plain(context, config), 0.0, chance.choice([0, 1]))
            requests.append(SearchRequest(number, tuple(chance.choices(words, k=4)), options, config, start))
        scheduler = Generator(TorchRuntime(network), SUBWORDS).scheduler(batch=400)
        open_labels = set(config.labels)
        done = 0
        for request in scheduler.run(requests):
            for first, second in zip(request.beam[0].history(), request.beam[0].history()[1:], strict=False):
                parts = sum(token in open_labels for token in first.context.ids)
                grown = expand(first.context.ids, second.infill, lambda token: token in open_labels, config.part)
                assert not isinstance(grown, MalformedInfill)
                assert second.infill.count(config.part) == parts
                assert list(grown) == second.context.ids
                if first.depth == options.max_depth:
                    assert not open_labels & set(second.infill)
            done += 1
        assert done == 2000

    @given(st.integers(2, 40), st.randoms())
    def test_brackets_always_close_within_their_tokens(self, tokens: int, chance: random.Random) -> None:
        state = BracketState(0, True, tokens)
        written = 0
        while True:
            kind = chance.choice([int(kind) for kind in TokenKind if kind & state.kinds])
            written += 1
            if kind == END:
                break
            state = state.after(kind)
            assert state.open_brackets >= 0
        assert state.open_brackets == 0
        assert written <= tokens

    @given(st.integers(2, 40), st.randoms())
    def test_free_brackets_end_within_their_tokens_and_are_read_as_a_tree(
        self, tokens: int, chance: random.Random
    ) -> None:
        state, written = FreeState(0, tokens), []
        while True:
            kind = chance.choice([int(kind) for kind in TokenKind if kind & state.kinds])
            if kind == END:
                break
            written.append({WORDS: Word("a"), LABELS: Label("NP"), PART: levels.PART}[kind])
            state = state.after(kind)
        assert len(written) < tokens
        assert FreeState(1, tokens).kinds & WORDS  # to the last token but the end
        tree = bracketed(written)
        words = sum(isinstance(token, Word) for token in written)
        assert sum(word == "a" for word in tree.words()) == words
        assert tree.walk.count("(NP") == sum(isinstance(token, Label) for token in written)

    @given(st.integers(1, 6), st.integers(1, 40), st.booleans(), st.randoms())
    def test_the_grammar_always_ends_within_its_tokens(
        self, parts: int, tokens: int, labels: bool, chance: random.Random
    ) -> None:
        state = InfillState.start(parts, tokens, labels)
        written = 0
        while True:
            kind = chance.choice([int(kind) for kind in TokenKind if kind & state.kinds])
            written += 1
            if kind == END:
                break
            state = state.after(kind)
        assert state.parts_left == 0
        assert written <= max(tokens, 2 * parts + 1)


def test_what_is_finished_leaves_at_once() -> None:
    """Others go on, and their next depth is not waited for."""
    generator = random_generator(SUBWORDS, beam=2)
    scheduler = generator.scheduler()
    brief = generator.defaults.changed({"max_tokens": 3})
    requests = [
        generator.request(number, TEXTS[0], Steering(), generator.defaults if number else brief) for number in range(9)
    ]
    requests[0].levels = 1  # over after its first depth, which the others take longer for
    scheduler.add(requests)
    while not requests[0].tasks or any(task.grown is None for task in requests[0].tasks):
        assert not scheduler.step()
    assert all(task.grown is None for request in requests[1:] for task in request.tasks)
    assert scheduler.step() == requests[:1]


def allowed_ids(generator: Generator, state: InfillState, tokens: tuple[int, ...]) -> list[int]:
    """What the grammar of infills lets follow, and what keeps characters whole, spelled out."""
    config, found = generator.config, []
    written = b"".join(SUBWORDS.piece(token) for token in tokens)
    half = written.decode("utf-8", errors="ignore").encode() != written
    for token in range(config.vocabulary):
        piece = SUBWORDS.piece(token)
        if SUBWORDS.is_word(token):
            whole = b"".join(SUBWORDS.piece(one) for one in (*tokens, token))
            text = any(not _has_error(whole + rest) for rest in RESTS)
            found += [token] if (state.kinds & WORDS or half) and text else []
        elif half or piece:
            continue
        elif token in config.labels[1:]:
            found += [token] if state.kinds & LABELS else []
        elif token in (config.part, config.end):
            found += [token] if state.kinds & (PART if token == config.part else END) else []
    return found


RESTS = [b"", b"\x80", b"\xa0", b"\x90", b"\x80\x80", b"\xa0\x80", b"\x90\x80", b"\x80\x80\x80", b"\x90\x80\x80"]
"""What makes any beginning of a character a whole one."""


def _has_error(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def plain_search(generator: Generator, text: str, options: SearchOptions) -> list[tuple[list[int], float]]:
    """Algorithms 1 and 2 as the paper writes them: one context at a time, nothing shared, nothing pruned."""
    runtime, config = generator.runtime, generator.config
    (encoded,) = runtime.encode([generator.vocabulary.encode(text)])
    everything = Mask(np.ones((1, len(config.controls)), np.bool_), [None])
    beam = [(0.0, AnnotatedContext.plain([config.labels[0]], config))]
    for depth in range(1, options.max_depth + 1):
        pool = {}
        for score, context in beam:
            parts = sum(token in config.labels for token in context.ids)
            if not parts:
                pool[tuple(context.ids)] = max(
                    (score, context), pool.get(tuple(context.ids), (score, context)), key=lambda p: p[0]
                )
                continue
            first = InfillState.start(parts, options.max_tokens, depth < options.max_depth)
            inner: list[tuple[float, tuple[int, ...], InfillState]] = [(0.0, (), first)]
            while any(not tokens or tokens[-1] != config.end for _, tokens, _ in inner):
                ways = []
                for value, tokens, state in inner:
                    if tokens and tokens[-1] == config.end:
                        ways.append((value, tokens, state))
                        continue
                    opened = runtime.open([encoded], [context])
                    fed = np.array([[config.start, *tokens]])
                    step = runtime.step(opened, np.array([0]), fed, everything, config.vocabulary)
                    scores = dict(zip(step.tokens[0].tolist(), step.scores[0].tolist(), strict=True))
                    ids = sorted(allowed_ids(generator, state, tokens), key=lambda token: -scores[token])
                    for token in ids[: options.beam + 1]:
                        kind = generator.grammar.kind(token)
                        ways.append((value + scores[token], (*tokens, token), state.after(kind)))
                inner = sorted(ways, key=lambda way: -way[0])[: options.beam]
            for value, tokens, _ in inner:
                grown = context.expand(tokens[:-1], depth + 1, config)
                total = options.alpha * score + (1 - options.alpha) * value
                key = tuple(grown.ids)
                if key not in pool or pool[key][0] < total:
                    pool[key] = (total, grown)
        beam = sorted(pool.values(), key=lambda pair: -pair[0])[: options.beam]
    return [(context.ids, score) for score, context in beam]


def authors_generator(reference: Path, **options: Any) -> Generator:
    """The authors' small checkpoint, which knows ten sentences by heart."""
    files = (reference / name for name in ("tiny_checkpoint.pt", "tiny_dict.txt", "tiny_bpe.codes"))
    network, vocabulary = convert(*files)
    return Generator(TorchRuntime(network), vocabulary, SearchOptions.from_dict(options))


class TestAlgorithm:
    @pytest.mark.parametrize("others", [[], [-1.0]])
    def test_copies_are_left_out_where_there_is_something_else(self, others: list[float]) -> None:
        generator = random_generator(SUBWORDS, 5)
        for forbid_copy in (False, True):
            options = generator.defaults.changed({"forbid_copy": forbid_copy})
            request = generator.request(0, TEXTS[0], Steering(), options)
            (task,) = request.next_tasks()
            part, other = request.config.part, SUBWORDS.encode(TEXTS[1])
            found = [Infill((part, *request.source), -0.1, -0.1)]
            found += [Infill((part, *other), score, score) for score in others]
            assert request.complete(task, found)
            assert not request.next_tasks()
            texts = [SUBWORDS.decode(hypothesis.context.ids) for hypothesis in request.beam]
            assert texts == ([TEXTS[1]] if forbid_copy and others else [TEXTS[0]] + [TEXTS[1]] * len(others))

    def test_greedy_traces_equal_the_authors(self, reference: Path) -> None:
        generator = authors_generator(reference, beam=1, score="mean", first_level="plain")
        sources = (reference / "toy.src").read_text().splitlines()
        traces = [json.loads(line) for line in (reference / "tiny_trace.beam1.jsonl").read_text().splitlines()]
        for trace, found in zip(traces, generator.stream(sources, batch=3), strict=True):
            assert isinstance(found, list)
            theirs = [level[0]["cands"][0] for level in trace["levels"]]
            assert [level.infill_score for level in found[0].trace] == pytest.approx(
                [c["score"] for c in theirs], abs=1e-4
            )
            assert found[0].score == pytest.approx(trace["hyps"][0][0]["score"], abs=1e-4)
            assert " ".join(found[0].tree.words() if found[0].tree else ()) == trace["hyps"][0][0]["text"].replace(
                "@@ ", ""
            )

    @pytest.mark.parametrize("seed", range(4))
    def test_equals_the_plain_algorithm(self, seed: int) -> None:
        generator = random_generator(SUBWORDS, seed, beam=3, max_depth=4, max_tokens=8)
        options = generator.defaults
        with torch.inference_mode():
            plain = plain_search(generator, TEXTS[seed % 3], options)
        for bounds in (True, False):
            (found,) = generator.stream([TEXTS[seed % 3]], options=options.changed({"bounds": bounds}))
            assert isinstance(found, list)
            assert [output.score for output in found] == pytest.approx([score for _, score in plain], abs=1e-4)
            assert [output.text for output in found] == [generator.vocabulary.decode(ids) for ids, _ in plain]

    @given(st.integers(0, 50), st.integers(1, 4), st.sampled_from(["sum", "mean"]), st.permutations(range(5)))
    @settings(max_examples=12)
    def test_batch_order_and_bounds_change_nothing(self, seed: int, beam: int, score: str, order: list[int]) -> None:
        generator = random_generator(SUBWORDS, seed, beam=beam, score=score)
        texts = [*TEXTS, "I", "an apple"]
        alone = [next(generator.stream([text], batch=1)) for text in texts]
        shuffled = list(generator.stream([texts[at] for at in order], batch=3))
        unbounded = list(generator.stream(texts, batch=5, options=generator.defaults.changed({"bounds": False})))
        for at, found in zip(order, shuffled, strict=True):
            for other in (alone[at], unbounded[at]):
                assert isinstance(found, list)
                assert isinstance(other, list)
                assert [output.text for output in found] == [output.text for output in other]
                assert [output.score for output in found] == pytest.approx([output.score for output in other], abs=1e-4)

    def test_bounds_save_work_and_change_nothing_on_a_trained_model(self, reference: Path) -> None:
        with_bounds, without = (work_of(reference, bounds=bounds) for bounds in (True, False))
        assert with_bounds.beams == without.beams
        assert with_bounds.row_steps < 0.9 * without.row_steps

    @pytest.mark.parametrize("score", ["sum", "mean"])
    def test_pruning_saves_work(self, reference: Path, score: str) -> None:
        exact, wide, narrow = (work_of(reference, prune=prune, score=score) for prune in (0.0, 1e6, 2.0))
        assert exact == wide
        assert narrow.row_steps < 0.9 * exact.row_steps
        assert all(found and found[0][1] <= best[0][1] for found, best in zip(narrow.beams, exact.beams, strict=True))

    @pytest.mark.parametrize("architecture", ["extra-encoder", "seq2seq"])
    @pytest.mark.parametrize("score", ["sum", "mean"])
    def test_joint_reranking_orders_what_the_search_found(self, architecture: Architecture, score: str) -> None:
        """By the log-probability of all tokens, which the network gives for the whole trace, for each subword."""
        orders = []
        for seed in range(4):
            network = random_model(SUBWORDS, seed, architecture)
            with torch.no_grad():  # so that texts grow several levels, and to different lengths
                network.embedding.weight[[network.config.end, *network.config.labels[1:]]] *= 3.0
            options = SearchOptions.from_dict({"beam": 6, "max_depth": 4, "max_tokens": 12, "score": score})
            generator = Generator(TorchRuntime(network), SUBWORDS, options)
            plain = search(generator, TEXTS[0])
            joint = search(generator, TEXTS[0], rerank="joint")
            assert sorted(one.context.ids for one in plain) == sorted(one.context.ids for one in joint)
            means = [whole_score(network, TEXTS[0], one) / len(one.context.ids) for one in joint]
            assert means == pytest.approx(sorted(means, reverse=True), abs=1e-5)
            orders.append([one.context.ids for one in plain] == [one.context.ids for one in joint])
        assert not (architecture == "extra-encoder" and all(orders))

    @pytest.mark.parametrize("architecture", ["extra-encoder", "extra-attention", "concat"])
    def test_seq2seq_reranking_orders_what_the_search_found(self, architecture: Architecture) -> None:
        """By the mean of the joint log-probability and of the text written in one go, whatever else is searched."""
        moved = 0
        for seed in range(4):
            network = random_model(SUBWORDS, seed, architecture, seq2seq_objective=True)
            with torch.no_grad():
                network.embedding.weight[[network.config.end, *network.config.labels[1:]]] *= 3.0
            options = SearchOptions.from_dict({"beam": 6, "max_depth": 4, "max_tokens": 12})
            generator = Generator(TorchRuntime(network), SUBWORDS, options)
            joint = search(generator, TEXTS[0], rerank="joint")
            found = search(generator, TEXTS[0], rerank="seq2seq")
            assert sorted(one.context.ids for one in joint) == sorted(one.context.ids for one in found)
            source, ends = SUBWORDS.encode(TEXTS[0]), (network.config.end,)
            worth = []
            for one in found:
                alone = make_batch([Example(source, [(ends, one.context.ids)])], network.config)
                opinion = network.token_scores(alone).sum().item()
                worth.append((whole_score(network, TEXTS[0], one) + opinion) / len(one.context.ids))
            assert worth == pytest.approx(sorted(worth, reverse=True), abs=1e-5)
            moved += [one.context.ids for one in joint] != [one.context.ids for one in found]
            together = list(generator.stream(TEXTS, options=options.changed({"rerank": "seq2seq"})))
            assert [one.text for one in together[0]] == [one.text for one in generator(TEXTS[0], rerank="seq2seq")]  # type: ignore[union-attr]
        assert moved

    @pytest.mark.parametrize("size", [40, 45])
    def test_texts_without_room_to_be_written_in_one_go_are_still_ordered(self, size: int) -> None:
        network = random_model(SUBWORDS, 1, seq2seq_objective=True, max_positions=40)
        options = SearchOptions(beam=2, max_depth=1, rerank="seq2seq", channel_weight=0.2)
        generator = Generator(TorchRuntime(network), SUBWORDS, options)
        request = generator.request(0, TEXTS[0], Steering(), options)
        (task,) = request.next_tasks()
        words = SUBWORDS.encode("apple")[:1]
        found = [Infill((request.config.part, *words * many), score, score) for many, score in ((size, -0.5), (3, -9))]
        assert request.complete(task, found)
        assert not request.next_tasks()
        rerank([request], generator.runtime)
        assert [len(one.ids) for one in request.beam] == [size, 3]

    @pytest.mark.parametrize("architecture", ["extra-encoder", "seq2seq"])
    def test_the_noisy_channel_counts(self, architecture: Architecture) -> None:
        """How likely the source is, written in one go from each text, for each of its subwords."""
        moved = 0
        for seed in range(4):
            guided = architecture != "seq2seq"
            network = random_model(SUBWORDS, seed, architecture, seq2seq_objective=guided)
            with torch.no_grad():
                network.embedding.weight[[network.config.end, *network.config.labels[1:]]] *= 3.0
            options = SearchOptions.from_dict({"beam": 6, "max_depth": 4, "max_tokens": 12, "rerank": "joint"})
            generator = Generator(TorchRuntime(network), SUBWORDS, options)
            joint, found = search(generator, TEXTS[0]), search(generator, TEXTS[0], channel_weight=5.0)
            assert sorted(one.context.ids for one in joint) == sorted(one.context.ids for one in found)
            source, empty = SUBWORDS.encode(TEXTS[0]), (network.config.end,) if guided else ()
            worth = []
            for one in found:
                returned = make_batch([Example(one.context.ids, [(empty, source)])], network.config)
                back = network.token_scores(returned).sum().item() / len(source)
                worth.append(whole_score(network, TEXTS[0], one) / len(one.context.ids) + 5.0 * back)
            assert worth == pytest.approx(sorted(worth, reverse=True), abs=1e-5)
            moved += [one.context.ids for one in joint] != [one.context.ids for one in found]
        assert moved

    def test_a_model_that_never_wrote_whole_texts_is_refused_at_once(self) -> None:
        for wish in ({"rerank": "seq2seq"}, {"rerank": "joint", "channel_weight": 1.0}):
            for architecture in ("extra-encoder", "linearised"):
                generator = Generator(TorchRuntime(random_model(SUBWORDS, 1, architecture)), SUBWORDS)
                with pytest.raises(ConfigError, match="has not learnt to write whole texts; use rerank=joint without"):
                    generator(TEXTS[0], **wish)
        with pytest.raises(ConfigError, match="'channel_weight' cannot be -1; give a number of at least 0"):
            SearchOptions(channel_weight=-1)

    def test_without_a_reranker_the_score_alone_decides(self) -> None:
        generator = Generator(
            TorchRuntime(random_model(SUBWORDS, 2)), SUBWORDS, SearchOptions(beam=4, max_depth=4, max_tokens=12)
        )
        assert [one.text for one in generator(TEXTS[0], channel_weight=5.0)] == [
            one.text for one in generator(TEXTS[0])
        ]

    def test_baselines_search_too(self) -> None:
        for architecture in ("seq2seq", "linearised"):
            network = random_model(SUBWORDS, 1, architecture)
            for score in ("sum", "mean"):
                options = SearchOptions.from_dict({"beam": 3, "max_tokens": 10, "score": score})
                found = Generator(TorchRuntime(network), SUBWORDS, options)(TEXTS[0])
                assert len(found) == 3
                for output in found:
                    assert (output.tree is None) == (architecture == "seq2seq")
                    assert output.tree is None or "".join(output.tree.words()) == "".join(output.text.split())
                assert [output.score for output in found] == sorted((o.score for o in found), reverse=True)


class TestSteering:
    @pytest.mark.parametrize(
        "template", ["(S (NP) (VP (NP)))", "(S (NP *) ... (PP))", "(T (NP) (VP))", "(S)", "S(VP(S(NP)))"]
    )
    def test_a_hard_template_is_guaranteed(self, template: str) -> None:
        for seed in range(3):
            generator = random_generator(SUBWORDS, seed, beam=2, max_depth=7)
            for output in generator(TEXTS[0], template=template, control="hard"):
                check(output)
                assert output.tree is not None
                assert Template.parse(template).matches_tree(output.tree)

    def test_a_soft_template_pulls_towards_its_shape(self) -> None:
        template = Template.parse("(S ...)")
        free = shaped = 0
        for seed in range(8):
            generator = random_generator(SUBWORDS, seed, beam=4)
            for reward, count in ((0.0, 0), (5.0, 1)):
                best = generator(TEXTS[0], template=template, reward=reward)[0]
                assert best.tree is not None
                if count:
                    shaped += best.trace[0].rewarded
                else:
                    free += template.matches_tree(best.tree)
        assert shaped >= free

    def test_the_reward_adds_up_in_the_trace(self) -> None:
        generator = random_generator(SUBWORDS, 2, beam=4)
        alpha = generator.defaults.alpha
        for output in generator(TEXTS[0], template="(S ...)", reward=0.5):
            before = 0.0
            for level in output.trace:
                expected = alpha * before + (1 - alpha) * level.infill_score + (0.5 if level.rewarded else 0.0)
                assert level.score == pytest.approx(expected)
                before = level.score

    @pytest.mark.skipif("parser-en" not in bundled("network"), reason="the bundled parser is not here")
    def test_an_exemplars_shape_is_followed_to_a_depth(self) -> None:
        generator = random_generator(SUBWORDS, 1, beam=2, max_depth=8)
        template = generator.steering(exemplar="Did he really do it?").template
        assert str(template) == "(T (NP) (VP (NP)))"
        cut = Template.parse("(T (NP *) (VP *))")
        for output in generator(TEXTS[0], exemplar="Did he really do it?", exemplar_depth=2, control="hard"):
            assert output.tree is not None
            assert cut.matches_tree(output.tree)
        with pytest.raises(ConfigError, match="both given"):
            generator(TEXTS[0], exemplar="Go!", template="(S)")

    def test_growth_from_any_context(self) -> None:
        generator = random_generator(SUBWORDS, 1, beam=2)
        for output in generator(TEXTS[0], start="<NP> ate <VP> , right ?"):
            check(output)
            assert show(output.trace[0].context) == "<NP> ate <VP> , right ?"
            assert output.text.endswith(", right?")
        (same,) = generator(TEXTS[0], start="no label at all .")
        assert (same.text, same.trace) == ("no label at all.", ())

    def test_text_that_looks_like_a_label_is_text(self) -> None:
        generator = random_generator(SUBWORDS, 1, beam=1)
        (output,) = generator("x", start="<NP> \\<NP> .")
        assert "<NP>." in output.text

    def test_errors_say_what_to_do(self) -> None:
        generator = random_generator(SUBWORDS)
        for wish, kind, what in (
            ({"template": "(S (QP))"}, LabelError, "'QP' is not a label"),
            ({"template": "(S (NP)"}, TemplateError, "never closed"),
            ({"start": "<QP> x"}, LabelError, "<QP> is not a label"),
            ({"start": " "}, ConfigError, "empty"),
            ({"template": "(S)", "start": "<NP>"}, ConfigError, "both given"),
            ({"template": "S(S(S(S(S(S(NP))))))", "control": "hard"}, TemplateError, "deep"),
            ({"beem": 3}, ConfigError, "did you mean 'beam'"),
            ({"beam": 0}, ConfigError, "'beam' cannot be 0"),
            ({"alpha": 1.0}, ConfigError, "'alpha' cannot be 1.0; give a number from 0 up to 1"),
        ):
            with pytest.raises(kind, match=what):
                generator(TEXTS[0], **wish)
        with pytest.raises(SyntagmaError, match="the model reads 511"):
            generator("apple " * 600)
        baseline = Generator(TorchRuntime(random_model(SUBWORDS, 1, "seq2seq")), SUBWORDS)
        with pytest.raises(ConfigError, match="cannot be steered"):
            baseline(TEXTS[0], start="<NP>")

    def test_a_text_ends_before_the_positions_do(self) -> None:
        for architecture in ("extra-encoder", "concat"):
            network = random_model(SUBWORDS, 3, architecture, max_positions=40)  # type: ignore[arg-type]
            with torch.no_grad():  # a taste for labels, so that contexts would grow without end
                for label in SUBWORDS.labels:
                    network.embedding.weight[SUBWORDS.label_id(label)] *= 8
            generator = Generator(TorchRuntime(network), SUBWORDS, SearchOptions(beam=1, max_depth=8, max_tokens=20))
            for found in generator.stream(["I", "an apple"]):
                assert isinstance(found, list), found
                for output in found:
                    check(output)

    def test_a_bad_text_does_not_stop_the_others(self) -> None:
        generator = random_generator(SUBWORDS, beam=1)
        first, second, third, last = generator.stream(["I", "apple " * 600, "", "an apple"])
        assert isinstance(first, list)
        assert isinstance(second, SyntagmaError)
        assert third == []
        assert isinstance(last, list)


class TestLexicalConstraint:
    def test_forbidden_words_are_never_written(self) -> None:
        for seed in range(4):
            generator = random_generator(SUBWORDS, seed, beam=3)
            words = [w for o in generator(TEXTS[0]) for w in (o.tree.words() if o.tree else ()) if w.isalpha()]
            for word in words[:2]:
                for output in generator(TEXTS[0], must_not=[word]):
                    check(output)
                    assert output.tree is not None
                    assert word not in output.tree.words()

    @pytest.mark.parametrize("must", [["apple"], ["mistake", "ate"], ["can't"]])
    def test_required_words_are_written(self, must: list[str]) -> None:
        for seed in range(3):
            generator = random_generator(SUBWORDS, seed, beam=4, max_tokens=20)
            for output in generator(TEXTS[0], must=must):
                check(output)
                for word in must:
                    assert word.lower() in output.text.lower()

    def test_contradictions_are_refused(self) -> None:
        with pytest.raises(ConfigError, match="must and must not"):
            random_generator(SUBWORDS)(TEXTS[0], must=["a"], must_not=["a"])
        with pytest.raises(ConfigError, match="empty"):
            random_generator(SUBWORDS)(TEXTS[0], must=[" "])


class TestDiversity:
    def test_a_penalty_spreads_the_beam(self) -> None:
        config = random_model(SUBWORDS).config
        rows = {(40, 41, 42): -1.0, (40, 41, 43): -1.1, (50, 51, 52): -1.5, (40, 50, 60): -1.6}
        ranked = [Hypothesis(AnnotatedContext.plain(ids, config), score, 2) for ids, score in rows.items()]
        kept = {}
        for penalty, groups in ((0.0, 0), (1.0, 0), (1.0, 1)):
            options = SearchOptions(beam=2, diversity_penalty=penalty, num_beam_groups=groups)
            kept[penalty, groups] = [tuple(hypothesis.context.ids) for hypothesis in diverse(ranked, options)]
        assert kept[0.0, 0] == kept[1.0, 1] == [(40, 41, 42), (40, 41, 43)]
        assert kept[1.0, 0] == [(40, 41, 42), (50, 51, 52)]

    def test_a_penalised_search_is_still_well_formed(self) -> None:
        for output in random_generator(SUBWORDS, 2, beam=4, diversity_penalty=1.0, num_beam_groups=2)(TEXTS[0]):
            check(output)

    def test_samples_differ_by_seed_and_not_by_batch(self) -> None:
        generator = random_generator(SUBWORDS, 1, beam=4, sample=True, temperature=1.5, top_p=0.95)
        for output in generator(TEXTS[0]):
            check(output)
        first, again, other = ([output.text for output in generator(TEXTS[0], seed=seed)] for seed in (1, 1, 2))
        assert first == again != other
        assert len(first) == 4
        batched = list(generator.stream(TEXTS, batch=3))
        single = list(generator.stream(TEXTS, batch=1))
        assert [[o.text for o in found] for found in batched if isinstance(found, list)] == [
            [o.text for o in found] for found in single if isinstance(found, list)
        ]


class TestGrowth:
    def test_level_by_level_equals_the_whole(self) -> None:
        generator = random_generator(SUBWORDS, 2, beam=3)
        whole = generator(TEXTS[0])
        growth = generator.grow(TEXTS[0])
        while not growth.finished:
            growth.step()
        assert [output.text for output in growth.outputs()] == [output.text for output in whole]
        assert [output.score for output in growth.outputs()] == pytest.approx([output.score for output in whole])

    def test_the_user_changes_a_context_and_undoes_it(self) -> None:
        generator = random_generator(SUBWORDS, 2, beam=1)
        growth = generator.grow(TEXTS[0])
        growth.step()
        before = growth.beam
        growth.replace(0, "<NP> <VP> , right ?")
        assert growth.beam[0].context == "<NP> <VP> , right ?"
        assert growth.beam[0].edited
        (output,) = growth.finish()
        assert output.text.endswith(", right?")
        assert [level.edited for level in output.trace][:2] == [False, True]
        assert output.tree is not None
        assert output.tree.words()[-3:] == (",", "right", "?")
        assert growth.undo().undo().beam == before

    def test_pinned_words_stand_and_the_rest_follows(self) -> None:
        generator = random_generator(SUBWORDS, 3, beam=2)
        growth = generator.grow(TEXTS[0], steering=generator.steering(start="<NP> ate <NP> ."))
        growth.pin(0, 2, "an <NP> apple")
        growth.step()
        assert all("ate an <NP> apple ." in entry.context for entry in growth.beam)
        for output in growth.finish():
            check(output)
            assert output.trace[0].edited
        with pytest.raises(ConfigError, match="2 open labels, not 3"):
            generator.grow(TEXTS[0], steering=generator.steering(start="<NP> ate <NP> .")).pin(0, 3, "x")

    def test_labels_may_be_forbidden_and_required(self) -> None:
        generator = random_generator(SUBWORDS, 4, beam=4)
        growth = generator.grow(TEXTS[0]).forbid(labels=["S", "VP"])
        for output in growth.finish():
            assert not {"S", "VP"} & {node.label for node in (output.tree or Tree("X")).nodes()}
        grown = generator.grow(TEXTS[0]).require(labels=["PP"]).step()
        assert "<PP>" in grown.beam[0].context

    def test_what_was_lost_can_be_seen_and_one_context_kept(self) -> None:
        growth = random_generator(SUBWORDS, 5, beam=3).grow(TEXTS[0]).step()
        assert all(lost.score <= growth.beam[-1].score for lost in growth.lost)
        assert len(growth.keep(1).beam) == 1
        for wrong in (lambda: growth.keep(7), lambda: growth.keep(), lambda: growth.replace(0, "<XX>")):
            with pytest.raises(SyntagmaError):
                wrong()
        with pytest.raises(ConfigError, match="nothing to undo"):
            random_generator(SUBWORDS, 5).grow(TEXTS[0]).undo()


def test_tokens_as_a_user_writes_them() -> None:
    assert [str(token) for token in read_tokens("<NP> x")] == ["<NP>", "x"]


def test_a_fair_scheduler_finishes_ordinary_requests_beside_hard_ones() -> None:
    generator = random_generator(SUBWORDS)

    def request(text: str, beam: int) -> SearchRequest:
        return generator.request(0, text, Steering(), generator.defaults.changed({"beam": beam}))

    (alone,) = generator.scheduler(fair=True).run([request(TEXTS[0], 2)])
    hard, ordinary = [request("apple " * 40, 16) for _ in range(3)], request(TEXTS[0], 2)
    scheduler = generator.scheduler(fair=True)
    scheduler.clock = lambda: scheduler.row_steps  # as if every row took the same time
    scheduler.add(hard)
    scheduler.step()
    before = scheduler.row_steps
    scheduler.add([ordinary])
    while not (done := scheduler.step()):
        pass
    assert done == [ordinary]
    assert [one.ids for one in ordinary.beam] == [one.ids for one in alone.beam]
    assert scheduler.row_steps - before <= 2 * alone.row_steps + 64
    while scheduler.running:
        scheduler.step()
    assert all(one.finished for one in hard)


def test_the_search_says_why_a_hypothesis_was_dropped() -> None:
    generator = random_generator(SUBWORDS, 2, beam=3)
    best = next(generator.scheduler().run([generator.request(0, TEXTS[0], Steering(), generator.defaults)])).beam[0]
    request = generator.request(0, TEXTS[0], Steering(), generator.defaults.changed({"forbid_copy": True}))
    (copies,) = [one for one in request.constraints if isinstance(one, CopyConstraint)]
    copies._known[best.ids] = True
    found: dict[Hypothesis, str] = {}
    request.on_level = lambda now: found.update(now.reasons)
    list(generator.scheduler().run([request]))
    assert {one.ids for one, reason in found.items() if reason == "copies the source"} == {best.ids}
    assert set(found.values()) <= {"copies the source", "outscored", "the same as a better one"}
    assert best.ids not in {one.ids for one in request.beam}
