from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from syntagma.errors import ConfigError
from syntagma.network.batch import Contexts, Example, annotate_levels, make_batch, stack_contexts
from syntagma.network.config import Architecture, ModelConfig, preset
from syntagma.network.contexts import AnnotatedContext, TooLong
from syntagma.network.network import Network
from syntagma.network.state import Feed
from syntagma.runtime.base import Mask
from syntagma.runtime.torch import TorchRuntime

T, S, NP, VP, PP = LABELS = (5, 6, 7, 8, 9)
PART = 4
ARCHITECTURES: list[Architecture] = ["extra-encoder", "extra-attention", "concat"]
EXTRAS = {"copy": True, "label_index": True, "history": True}


def config(architecture: Architecture = "extra-encoder", **changes: object) -> ModelConfig:
    return preset("tiny", 60, architecture, labels=LABELS, max_positions=40, **changes)


def network(shape: ModelConfig, seed: int = 0) -> Network:
    torch.manual_seed(seed)
    return Network(shape).eval()


def example(seed: int) -> Example:
    """A source and levels that fit each other, as a tree would give."""
    chance = random.Random(seed)

    def words(low: int, high: int) -> list[int]:
        return [chance.randrange(10, 60) for _ in range(chance.randint(low, high))]

    context = [T]
    levels = []
    for depth in range(chance.randint(1, 5)):
        infill: list[int] = []
        grown: list[int] = []
        for token in context:
            if token not in LABELS:
                grown.append(token)
                continue
            part = (
                words(1, 2) + ([chance.choice(LABELS[1:])] if depth < 3 and chance.random() < 0.7 else []) + words(0, 1)
            )
            infill += [PART, *part]
            grown += part
        if not infill:
            break
        levels.append((context, infill))
        context = grown
    return Example(words(1, 8), levels)


def stack(contexts: list[AnnotatedContext], shape: ModelConfig) -> Contexts:
    return stack_contexts([[context] for context in contexts], shape)


def log_probabilities(
    runtime: TorchRuntime, state: Any, tokens: list[list[int]], parents: list[int] | None = None
) -> tuple[Any, torch.Tensor, torch.Tensor]:
    """Feed tokens [N, L]; the state after them, what may come next [N, V], and how likely what was fed was."""
    config = runtime.config
    rows = len(tokens)
    asked = np.array([(row, token) for row in range(rows) for token in range(config.vocabulary)])
    words = [None] * rows
    mask = Mask(np.ones((rows, len(config.controls)), np.bool_), words, asked=asked)
    chosen = np.arange(rows) if parents is None else np.array(parents)
    step = runtime.step(state, chosen, np.array(tokens), mask, 1)
    return step.state, torch.from_numpy(step.asked.reshape(rows, -1)), torch.from_numpy(step.fed)


def stepwise(net: Network, one: Example) -> list[float]:
    """The log-probability of each infill token, taken one step at a time."""
    scores = []
    runtime = TorchRuntime(net)
    (encoded,) = runtime.encode([one.source])
    for marked, (_, infill) in zip(annotate_levels(one.levels, net.config), one.levels, strict=True):
        state: Any = runtime.open([encoded], [marked])
        before = net.config.start
        for token in [*infill, net.config.end]:
            state, likely, _ = log_probabilities(runtime, state, [[before]])
            scores.append(likely[0, token].item())
            before = token
    return scores


class TestSize:
    def test_base_has_as_many_parameters_as_the_authors(self) -> None:
        for architecture, norm, share in (
            ("extra-encoder", "post", 0.0),
            ("seq2seq", "post", 0.01),
            ("extra-encoder", "pre", 0.01),
        ):
            with torch.device("meta"):
                size = sum(p.numel() for p in Network(preset("base", 6864, architecture, norm=norm)).parameters())
            assert abs(size / 47_652_864 - 1) <= share

    @pytest.mark.parametrize(
        ("architecture", "millions"), [("concat", 64.2), ("extra-attention", 70.5), ("extra-encoder", 64.2)]
    )
    def test_the_papers_presets_have_its_sizes(self, architecture: Architecture, millions: float) -> None:
        with torch.device("meta"):
            net = Network(preset("paper-wmt", 39_300, architecture))
        assert sum(p.numel() for p in net.parameters()) / 1e6 == pytest.approx(millions, abs=0.1)
        assert net.config.norm == "post"

    def test_small_is_about_ten_million(self) -> None:
        with torch.device("meta"):
            assert 9e6 < sum(p.numel() for p in Network(preset("small", 8000)).parameters()) < 11e6

    def test_contradictions_are_refused(self) -> None:
        for changes, what in (
            ({"heads": 5}, "heads"),
            ({"dropout": 1.0}, "dropout"),
            ({"widht": 3}, "did you mean 'width'"),
        ):
            with pytest.raises(ConfigError, match=what):
                preset("tiny", 60, **changes)
        with pytest.raises(ConfigError, match="no preset 'huge'"):
            preset("huge", 60)
        assert ModelConfig.from_dict(config(copy=True).to_dict()) == config(copy=True)


class TestScores:
    @pytest.mark.parametrize("architecture", ARCHITECTURES)
    @pytest.mark.parametrize("extras", [{}, EXTRAS, {"norm": "post", "context_marks": (2, 1), "first_position": 2}])
    def test_steps_equal_the_whole(self, architecture: Architecture, extras: dict[str, object]) -> None:
        net = network(config(architecture, **extras))
        with torch.inference_mode():
            for seed in range(4):
                one = example(seed)
                whole = net.loss(make_batch([one], net.config))
                steps = stepwise(net, one)
                assert whole.tokens == len(steps)
                assert whole.nll.item() == pytest.approx(-sum(steps), abs=1e-4)

    @given(st.lists(st.integers(0, 10_000), min_size=1, max_size=6), st.sampled_from(ARCHITECTURES))
    @settings(max_examples=25)
    def test_batch_padding_and_order_change_nothing(self, seeds: list[int], architecture: Architecture) -> None:
        net = network(config(architecture, **EXTRAS))
        examples = [example(seed) for seed in seeds]
        with torch.inference_mode():
            alone = sum(net.loss(make_batch([one], net.config)).nll.item() for one in examples)
            for order in (examples, examples[::-1]):
                assert net.loss(make_batch(order, net.config)).nll.item() == pytest.approx(alone, rel=1e-5)

    def test_a_level_does_not_see_the_others(self) -> None:
        net = network(config(**EXTRAS))
        one = next(made for made in map(example, range(100)) if len(made.levels) > 2)
        changed = Example(one.source, [*one.levels[:-1], (one.levels[-1][0], [PART, 50, 51, 52])])
        with torch.inference_mode():
            batch, other = (make_batch([made], net.config) for made in (one, changed))
            first = slice(0, int((batch.level < len(one.levels)).sum()))
            states = [net(made, net.encode(made.source))[:, first] for made in (batch, other)]
        assert torch.allclose(*states, atol=1e-6)

    @pytest.mark.parametrize("extras", [{}, {"copy": True}])
    def test_probabilities_sum_to_one_and_smoothing_raises_the_loss(self, extras: dict[str, object]) -> None:
        net = network(config(**extras))
        batch = make_batch([example(1), example(2)], net.config)
        runtime = TorchRuntime(net)
        state = runtime.open(runtime.encode([[20, 21], [22]]), [AnnotatedContext.plain([T], net.config)] * 2)
        _, likely, _ = log_probabilities(runtime, state, [[2], [2]])
        never = torch.tensor([net.config.pad, net.config.start, net.config.sep])  # no mask allows them
        assert torch.isinf(likely[:, never]).all()
        with torch.inference_mode():
            encoded = net.encode(batch.source)
            hidden = torch.randn(3, 1, net.config.width)
            places = np.array([0, 1, 1])
            opened = net.open(encoded, places, stack([AnnotatedContext.plain([T], net.config)] * 3, net.config))
            feed = Feed(*(torch.from_numpy(array) for array in opened.plan(np.array([[2], [2], [2]]))))
            scores = net.next_scores(opened, feed, hidden, slice(None))
            assert torch.allclose(scores.log_probabilities().exp().sum(-1), torch.ones(3), atol=1e-5)
            assert net.loss(batch, 0.1).nll.item() == pytest.approx(net.loss(batch).nll.item())
            assert net.loss(batch, 0.1).total.item() != pytest.approx(net.loss(batch).total.item())

    def test_the_baselines_read_no_context(self) -> None:
        net = network(config("seq2seq"))
        one = Example([20, 21], [([], [30, 31, 32])])
        with torch.inference_mode():
            whole = net.loss(make_batch([one], net.config)).nll.item()
            runtime = TorchRuntime(net)
            state: Any = runtime.open(runtime.encode([[20, 21]]), None)
            steps = 0.0
            for before, token in zip([2, 30, 31, 32], [30, 31, 32, 1], strict=True):
                state, likely, _ = log_probabilities(runtime, state, [[before]])
                steps -= likely[0, token].item()
        assert whole == pytest.approx(steps, abs=1e-4)

    def test_too_long_is_said(self) -> None:
        shape = config()
        with pytest.raises(TooLong, match="a source of 41 tokens is longer than the model's 40"):
            make_batch([Example([20] * 40, [([T], [PART, 20])])], shape)
        with pytest.raises(TooLong, match="a context of 41"):
            make_batch([Example([20], [([20] * 41, [PART, 20])])], shape)


class TestState:
    def rows(self, runtime: TorchRuntime, seeds: list[int]) -> Any:
        examples = [example(seed) for seed in seeds]
        contexts = [annotate_levels(one.levels, runtime.config)[-1] for one in examples]
        return runtime.open(runtime.encode([one.source for one in examples]), contexts)

    @pytest.mark.parametrize("architecture", ARCHITECTURES)
    def test_rows_may_leave_return_and_join_at_any_length(self, architecture: Architecture) -> None:
        runtime = TorchRuntime(network(config(architecture, **EXTRAS)))

        def begun() -> Any:
            state, _, _ = log_probabilities(runtime, self.rows(runtime, [1, 2, 3]), [[2]] * 3)
            state, two, _ = log_probabilities(runtime, state, [[PART]] * 3)
            assert two.shape == (3, 60)
            return state

        kept = log_probabilities(runtime, begun(), [[31], [32], [30]])[1]
        first = log_probabilities(runtime, self.rows(runtime, [7, 8]), [[2], [2]])[1]
        joined = runtime.join([begun(), self.rows(runtime, [7, 8])])
        assert len(joined) == 5
        _, mixed, _ = log_probabilities(runtime, joined, [[30], [31], [31], [2], [2]], [2, 0, 0, 3, 4])
        assert torch.allclose(mixed[:3], kept[[2, 0, 0]], atol=1e-5)
        assert torch.allclose(mixed[3:], first, atol=1e-5)

    @pytest.mark.parametrize("architecture", ARCHITECTURES)
    def test_several_tokens_may_be_fed_at_once(self, architecture: Architecture) -> None:
        runtime = TorchRuntime(network(config(architecture, **EXTRAS)))
        tokens = [[2, PART, 30], [2, PART, PART], [2, 30, 31]]
        at_once, likely, fed = log_probabilities(runtime, self.rows(runtime, [1, 2, 3]), tokens)
        state, one_by_one = self.rows(runtime, [1, 2, 3]), []
        for column in range(3):
            state, scores, _ = log_probabilities(runtime, state, [[row[column]] for row in tokens])
            one_by_one.append(scores)
        assert torch.allclose(likely, one_by_one[-1], atol=1e-5)
        for column in (1, 2):
            single = torch.stack([one_by_one[column - 1][row, tokens[row][column]] for row in range(3)])
            assert torch.allclose(fed[:, column - 1], single, atol=1e-5)
        after, after_one = (log_probabilities(runtime, one, [[31], [32], [PART]])[1] for one in (at_once, state))
        assert torch.allclose(after, after_one, atol=1e-5)

    def test_reordering_within_a_context(self) -> None:
        runtime = TorchRuntime(network(config()))
        state, _, _ = log_probabilities(runtime, self.rows(runtime, [5]), [[2]] * 3, [0, 0, 0])
        state, _, _ = log_probabilities(runtime, state, [[30], [31], [32]])
        _, scores, _ = log_probabilities(runtime, state, [[40]] * 3, [2, 2, 0])
        assert torch.allclose(scores[0], scores[1])
        assert not torch.allclose(scores[0], scores[2])

    def test_the_cache_grows(self) -> None:
        runtime = TorchRuntime(network(config()))
        state = self.rows(runtime, [5])
        for _ in range(35):
            state, scores, _ = log_probabilities(runtime, state, [[30]])
        assert torch.isfinite(scores[:, 10:]).all()


def test_training_learns_to_copy_a_tree() -> None:
    """A few steps on two examples bring the loss near zero: the gradients reach every part."""
    torch.manual_seed(1)
    net = Network(config(dropout=0.0, **EXTRAS)).train()
    batch = make_batch([example(3), example(4)], net.config)
    optimiser = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(120):
        loss = net.loss(batch)
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        optimiser.step()
    assert loss.nll.item() / loss.tokens < 0.3
    assert all(weight.grad is not None and torch.isfinite(weight.grad).all() for weight in net.parameters())


@pytest.mark.parametrize("architecture", [*ARCHITECTURES, "seq2seq"])
def test_half_precision_trains_and_validates_nearly_alike(architecture: Architecture) -> None:
    net = network(config(architecture, dropout=0.0, **({"copy": True} if architecture == "seq2seq" else EXTRAS)))
    examples = [example(3), example(4)] if net.config.guided else [Example([20, 21], [([], [30, 31, 32])])]
    batch = make_batch(examples, net.config)
    found = []
    for half in (False, True):
        for training in (True, False):
            net.train(training).zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=half):
                loss = net.loss(batch, 0.1)
            loss.total.backward()
            assert all(weight.grad is None or torch.isfinite(weight.grad).all() for weight in net.parameters())
            found.append(loss.nll.item())
    assert found == pytest.approx([found[0]] * 4, rel=0.01)
    assert found[0] == pytest.approx(found[1], rel=1e-6)
