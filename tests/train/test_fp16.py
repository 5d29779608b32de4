"""fp16 with loss scaling: overflow skips a step and shrinks the scale, and a run that was stopped goes on exactly."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from syntagma.corpus import Corpus
from syntagma.train import TrainConfig, train
from syntagma.train.engine import Engine, compute_dtype
from syntagma.train.run import make_trainer
from syntagma.train.step import LEAST_SCALE, Diverged
from syntagma.train.trainer import Trainer
from train.test_resume import stop_after
from train.toy import read_log

Configure = Callable[..., TrainConfig]


@pytest.fixture
def trainer(configure: Configure, corpus: Corpus, tmp_path: Path) -> Trainer:
    config = configure(precision="fp16", dropout=0.0)
    return make_trainer(config, corpus, Engine(config), tmp_path, quiet=True)


def weights_of(trainer: Trainer) -> list[torch.Tensor]:
    return [weight.detach().clone() for weight in trainer.stepper.weights.values()]


def set_scale(trainer: Trainer, scale: float) -> None:
    trainer.stepper.scaler.load_state_dict(trainer.stepper.scaler.state_dict() | {"scale": scale})


def test_the_loss_scale_does_not_change_a_step(trainer: Trainer, configure: Configure, corpus: Corpus) -> None:
    config = configure(precision="fp32", dropout=0.0)
    plain = make_trainer(config, corpus, Engine(config), trainer.out, quiet=True)
    with torch.no_grad():
        for mine, its in zip(trainer.stepper.weights.values(), plain.stepper.weights.values(), strict=True):
            mine.copy_(its)
    fp16, fp32 = (one.stepper.step(0, next(one.upcoming()), 0.01) for one in (trainer, plain))
    assert fp16.norm == pytest.approx(fp32.norm, rel=0.02)
    assert fp16.total == pytest.approx(fp32.total, rel=0.01)
    assert trainer.stepper.scaler.is_enabled()
    assert not plain.stepper.scaler.is_enabled()


def test_an_overflow_skips_the_step_and_halves_the_scale(trainer: Trainer) -> None:
    stepper = trainer.stepper
    batches = next(trainer.upcoming())
    set_scale(trainer, 2.0**100)
    before = weights_of(trainer)
    skipped = stepper.step(0, batches, 0.01)
    assert math.isfinite(skipped.total)
    assert not math.isfinite(skipped.norm)
    assert all(torch.equal(old, new) for old, new in zip(before, weights_of(trainer), strict=True))
    assert stepper.scaler.get_scale() == 2.0**99
    steps = 1
    while not math.isfinite(stepper.step(steps, batches, 0.01).norm):
        steps += 1
    assert 1 < steps < 100
    assert not any(torch.equal(old, new) for old, new in zip(before, weights_of(trainer), strict=True))
    assert all(bool(weight.isfinite().all()) for weight in weights_of(trainer))


def test_an_overflow_at_the_least_scale_ends_the_run(trainer: Trainer) -> None:
    weight = next(iter(trainer.stepper.weights.values()))
    weight.register_hook(lambda gradient: gradient * math.inf)  # type: ignore[no-untyped-call]
    set_scale(trainer, LEAST_SCALE * 2)
    batches = next(trainer.upcoming())
    assert not math.isfinite(trainer.stepper.step(0, batches, 0.01).norm)
    with pytest.raises(Diverged, match="the gradient is not a number any more at step 2"):
        trainer.stepper.step(1, batches, 0.01)


def test_a_stopped_run_goes_on_with_its_scale(configure: Configure, tmp_path: Path) -> None:
    config = configure(precision="fp16")
    train(config, tmp_path / "whole", quiet=True)
    stop_after(tmp_path / "killed", config, 13)
    path = tmp_path / "killed" / "checkpoints" / "step-00000010" / "state.json"
    scaler = json.loads(path.read_text())["scaler"]
    assert scaler["scale"] > 0
    assert scaler["_growth_tracker"] > 0
    train(config, tmp_path / "killed", quiet=True)
    whole, killed = (tmp_path / name / "model.safetensors" for name in ("whole", "killed"))
    assert whole.read_bytes() == killed.read_bytes()
    logged = [line for line in read_log(tmp_path / "killed") if line["event"] == "train"]
    assert all(line["loss_scale"] > 0 and line["skipped_steps"] >= 0 for line in logged)
    assert logged == [line for line in read_log(tmp_path / "whole") if line["event"] == "train"]


@pytest.mark.parametrize(("bf16", "dtype"), [(True, torch.bfloat16), (False, torch.float16)])
def test_auto_is_fp16_on_a_gpu_without_bf16(
    configure: Configure, monkeypatch: pytest.MonkeyPatch, bf16: bool, dtype: torch.dtype
) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: bf16 or including_emulation)
    assert compute_dtype(configure(precision="auto"), torch.device("cuda")) == dtype
    assert compute_dtype(configure(precision="auto"), torch.device("cpu")) != torch.float16
