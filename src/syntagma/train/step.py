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
from syntagma.train.profile import OPTIMISER, OUTPUT, SOURCE

LEAST_SCALE = 2.0**-14
"""If gradients overflow even at this loss scale, it is not for fp16's range."""


class Diverged(SyntagmaError):
    """A loss or gradient that is no number any more."""


class Taken(NamedTuple):
    """A batch that a step takes: where it stands, and its examples."""

    position: Position
    numbers: Sequence[int]


class Loaded(NamedTuple):
    """This process's share of a batch on its device; where nothing is left for it, a share that does not count."""

    taken: Taken
    batch: Batch
    counts: bool


class TrainStep(NamedTuple):
    """The sums of a step over all processes, with the plan of the first process and the signals."""

    total: float
    nll: float
    correct: float
    tokens: float
    norm: float
    planned: int
    stop: bool


class Source(Protocol):
    """The interface of what batches are made from: `syntagma.train.data.Data`."""

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
        self.scaler = make_scaler(config, engine)
        self.watch = Stopwatch()

    def load(self, taken: Taken) -> Loaded:
        """Collate this process's share of a batch and bring it to the device."""
        numbers, counts = share(taken.numbers, self.engine.rank, self.engine.world)
        batch = self.data.batch(numbers, self.levels, taken.position.epoch)
        return Loaded(taken, batch.to(self.engine.device), counts)

    def step(
        self, number: int, batches: Sequence[Loaded], rate: float, planned: int = 0, stop: bool = False
    ) -> TrainStep:
        """Take the step that follows `number` others; `planned` and `stop` are passed on to all processes.

        In fp16 a step whose gradients overflow is skipped, and the next one has a smaller loss scale.
        """
        sums = torch.zeros(6, dtype=torch.float64)
        for index, loaded in enumerate(batches):
            sums[:4] += self._backward(number, index, loaded, last=index + 1 == len(batches))
        self.watch.switch(OPTIMISER)
        sums[4], sums[5] = planned, stop
        total, nll, correct, tokens, *flags = self.engine.all_reduce(sums).tolist()
        self.scaler.unscale_(self.optimizer)
        gradients = [weight.grad for weight in self.weights.values() if weight.grad is not None]
        norm = float(torch.nn.utils.get_total_norm(gradients)) * self.engine.world / max(tokens, 1.0)
        overflow = not math.isfinite(norm) and self.scaler.is_enabled() and self.scaler.get_scale() > LEAST_SCALE
        if not math.isfinite(total) or not (math.isfinite(norm) or overflow):
            raise _diverged(total, number, [loaded.taken for loaded in batches])
        clip = self.config.clip
        factor = min(1.0, clip / (norm + 1e-6)) if clip else 1.0
        for gradient in gradients:
            gradient.mul_(factor * self.engine.world / max(tokens, 1.0))
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        self.watch.switch(OTHER)
        return TrainStep(total, nll, correct, tokens, norm, int(flags[0]), bool(flags[1]))

    def _backward(self, number: int, index: int, loaded: Loaded, last: bool) -> Tensor:
        """Gradients of a batch; its sums [total, nll, correct, tokens]."""
        self.watch.switch(SOURCE)
        torch.manual_seed(_seed(self.config.seed, number, index, self.engine.rank))
        with self.engine.precision():
            loss, sums = self.module(loaded.batch, self.config.smoothing)
        self.watch.switch(OUTPUT)
        self.engine.backward(self.module, self.scaler.scale(loss if loaded.counts else loss * 0.0), last)
        total: Tensor = sums.cpu()
        return total if loaded.counts else torch.zeros_like(total)


def make_optimizer(config: TrainConfig, network: Learns) -> torch.optim.AdamW:
    """AdamW; vectors (biases and norms) do not decay."""
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    groups = [
        {"params": [weight for weight in weights if weight.dim() > 1], "weight_decay": config.weight_decay},
        {"params": [weight for weight in weights if weight.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=config.lr, betas=(0.9, 0.98), eps=1e-8, fused=True)


def make_scaler(config: TrainConfig, engine: Engine) -> torch.amp.GradScaler:
    """A loss scale that keeps small gradients above zero in fp16; in other precisions it does nothing.

    The loss is a sum over tokens, not a mean, so the scale begins lower than usual by their number.
    """
    scale = max(LEAST_SCALE, 2.0 ** round(16 - math.log2(config.batch_tokens)))
    return torch.amp.GradScaler(engine.device.type, init_scale=scale, enabled=engine.dtype == torch.float16)


def _seed(*parts: int) -> int:
    return int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0] >> 1)


def _diverged(total: float, number: int, batches: Sequence[Taken]) -> Diverged:
    what = "the loss is not a number any more" if not math.isfinite(total) else "the gradient is not a number any more"
    where = " and ".join(f"batch {taken.position.batch} of epoch {taken.position.epoch}" for taken in batches)
    first = ", ".join(str(pair) for pair in batches[0].numbers[:5])
    return Diverged(
        f"{what} at step {number + 1} ({where}, examples {first}, ...); the last good checkpoint is kept",
        remedy="start a new run with a smaller lr, a longer warmup or a smaller clip",
    )
