"""One step: batches in, gradients, new weights.

The loss is a sum over tokens, of all batches and processes; gradients are divided by the number of tokens once, when
they are clipped.  So the same examples give the same step however they are divided.  Chance (dropout) is drawn from the
seed and the step's number, so a step can be repeated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from syntagma.errors import SyntagmaError
from syntagma.network.batch import Batch
from syntagma.network.interface import Learns
from syntagma.stopwatch import OTHER, Stopwatch
from syntagma.train.config import TrainConfig
from syntagma.train.data import Levels, Position, share
from syntagma.train.engine import Engine
from syntagma.train.profile import DATA, OPTIMISER, OUTPUT, SOURCE


class Diverged(SyntagmaError):
    """A loss or gradient that is no number any more."""


class Taken(NamedTuple):
    """A batch that a step takes: where it stands, and its examples."""

    position: Position
    numbers: Sequence[int]


class TrainStep(NamedTuple):
    """What a step found, summed over all processes, and what the first process and the signals said."""

    total: float
    nll: float
    correct: float
    tokens: float
    norm: float
    planned: int
    stop: bool


class Source(Protocol):
    """What batches are made from: `syntagma.train.data.Data`."""

    def batch(self, numbers: Sequence[int], levels: Levels | None = None, epoch: int = 0, /) -> Batch:
        """Some examples as tensors."""


class Stepper:
    """The optimiser with all that it needs for a step."""

    def __init__(
        self, config: TrainConfig, engine: Engine, network: Learns, data: Source, levels: Levels | None
    ) -> None:
        self.config = config
        self.engine = engine
        self.network = network
        self.module = engine.wrap(network)
        self.data = data
        self.levels = levels
        self.weights = dict(network.named_parameters())
        self.optimizer = make_optimizer(config, network)
        self.watch = Stopwatch()

    def step(
        self, number: int, batches: Sequence[Taken], rate: float, planned: int = 0, stop: bool = False
    ) -> TrainStep:
        """Take the step that follows `number` others; `planned` and `stop` are passed on to all processes."""
        sums = torch.zeros(6, dtype=torch.float64)
        for at, taken in enumerate(batches):
            sums[:4] += self._backward(number, at, taken, last=at + 1 == len(batches))
        self.watch.switch(OPTIMISER)
        sums[4], sums[5] = planned, stop
        total, nll, correct, tokens, *said = self.engine.all_reduce(sums).tolist()
        gradients = [weight.grad for weight in self.weights.values() if weight.grad is not None]
        norm = float(torch.nn.utils.get_total_norm(gradients)) * self.engine.world / max(tokens, 1.0)
        if not (math.isfinite(total) and math.isfinite(norm)):
            raise _diverged(total, number, batches)
        clip = self.config.clip
        factor = min(1.0, clip / (norm + 1e-6)) if clip else 1.0
        for gradient in gradients:
            gradient.mul_(factor * self.engine.world / max(tokens, 1.0))
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.watch.switch(OTHER)
        return TrainStep(total, nll, correct, tokens, norm, int(said[0]), bool(said[1]))

    def _backward(self, number: int, at: int, taken: Taken, last: bool) -> Tensor:
        """Gradients of this process's share of a batch; its sums [total, nll, correct, tokens]."""
        self.watch.switch(DATA)
        mine, counts = share(taken.numbers, self.engine.rank, self.engine.world)
        batch = self.data.batch(mine, self.levels, taken.position.epoch).to(self.engine.device)
        self.watch.switch(SOURCE)
        torch.manual_seed(_seed(self.config.seed, number, at, self.engine.rank))
        with self.engine.precision():
            loss, sums = self.module(batch, self.config.smoothing)
        self.watch.switch(OUTPUT)
        self.engine.backward(self.module, loss if counts else loss * 0.0, last)
        found: Tensor = sums.cpu()
        return found if counts else torch.zeros_like(found)


def make_optimizer(config: TrainConfig, network: Learns) -> torch.optim.AdamW:
    """AdamW; vectors (biases and norms) do not decay."""
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    groups = [
        {"params": [weight for weight in weights if weight.dim() > 1], "weight_decay": config.weight_decay},
        {"params": [weight for weight in weights if weight.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=config.lr, betas=(0.9, 0.98), eps=1e-8, fused=True)


def _seed(*parts: int) -> int:
    return int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0] >> 1)


def _diverged(total: float, number: int, batches: Sequence[Taken]) -> Diverged:
    what = "the loss is not a number any more" if not math.isfinite(total) else "the gradient is not a number any more"
    where = " and ".join(f"batch {taken.position.batch} of epoch {taken.position.epoch}" for taken in batches)
    first = ", ".join(str(at) for at in batches[0].numbers[:5])
    return Diverged(
        f"{what} at step {number + 1} ({where}, examples {first}, ...); the last good checkpoint is kept",
        remedy="start a new run with a smaller lr, a longer warmup or a smaller clip",
    )
