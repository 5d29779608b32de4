"""The loop: steps, validations, checkpoints, until the plan is done, patience runs out, or someone stops it."""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from syntagma.errors import ConfigError, Place
from syntagma.runs.checkpoint import (
    Checkpoint,
    listed_best,
    load_checkpoint,
    optimizer_tensors,
    restore_optimizer,
    save_checkpoint,
)
from syntagma.runs.folder import CHECKPOINTS, RunResult
from syntagma.runs.log import Display, Log
from syntagma.runs.schedule import IGNORED, Plan, learning_rate, planned_steps, step_limit
from syntagma.runs.signals import Signals
from syntagma.train.average import BestWeights
from syntagma.train.config import TrainConfig
from syntagma.train.data import Data, Levels, Position, ahead, walk
from syntagma.train.engine import Engine
from syntagma.train.material import Material
from syntagma.train.state import TrainState, Window
from syntagma.train.step import Diverged, Loaded, Stepper, Taken, TrainStep
from syntagma.train.validate import Validation, Validator, validate


class Trainer:
    """One run in one folder."""

    def __init__(
        self,
        config: TrainConfig,
        engine: Engine,
        material: Material,
        data: Data,
        validator: Validator,
        out: Path,
        *,
        identity: str = "",
        quiet: bool = False,
        tensorboard: bool = False,
    ) -> None:
        self.config = config
        self.engine = engine
        self.material = material
        self.network = network = material.network
        self.validator = validator
        self.out = out
        self.identity = identity
        self.tensorboard = tensorboard
        self.main = engine.rank == 0
        self.display = Display(quiet or not self.main)
        controls = frozenset((network.config.part, *network.config.labels))
        levels = Levels(config.level_floor, config.seed, controls) if config.level_floor < 1 else None
        self.stepper = Stepper(config, engine, network, data, levels)
        self.batches = data.batches(config.batch_tokens, config.seed, config.batch_sentences)
        self.limit = step_limit(config, len(self.batches) / config.accumulate)
        self.best = BestWeights(out / "best", config.keep_best)
        self.state = TrainState(Plan.begin(config, self.limit))
        self.reserve = 60 * (config.minutes or 0) * 0.02
        self._saved_at = time.monotonic()

    # -- going on

    def resume(self) -> bool:
        """Take up the newest whole checkpoint; whether there was one."""
        checkpoint = load_checkpoint(self.out / CHECKPOINTS) if self.main else None
        checkpoint = self.engine.broadcast(checkpoint)
        if checkpoint is not None:
            self.network.load_state_dict(checkpoint.weights)
            restore_optimizer(self.stepper.optimizer, self.stepper.weights, checkpoint.optimizer)
            values = dict(checkpoint.state)
            if values.pop("identity") != self.identity:
                what = "the corpus is not the one that this run was begun with"
                raise ConfigError(what, Place(self.config.data), "give the corpus as it was, or another --out")
            self.state = TrainState.from_dict(values)
            if self.state.scaler:
                self.stepper.scaler.load_state_dict(self.state.scaler)
            self.best.from_list(self.state.best)
        return checkpoint is not None

    def save(self) -> None:
        """Write a checkpoint of where the run is."""
        self._saved_at = time.monotonic()
        if not self.main:
            return
        self.state.best = self.best.to_list()
        self.state.scaler = self.stepper.scaler.state_dict()
        weights = dict(self.network.state_dict())
        tensors = optimizer_tensors(self.stepper.optimizer, self.stepper.weights)
        values = self.state.to_dict() | {"identity": self.identity}
        save_checkpoint(self.out / CHECKPOINTS, self.state.step, Checkpoint(weights, tensors, values))
        self.best.sweep(listed_best(self.out / CHECKPOINTS))

    # -- the loop

    def run(self) -> RunResult:
        """Train until the end or a signal; a checkpoint is written in both cases."""
        self.network.train()
        log = Log(self.out, self.state.step, self.tensorboard) if self.main else None
        signal = None
        with self.display, Signals(self.display.quiet) as signals, closing(self.upcoming()) as upcoming:
            try:
                for number, batches in enumerate(upcoming, self.state.step):
                    signal = self._iterate(number, batches, signals, log)
                    if signal is not None or self._done():
                        break
                if signal is None:
                    if self.state.validated != self.state.step:
                        self._validate(log)
                    self.save()
            finally:
                if log is not None:
                    log.close()
        return RunResult(self.state.step, self.state.seconds, self.state.figures, signal, self.main)

    def upcoming(self) -> Generator[list[Loaded], None, None]:
        """The batches of each step that is still to come, loaded while the steps before them are taken."""
        if self._done():
            return

        def load(walked: tuple[Position, Position, list[int]]) -> tuple[Position, Loaded]:
            position, after, numbers = walked
            return after, self.stepper.load(Taken(position, numbers))

        batches: list[Loaded] = []
        with closing(ahead(load, walk(self.batches, self.state.position))) as loaded:
            for after, batch in loaded:
                batches.append(batch)
                if len(batches) == self.config.accumulate:
                    self._after = after
                    yield batches
                    batches = []

    def _iterate(self, number: int, batches: list[Loaded], signals: Signals, log: Log | None) -> int | None:
        """One step with what follows it; the signal that stops the run, if any."""
        start = time.monotonic()
        state = self.state
        rate = learning_rate(self.config, state.plan, number)
        step = self.stepper.step(number, batches, rate, self._planned(), signals.received is not None)
        state.step = number + 1
        state.position = self._after
        self._count(step, time.monotonic() - start)
        replanned = self._replan(step.planned, log)
        if state.step % self.config.log_every == 0:
            self._report(rate, log)
        if state.step % self.config.validate_every == 0 and not self._done():
            begun = time.monotonic()
            self._validate(log)
            self.reserve = 2.5 * (time.monotonic() - begun) + 1.0
        state.seconds += time.monotonic() - start
        late = time.monotonic() - self._saved_at > 60 * self.config.save_minutes
        due = state.step % self.config.save_every == 0 or state.validated == state.step
        if (due or late or replanned or step.stop) and not (self._done() and not step.stop):
            begun = time.monotonic()
            self.save()
            state.seconds += time.monotonic() - begun
        return (signals.received or 15) if step.stop else None

    def _done(self) -> bool:
        steps = self.state.plan.steps if self.state.plan.steps is not None else self.limit
        return self.state.enough or (steps is not None and self.state.step >= steps)

    def _planned(self) -> int:
        """The number of steps that the clock now allows in all; 0 where the plan stands."""
        state, minutes = self.state, self.config.minutes
        if minutes is None or not self.main:
            return 0
        if state.plan.steps is None and state.step == IGNORED:
            state.planned_seconds, state.planned_step = state.seconds, state.step
        return planned_steps(state.clock(minutes, self.reserve), state.plan, self.limit, self.config.replan) or 0

    def _replan(self, planned: int, log: Log | None) -> bool:
        state = self.state
        if not planned:
            return False
        if planned == state.step and state.plan.steps is not None and state.step < 0.95 * state.plan.steps:
            what = f"the time was over after step {state.step:,} of {state.plan.steps:,} that were planned"
            self.display.say(f"{what}, as the machine became slower; the learning rate has not come to its end")
        state.plan = state.plan.replanned(state.step, planned)
        state.planned_seconds, state.planned_step = state.seconds, state.step
        if log is not None:
            log.write("plan", state.step, steps=state.plan.steps, seconds=state.seconds)
        return True

    # -- what is told

    def _count(self, step: TrainStep, seconds: float) -> None:
        window = self.state.window
        self.state.window = replace(
            window,
            total=window.total + step.total,
            nll=window.nll + step.nll,
            correct=window.correct + step.correct,
            tokens=window.tokens + step.tokens,
            norm=window.norm + (step.norm if math.isfinite(step.norm) else 0.0),
            steps=window.steps + 1,
            skipped=window.skipped + (not math.isfinite(step.norm)),
            seconds=window.seconds + seconds,
        )

    def _report(self, rate: float, log: Log | None) -> None:
        state = self.state
        figures = state.window.figures()
        if self.stepper.scaler.is_enabled():
            figures |= {"loss_scale": self.stepper.scaler.get_scale(), "skipped_steps": state.window.skipped}
        if log is not None:
            log.write("train", state.step, epoch=state.epoch, lr=rate, **figures, seconds=state.seconds)
        text = f"loss {figures['nll']:.3f}, {figures['tokens_per_second']:,.0f} tokens/s"
        self.display.show(state.step, state.plan.steps or self.limit, text, self._left())
        state.window = Window()

    def _left(self) -> float | None:
        state = self.state
        if self.config.minutes is not None:
            return max(0.0, 60 * self.config.minutes - state.seconds)
        steps = state.plan.steps
        return None if steps is None else (steps - state.step) * state.seconds / max(state.step, 1)

    def _validate(self, log: Log | None) -> None:
        state = self.state
        validation = self.check(validate(self.validator, self.network))
        state.validated, state.figures = state.step, validation.figures
        weights = dict(self.network.state_dict())
        best = self.engine.broadcast(self.main and self.best.offer(state.step, validation.score, weights))
        state.waited = 0 if best else state.waited + 1
        state.enough = 0 < self.config.patience <= state.waited
        if log is not None:
            values: dict[str, Any] = validation.figures
            log.write("validation", state.step, epoch=state.epoch, **values, score=validation.score, best=best)
        figures = ", ".join(f"{name} {value:.4g}" for name, value in validation.figures.items())
        self.display.say(f"validation after step {state.step:,}: {figures}{' (best)' if best else ''}")

    def check(self, validation: Validation) -> Validation:
        """The validation, unless its score is no number."""
        if not math.isfinite(validation.score):
            what = f"the validation after step {self.state.step} gives no number; the last good checkpoint is kept"
            raise Diverged(what, remedy="start a new run with a smaller lr or a longer warmup")
        return validation
