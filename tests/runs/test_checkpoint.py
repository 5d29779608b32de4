"""Checkpoints alone, without a run around them."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
import torch

from syntagma.runs import checkpoint as module
from syntagma.runs.checkpoint import (
    Checkpoint,
    CheckpointError,
    damage,
    disk_errors,
    list_checkpoints,
    listed_best,
    load_checkpoint,
    optimizer_tensors,
    restore_optimizer,
    save_checkpoint,
    save_weights,
    sweep,
)


def made(step: int) -> Checkpoint:
    weights = {"w": torch.full((2, 3), float(step))}
    return Checkpoint(weights, {"exp_avg/w": torch.ones(2, 3)}, {"step": step, "best": [{"step": step}]})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_last_two_are_kept_and_the_newest_is_taken(tmp_path: Path) -> None:
    assert load_checkpoint(tmp_path / "none") is None
    assert list_checkpoints(tmp_path / "none") == []
    for step in (3, 20, 100):
        assert save_checkpoint(tmp_path, step, made(step)) == tmp_path / f"step-{step:08d}"
    assert names(tmp_path) == ["step-00000020", "step-00000100"]
    taken = load_checkpoint(tmp_path)
    assert taken is not None
    assert taken.state == {"step": 100, "best": [{"step": 100}]}
    assert taken.weights["w"].tolist() == [[100.0] * 3] * 2
    assert taken.optimizer["exp_avg/w"].tolist() == [[1.0] * 3] * 2
    assert listed_best(tmp_path) == {20, 100}
    save_checkpoint(tmp_path, 100, made(7))  # once more, in its place
    again = load_checkpoint(tmp_path)
    assert again is not None
    assert again.state["step"] == 7


@pytest.mark.parametrize(
    ("file", "content", "what"),
    [
        ("weights.safetensors", b"x", "weights.safetensors has changed"),
        ("optimizer.safetensors", b"x", "optimizer.safetensors has changed"),
        ("state.json", b"{}", "state.json has changed"),
        ("checksums.json", b"{", "checksums.json cannot be read"),
        ("checksums.json", b"7", "checksums.json cannot be read"),
        ("checksums.json", b"{}", "checksums.json does not name its files"),
        ("weights.safetensors", None, "no such file or directory"),
    ],
)
def test_damage_is_seen_and_passed_over(
    file: str, content: bytes | None, what: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for step in (1, 2):
        save_checkpoint(tmp_path, step, made(step))
    bad = tmp_path / "step-00000002"
    assert damage(bad) is None
    (bad / file).unlink()
    if content is not None:
        (bad / file).write_bytes(content)
    assert damage(bad) == what
    taken = load_checkpoint(tmp_path)
    assert taken is not None
    assert taken.state["step"] == 1
    told = f"the checkpoint step-00000002 is damaged ({what}); syntagma: going on from step-00000001 instead"
    assert capfd.readouterr().err == f"syntagma: {told}\n"
    assert names(tmp_path) == ["step-00000001"]
    (tmp_path / "step-00000001" / "state.json").unlink()
    with pytest.raises(CheckpointError, match="no checkpoint here is whole; remove the folder to start anew"):
        load_checkpoint(tmp_path)
    assert capfd.readouterr().err.endswith("is damaged (no such file or directory)\n")
    assert names(tmp_path) == ["step-00000001"]  # nothing more is lost
    assert listed_best(tmp_path) == set()


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_checkpoint(tmp_path, 1, made(1))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "to_disk", full)
    with pytest.raises(CheckpointError, match=r"could not be written \(the disk is full\), the last one is untouched"):
        save_checkpoint(tmp_path, 2, made(2))
    with pytest.raises(CheckpointError, match="the disk is full"):
        save_weights(tmp_path / "best" / "a.safetensors", {"w": torch.ones(1)})
    assert names(tmp_path) == ["best", "step-00000001"]
    assert names(tmp_path / "best") == []
    with pytest.raises(CheckpointError, match=r"could not be written \(permission denied\)"), disk_errors(tmp_path):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_weights_alone(tmp_path: Path) -> None:
    first = save_weights(tmp_path / "best" / "a.safetensors", {"w": torch.ones(1)})
    assert names(tmp_path / "best") == ["a.safetensors"]
    assert save_weights(tmp_path / "best" / "b.safetensors", {"w": torch.ones(1)}) == first
    assert save_weights(tmp_path / "best" / "a.safetensors", {"w": torch.zeros(1)}) != first


def test_sweeping_removes_what_is_unfinished_and_nothing_else(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 1, made(1))
    (tmp_path / ".step-00000002.1.part").mkdir()
    (tmp_path / ".step-00000002.1.part" / "state.json").write_text(json.dumps({}))
    (tmp_path / ".a.safetensors.1.part").write_text("")
    (tmp_path / "notes.part").write_text("")
    sweep(tmp_path)
    assert names(tmp_path) == ["notes.part", "step-00000001"]


def test_an_optimiser_gets_its_memory_back() -> None:
    def after(steps: int, restored: bool) -> list[float]:
        weight = torch.nn.Parameter(torch.ones(3))
        optimizer = torch.optim.AdamW([weight], lr=0.1)
        for step in range(steps):
            weight.grad = torch.full((3,), float(step + 1))
            optimizer.step()
            if restored:
                held = {name: tensor.clone() for name, tensor in optimizer_tensors(optimizer, {"w": weight}).items()}
                assert set(held) == {"step/w", "exp_avg/w", "exp_avg_sq/w"}
                optimizer = torch.optim.AdamW([weight], lr=0.1)
                restore_optimizer(optimizer, {"w": weight}, held)
        return weight.tolist()

    assert after(4, restored=True) == after(4, restored=False)
