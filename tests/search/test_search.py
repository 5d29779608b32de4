from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from search_models import TEXTS, random_generator, random_model
from syntagma.convert.authors import convert
from syntagma.errors import ConfigError, LabelError, SyntagmaError
from syntagma.hub import bundled
from syntagma.levels import MalformedInfill, expand, read_tokens, show
from syntagma.network.batch import Example, make_batch, stack_contexts
from syntagma.network.config import Architecture
from syntagma.network.contexts import AnnotatedContext
from syntagma.network.network import Network
from syntagma.search import Generator, Output, SearchOptions, Steering
from syntagma.search.beam import Candidate, Hypothesis, Sentence
from syntagma.search.engine import Engine
from syntagma.search.grammar import BracketPlace, May, Place
from syntagma.template import Template, TemplateError
from syntagma.text import Subwords, split
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


class Work(NamedTuple):
    """What searching with some options cost and found: contexts and scores of each text."""

    row_steps: int
    beams: list[list[tuple[list[int], float]]]


def work_of(shared: Path, **options: Any) -> Work:
    generator = authors_generator(shared / "reference", **{"beam": 4, "score": "sum"} | options)
    sources = (shared / "reference" / "toy.src").read_text().splitlines()[:4]
    engine = Engine(generator.network, generator.grammar)
    sentences = [generator.sentence(n, text, Steering(), generator.defaults) for n, text in enumerate(sources)]
    done = sorted(engine.run(sentences), key=lambda sentence: sentence.number)
    beams = [[(list(found.context.ids), round(found.score, 4)) for found in one.beam] for one in done]
    return Work(engine.row_steps, beams)


def search(generator: Generator, text: str, **options: Any) -> list[Hypothesis]:
    """The final beam."""
    sentence = generator.sentence(0, text, Steering(), generator.defaults.changed(options))
    (done,) = Engine(generator.network, generator.grammar).run([sentence])
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
            network = random_model(SUBWORDS, seed, architecture, copy=bool(seed % 2), slots=True, history=True)
            options = SearchOptions.from_dict({"beam": 1 + seed % 3, "score": score, "max_depth": 4, "max_tokens": 12})
            for found in Generator(network, SUBWORDS, options).stream(TEXTS):
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
        sentences = []
        for number in range(2000):
            labels = chance.choices(config.labels[1:], k=chance.randint(1, 5))
            context = labels + chance.choices(words, k=chance.randint(0, 6))
            chance.shuffle(context)
            start = Hypothesis(AnnotatedContext.plain(context, config), 0.0, chance.choice([0, 1]))
            sentences.append(Sentence(number, tuple(chance.choices(words, k=4)), options, config, start))
        engine = Engine(network, Generator(network, SUBWORDS).grammar, batch=400)
        open_labels = set(config.labels)
        done = 0
        for sentence in engine.run(sentences):
            for first, second in zip(sentence.beam[0].history(), sentence.beam[0].history()[1:], strict=False):
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
        place = BracketPlace(0, True, tokens)
        written = 0
        while True:
            kind = chance.choice([kind for kind in May if kind & place.may])
            written += 1
            if kind is May.END:
                break
            place = place.after(kind)
            assert place.open_brackets >= 0
        assert place.open_brackets == 0
        assert written <= tokens

    @given(st.integers(1, 6), st.integers(1, 40), st.booleans(), st.randoms())
    def test_the_grammar_always_ends_within_its_tokens(
        self, parts: int, tokens: int, labels: bool, chance: random.Random
    ) -> None:
        place = Place.start(parts, tokens, labels)
        written = 0
        while True:
            may = place.may
            kind = chance.choice([kind for kind in type(may) if kind & may])
            written += 1
            if kind.name == "END":
                break
            place = place.after(kind)
        assert place.parts_left == 0
        assert written <= max(tokens, 2 * parts + 1)


def test_what_is_finished_leaves_at_once() -> None:
    """Others go on, and their next depth is not waited for."""
    generator = random_generator(SUBWORDS, beam=2)
    engine = Engine(generator.network, generator.grammar)
    brief = generator.defaults.changed({"max_tokens": 3})
    sentences = [
        generator.sentence(number, TEXTS[0], Steering(), generator.defaults if number else brief) for number in range(9)
    ]
    sentences[0].levels = 1  # over after its first depth, which the others take longer for
    engine.enter(sentences)
    while not sentences[0].jobs or any(job.grown is None for job in sentences[0].jobs):
        assert not engine.turn()
    assert all(job.grown is None for sentence in sentences[1:] for job in sentence.jobs)
    assert engine.turn() == sentences[:1]


def plain_search(generator: Generator, text: str, options: SearchOptions) -> list[tuple[list[int], float]]:
    """Algorithms 1 and 2 as the paper writes them: one context at a time, nothing shared, nothing pruned."""
    network, config = generator.network, generator.network.config
    encoded = network.encode(torch.tensor([[*generator.vocabulary.encode(text), config.end]]))
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
            inner = [(0.0, (), Place.start(parts, options.max_tokens, depth < options.max_depth))]
            while any(not tokens or tokens[-1] != config.end for _, tokens, _ in inner):
                ways = []
                for value, tokens, place in inner:
                    if tokens and tokens[-1] == config.end:
                        ways.append((value, tokens, place))
                        continue
                    state = network.open(encoded, torch.tensor([0]), stack_contexts([[context]], config))
                    for token in (config.start, *tokens):
                        scores = network.step(state, torch.tensor([token])).log_probabilities()
                    generator.grammar.restrict(scores, [place], [None])
                    scores = scores[0]
                    for token in scores.topk(options.beam + 1).indices.tolist():
                        if scores[token] > float("-inf"):
                            ways.append(
                                (
                                    value + scores[token].item(),
                                    (*tokens, token),
                                    place.after(generator.grammar.kind(token)),
                                )
                            )
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
    return Generator(*convert(*files), SearchOptions.from_dict(options))


class TestAlgorithm:
    @pytest.mark.parametrize("others", [[], [-1.0]])
    def test_novel_leaves_out_the_source_where_there_is_something_else(self, others: list[float]) -> None:
        generator = random_generator(SUBWORDS, 5)
        for novel in (False, True):
            options = generator.defaults.changed({"novel": novel})
            sentence = generator.sentence(0, TEXTS[0], Steering(), options)
            (job,) = sentence.next_jobs()
            part, other = sentence.config.part, SUBWORDS.encode(TEXTS[1])
            found = [Candidate((part, *sentence.source), -0.1)] + [Candidate((part, *other), score) for score in others]
            assert sentence.complete(job, found)
            assert not sentence.next_jobs()
            texts = [SUBWORDS.decode(hypothesis.context.ids) for hypothesis in sentence.beam]
            assert texts == ([TEXTS[1]] if novel and others else [TEXTS[0]] + [TEXTS[1]] * len(others))

    def test_greedy_traces_equal_the_authors(self, shared: Path) -> None:
        reference = shared / "reference"
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

    def test_bounds_save_work_and_change_nothing_on_a_trained_model(self, shared: Path) -> None:
        with_bounds, without = (work_of(shared, bounds=bounds) for bounds in (True, False))
        assert with_bounds.beams == without.beams
        assert with_bounds.row_steps < 0.9 * without.row_steps

    @pytest.mark.parametrize("score", ["sum", "mean"])
    def test_pruning_saves_work(self, shared: Path, score: str) -> None:
        exact, wide, narrow = (work_of(shared, prune=prune, score=score) for prune in (0.0, 1e6, 2.0))
        assert exact == wide
        assert narrow.row_steps < 0.9 * exact.row_steps
        assert all(found and found[0][1] <= best[0][1] for found, best in zip(narrow.beams, exact.beams, strict=True))

    @pytest.mark.parametrize("architecture", ["extra-encoder", "seq2seq"])
    @pytest.mark.parametrize("score", ["sum", "mean"])
    def test_joint_rank_orders_what_the_search_found(self, architecture: Architecture, score: str) -> None:
        """By the log-probability of all tokens, which the network gives for the whole trace, for each subword."""
        orders = []
        for seed in range(4):
            network = random_model(SUBWORDS, seed, architecture)
            with torch.no_grad():  # so that texts grow several levels, and to different lengths
                network.embedding.weight[[network.config.end, *network.config.labels[1:]]] *= 3.0
            options = SearchOptions.from_dict({"beam": 6, "max_depth": 4, "max_tokens": 12, "score": score})
            generator = Generator(network, SUBWORDS, options)
            plain = search(generator, TEXTS[0])
            joint = search(generator, TEXTS[0], rank="joint")
            assert sorted(one.context.ids for one in plain) == sorted(one.context.ids for one in joint)
            means = [whole_score(network, TEXTS[0], one) / len(one.context.ids) for one in joint]
            assert means == pytest.approx(sorted(means, reverse=True), abs=1e-5)
            orders.append([one.context.ids for one in plain] == [one.context.ids for one in joint])
        assert not (architecture == "extra-encoder" and all(orders))

    @pytest.mark.parametrize("architecture", ["extra-encoder", "extra-attention", "concat"])
    def test_a_second_opinion_orders_what_the_search_found(self, architecture: Architecture) -> None:
        """By the mean of the joint log-probability and of the text written in one go, whatever else is searched."""
        moved = 0
        for seed in range(4):
            network = random_model(SUBWORDS, seed, architecture, whole=True)
            with torch.no_grad():
                network.embedding.weight[[network.config.end, *network.config.labels[1:]]] *= 3.0
            options = SearchOptions.from_dict({"beam": 6, "max_depth": 4, "max_tokens": 12})
            generator = Generator(network, SUBWORDS, options)
            joint = search(generator, TEXTS[0], rank="joint")
            found = search(generator, TEXTS[0], rank="whole")
            assert sorted(one.context.ids for one in joint) == sorted(one.context.ids for one in found)
            source, ends = SUBWORDS.encode(TEXTS[0]), (network.config.end,)
            worth = []
            for one in found:
                alone = make_batch([Example(source, [(ends, one.context.ids)])], network.config)
                opinion = network.token_scores(alone).sum().item()
                worth.append((whole_score(network, TEXTS[0], one) + opinion) / len(one.context.ids))
            assert worth == pytest.approx(sorted(worth, reverse=True), abs=1e-5)
            moved += [one.context.ids for one in joint] != [one.context.ids for one in found]
            together = list(generator.stream(TEXTS, options=options.changed({"rank": "whole"})))
            assert [one.text for one in together[0]] == [one.text for one in generator(TEXTS[0], rank="whole")]  # type: ignore[union-attr]
        assert moved

    @pytest.mark.parametrize("architecture", ["extra-encoder", "seq2seq"])
    def test_the_way_back_counts(self, architecture: Architecture) -> None:
        """How likely the source is, written in one go from each text, for each of its subwords."""
        moved = 0
        for seed in range(4):
            guided = architecture != "seq2seq"
            network = random_model(SUBWORDS, seed, architecture, whole=guided)
            with torch.no_grad():
                network.embedding.weight[[network.config.end, *network.config.labels[1:]]] *= 3.0
            options = SearchOptions.from_dict({"beam": 6, "max_depth": 4, "max_tokens": 12, "rank": "joint"})
            generator = Generator(network, SUBWORDS, options)
            joint, found = search(generator, TEXTS[0]), search(generator, TEXTS[0], back=5.0)
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

    def test_a_model_that_never_wrote_whole_texts_has_no_second_opinion(self) -> None:
        for wish in ({"rank": "whole"}, {"rank": "joint", "back": 1.0}):
            for architecture in ("extra-encoder", "linearised"):
                generator = Generator(random_model(SUBWORDS, 1, architecture), SUBWORDS)
                with pytest.raises(ConfigError, match="has not learnt to write whole texts; use rank=joint without"):
                    generator(TEXTS[0], **wish)
        with pytest.raises(ConfigError, match="'back' cannot be -1; give a number over 0"):
            SearchOptions(back=-1)

    def test_an_order_by_score_is_by_the_score_alone(self) -> None:
        generator = Generator(random_model(SUBWORDS, 2), SUBWORDS, SearchOptions(beam=4, max_depth=4, max_tokens=12))
        assert [one.text for one in generator(TEXTS[0], back=5.0)] == [one.text for one in generator(TEXTS[0])]

    def test_baselines_search_too(self) -> None:
        for architecture in ("seq2seq", "linearised"):
            network = random_model(SUBWORDS, 1, architecture)
            for score in ("sum", "mean"):
                options = SearchOptions.from_dict({"beam": 3, "max_tokens": 10, "score": score})
                found = Generator(network, SUBWORDS, options)(TEXTS[0])
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
            ({"alpha": 1.0}, ConfigError, "accumulation weight"),
        ):
            with pytest.raises(kind, match=what):
                generator(TEXTS[0], **wish)
        with pytest.raises(SyntagmaError, match="the model reads 511"):
            generator("apple " * 600)
        baseline = Generator(random_model(SUBWORDS, 1, "seq2seq"), SUBWORDS)
        with pytest.raises(ConfigError, match="cannot be steered"):
            baseline(TEXTS[0], start="<NP>")

    def test_a_text_ends_before_the_positions_do(self) -> None:
        for architecture in ("extra-encoder", "concat"):
            network = random_model(SUBWORDS, 3, architecture, max_positions=40)  # type: ignore[arg-type]
            with torch.no_grad():  # a taste for labels, so that contexts would grow without end
                for label in SUBWORDS.labels:
                    network.embedding.weight[SUBWORDS.label_id(label)] *= 8
            generator = Generator(network, SUBWORDS, SearchOptions(beam=1, max_depth=8, max_tokens=20))
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


class TestWishes:
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
        for diversity, groups in ((0.0, 0), (1.0, 0), (1.0, 1)):
            options = SearchOptions(beam=2, diversity=diversity, groups=groups)
            sentence = Sentence(0, (), options, config, ranked[0])
            kept[diversity, groups] = [tuple(hypothesis.context.ids) for hypothesis in sentence._keep(list(ranked))]
        assert kept[0.0, 0] == kept[1.0, 1] == [(40, 41, 42), (40, 41, 43)]
        assert kept[1.0, 0] == [(40, 41, 42), (50, 51, 52)]

    def test_a_penalised_search_is_still_well_formed(self) -> None:
        for output in random_generator(SUBWORDS, 2, beam=4, diversity=1.0, groups=2)(TEXTS[0]):
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
        assert all("ate an <NP> apple ." in sprout.context for sprout in growth.beam)
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
