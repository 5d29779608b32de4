"""Killed at any step and started again, a run ends with the weights of one that was never stopped."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from syntagma.runs.checkpoint import CheckpointError
from syntagma.train import TrainConfig, train
from train.toy import read_log, train_without_room

Configure = Callable[..., TrainConfig]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, configure: Configure) -> Path:
    out = tmp_path_factory.mktemp("runs") / "whole"
    train(configure(), out, quiet=True)
    return out


def steps_done(out: Path) -> int:
    if not (out / "log.jsonl").exists():
        return 0
    lines = (out / "log.jsonl").read_text().splitlines()
    return max((json.loads(line)["step"] for line in lines if line.endswith("}")), default=0)


@pytest.mark.parametrize("seed", range(3))
def test_sigkill_at_random_steps(
    seed: int, whole: Path, configure: Configure, tmp_path: Path, processes: ForkServerContext
) -> None:
    chance = random.Random(seed)
    out = tmp_path / "run"
    kills = 0
    for _ in range(20):
        process = processes.Process(target=train, args=(configure(), out), kwargs={"quiet": True})
        process.start()
        goal = steps_done(out) + chance.randrange(1, 6)
        while process.is_alive() and steps_done(out) < goal:
            time.sleep(0.002)
        if kills < 4 and process.is_alive():
            time.sleep(chance.random() * 0.03)
            process.kill()
        process.join()
        kills += process.exitcode == -signal.SIGKILL
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
    assert kills >= 2
    assert (out / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    for name in ("weights", "optimizer"):
        path = f"checkpoints/step-00000024/{name}.safetensors"
        assert (out / path).read_bytes() == (whole / path).read_bytes()
    assert read_log(out) == read_log(whole)
    assert not list(out.glob("**/.*.part"))


def test_sigterm_saves_and_says_how_to_go_on(
    whole: Path, configure: Configure, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from syntagma.train import trainer

    class Asked(trainer.Stepper):
        def step(self, number: int, *rest: object, **more: object) -> object:  # type: ignore[override]
            if number == 10:
                os.kill(os.getpid(), signal.SIGTERM)
            return super().step(number, *rest, **more)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "Stepper", Asked)
        result = train(configure(), tmp_path, command="syntagma train --data corpus --out run lr=1")
    assert result.signal == signal.SIGTERM
    assert (
        f"stopped and saved after step {result.step}; go on with: syntagma train --out {tmp_path}"
        in capfd.readouterr().err
    )
    assert result.step == 12
    assert train(configure(), tmp_path).signal is None
    assert '"command": "syntagma train --data corpus --out run lr=1"' in (tmp_path / "config.json").read_text()
    assert (tmp_path / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    capfd.readouterr()
    assert train(configure(), tmp_path).step == 24
    assert f"this run is finished, its model is in {tmp_path}" in capfd.readouterr().err


@pytest.mark.parametrize("file", ["weights.safetensors", "optimizer.safetensors", "state.json", "checksums.json"])
def test_a_damaged_checkpoint_is_passed_over(
    file: str, whole: Path, configure: Configure, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    stop_after(tmp_path, configure(), 13)
    newest = tmp_path / "checkpoints" / "step-00000010"
    assert sorted(path.name for path in newest.parent.iterdir()) == ["step-00000007", "step-00000010"]
    content = bytearray((newest / file).read_bytes())
    content[len(content) // 2] ^= 1
    (newest / file).write_bytes(content)
    train(configure(), tmp_path)
    line = next(line for line in capfd.readouterr().err.splitlines() if "damaged" in line)
    assert line.startswith("syntagma: the checkpoint step-00000010 is damaged (")
    assert line.endswith("going on from step-00000007 instead")
    assert (tmp_path / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_all_damaged(configure: Configure, tmp_path: Path) -> None:
    stop_after(tmp_path, configure(), 13)
    for folder in (tmp_path / "checkpoints").iterdir():
        (folder / "weights.safetensors").unlink()
    with pytest.raises(CheckpointError, match="no checkpoint here is whole; remove the folder to start anew"):
        train(configure(), tmp_path, quiet=True)


def test_a_disk_that_is_full(whole: Path, configure: Configure, tmp_path: Path, processes: ForkServerContext) -> None:
    stop_after(tmp_path, configure(), 6)
    before = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    reports, told = processes.Pipe(duplex=False)
    process = processes.Process(target=train_without_room, args=(configure(), tmp_path, told))
    process.start()
    sentence = reports.recv()
    process.join()
    assert "the checkpoint could not be written (" in sentence
    assert "the last one is untouched; make room and give the same command again" in sentence
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == before
    train(configure(), tmp_path, quiet=True)
    assert (tmp_path / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_a_plan_made_by_the_clock_is_kept(configure: Configure, tmp_path: Path) -> None:
    config = configure(minutes=1000, steps=50, schedule="cosine", validate_every=50, save_every=50)
    train(config, tmp_path / "whole", quiet=True)
    stop_after(tmp_path / "killed", config, 45)
    assert [path.name for path in (tmp_path / "killed" / "checkpoints").iterdir()] == ["step-00000036"]
    train(config, tmp_path / "killed", quiet=True)
    whole, killed = (tmp_path / name / "model.safetensors" for name in ("whole", "killed"))
    assert whole.read_bytes() == killed.read_bytes()


class KilledError(Exception):
    """Ends a run in its middle without a word."""


def stop_after(out: Path, config: TrainConfig, steps: int) -> None:
    """A run that is gone after some steps."""
    from syntagma.train import trainer

    class Fragile(trainer.Stepper):
        def step(self, number: int, *rest: object, **more: object) -> object:  # type: ignore[override]
            if number == steps:
                raise KilledError
            return super().step(number, *rest, **more)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "Stepper", Fragile)
        with pytest.raises(KilledError):
            train(config, out, quiet=True)
