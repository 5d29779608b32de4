"""Networks in torch behind the runtime's protocol: placement, precision, ties and draws."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from pretended_device import Placed, pretended_device
from search_models import TEXTS, random_model
from syntagma.errors import ConfigError
from syntagma.network.batch import Example, make_batch
from syntagma.network.config import Architecture
from syntagma.network.contexts import AnnotatedContext
from syntagma.runtime.base import Draw, Mask, WordSet, score_texts
from syntagma.runtime.device import find_device
from syntagma.runtime.torch import TorchRuntime, top, widest
from syntagma.search import Generator, SearchOptions
from syntagma.text import Subwords, split

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
ARCHITECTURES: list[Architecture] = ["extra-encoder", "extra-attention", "concat", "seq2seq"]
EXTRAS = {"copy": True, "label_index": True, "history": True}


class PlacedRuntime(Placed, TorchRuntime):
    """Our networks there."""


FEW = WordSet(np.arange(20, 200))


def mask_of(runtime: TorchRuntime, rows: int) -> Mask:
    words = [FEW if row % 2 else None for row in range(rows)]
    denied, asked = np.array([[0, 30]]), np.array([[rows - 1, 25], [0, 30]])
    return Mask(np.ones((rows, len(runtime.config.controls)), np.bool_), words, denied, asked)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_everything_stays_on_the_device(architecture: Architecture) -> None:
    extras = {"copy": True} if architecture == "seq2seq" else EXTRAS | {"seq2seq_objective": True}
    network = random_model(SUBWORDS, 1, architecture, **extras)
    config = network.config
    with pretended_device() as mode:
        runtime = PlacedRuntime(network, mode)
        sources = runtime.encode([[20, 21, 22], [30, 31]])
        top_context = AnnotatedContext.plain([config.labels[0]], config)
        contexts = [top_context] * 3 if config.guided else None
        state = runtime.open([sources[0], sources[1], sources[0]], contexts)
        first = [config.start, config.part] if config.guided else [config.start]
        step = runtime.step(state, np.arange(3), np.array([first] * 3), mask_of(runtime, 3), 4)
        late = runtime.open([sources[1]], contexts and contexts[:1])
        late_step = runtime.step(late, np.arange(1), np.array([first]), mask_of(runtime, 1), 4)
        joined = runtime.join([step.state, late_step.state])
        reads = mode.reads
        before = dict(runtime.crossings)
        step = runtime.step(joined, np.array([2, 2, 0, 3, 1]), np.array([[40]] * 5), mask_of(runtime, 5), 4)
        assert (runtime.crossings["send"] - before["send"], runtime.crossings["fetch"] - before["fetch"]) == (1, 1)
        step = runtime.step(step.state, np.arange(5), np.array([[41]] * 5), mask_of(runtime, 5), 4)
        draw = Draw(np.linspace(0, 0.9, 5), 1.3, 0.9)
        step = runtime.step(step.state, np.array([1, 0, 2]), np.array([[41]] * 3), mask_of(runtime, 3), 1, Draw(
            draw.uniforms[:3], draw.temperature, draw.top_p))  # fmt: skip
        assert mode.reads == reads  # no step waits for a value
        assert np.isfinite(step.scores).all()
        assert all(np.isfinite(score_texts(runtime, [([20, 21], [30, 31]), ([20], [33])])))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_loss_stays_on_the_device(architecture: Architecture) -> None:
    extras = {"copy": True} if architecture == "seq2seq" else EXTRAS
    network = random_model(SUBWORDS, 1, architecture, **extras).train()
    level = ([network.config.labels[0]] if network.config.guided else [], [network.config.part, 40, 41])
    batch = make_batch([Example([20, 21], [level]), Example([30], [level])], network.config)
    tensors = [value for value in tree_leaves(vars(batch)) if isinstance(value, Tensor)]
    tensors += list(vars(batch.contexts).values()) if batch.contexts is not None else []
    with pretended_device() as mode:
        mode.put(*network.parameters(), *network.buffers(), *tensors)
        loss = network.loss(batch, 0.1)
    assert torch.isfinite(loss.total)


def test_a_mixture_is_noticed() -> None:
    with pretended_device() as mode:
        there = torch.ones(3)
        mode.put(there)
        assert (there + there).sum() == 6
        with pytest.raises(RuntimeError, match="mixes"):
            there + torch.ones(3)
        with pytest.raises(RuntimeError, match="mixes"):
            there[torch.tensor([0, 1])]


@given(st.integers(1, 3), st.integers(1, 9), st.integers(1, 400), st.randoms())
@settings(max_examples=40)
def test_of_equal_scores_the_lower_place_comes_first(rows: int, count: int, size: int, chance: Any) -> None:
    scores = [[chance.choice([-1.5, -0.0, 0.0, 2.0, float("-inf")]) for _ in range(size)] for _ in range(rows)]
    _, places = top(torch.tensor(scores), count, block=16)
    for row, found in zip(scores, places.tolist(), strict=True):
        tidy = [value + 0.0 for value in row]
        expected = sorted(range(size), key=lambda place: (-tidy[place], place))[:count]
        assert [tidy[place] for place in found] == [tidy[place] for place in expected]
        assert len(set(found)) == len(found)
        positive = [place for place in expected if tidy[place] not in (0.0,)]
        assert [place for place in found if tidy[place] not in (0.0,)] == positive


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_half_precision_is_close_and_leaves_the_network_alone(architecture: Architecture, precision: str) -> None:
    extras = {"copy": True} if architecture == "seq2seq" else EXTRAS
    network = random_model(SUBWORDS, 1, architecture, **extras)
    exact, half = TorchRuntime(network), TorchRuntime(network, precision=precision)
    assert {weight.dtype for weight in network.parameters()} == {torch.float32}
    assert all(weight.dtype is not torch.float32 for weight in half.network.parameters())
    pairs = [([20, 21], [30, 31, 32])]
    if exact.capabilities.scores_texts:
        assert score_texts(half, pairs) == pytest.approx(score_texts(exact, pairs), rel=0.05)
    options = SearchOptions(beam=2, max_depth=3, max_tokens=8)
    (found,) = Generator(half, SUBWORDS, options).stream([TEXTS[0]])
    assert isinstance(found, list)
    assert found


class WithoutDoubles(TorchDispatchMode):
    """Refuses what MPS lacks."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        if any(isinstance(leaf, Tensor) and leaf.dtype == torch.float64 for leaf in tree_leaves(made)):
            raise TypeError(f"{function} makes float64")
        return made


@pytest.mark.parametrize("doubles", [True, False])
def test_draws_follow_the_numbers_given(doubles: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not doubles:
        monkeypatch.setattr("syntagma.runtime.torch.widest", lambda device: torch.float32)
    runtime = TorchRuntime(random_model(SUBWORDS, 1, "seq2seq"))
    config, (source,) = runtime.config, runtime.encode([[20, 21]])
    words = WordSet(np.array([40, 50, 60]))
    mask = Mask(np.zeros((1, len(config.controls)), np.bool_), [words])
    start = np.array([[config.start]])

    def step(k: int, draw: Draw | None = None) -> Any:
        with nullcontext() if doubles else WithoutDoubles():
            return runtime.step(runtime.open([source], None), np.array([0]), start, mask, k, draw)

    ordered = step(3)
    chances = np.exp(ordered.scores[0].astype(np.float64))
    shares = np.cumsum(chances / chances.sum())
    for number in (0.0, shares[0] - 1e-4, shares[0] + 1e-4, shares[1] + 1e-4, 0.99999, 1 - 1e-12):
        drawn = step(1, Draw(np.array([number])))
        assert drawn.tokens[0, 0] == ordered.tokens[0, int(np.searchsorted(shares[:2], number, side="right"))]
        assert drawn.scores[0, 0] == pytest.approx(
            ordered.scores[0, ordered.tokens[0].tolist().index(drawn.tokens[0, 0])], abs=1e-5
        )
    assert step(1, Draw(np.array([0.99999]), top_p=1e-6)).tokens[0, 0] == ordered.tokens[0, 0]


def test_mps_has_no_doubles() -> None:
    assert [widest(torch.device(name)) for name in ("cpu", "cuda", "mps")] == [torch.float64] * 2 + [torch.float32]


def test_a_device_that_is_not_there_is_said() -> None:
    assert find_device("cpu") == torch.device("cpu")
    with pytest.raises(ConfigError, match="'cuda:7' is not here; give another, or auto"):
        find_device("cuda:7")
    with pytest.raises(ConfigError, match="'abacus' is no device"):
        find_device("abacus")
    with pytest.raises(ConfigError, match="'fp8' is no precision; give one of fp32, bf16, fp16"):
        TorchRuntime(random_model(SUBWORDS), precision="fp8")
