"""Checkpoints: all that a run needs to go on as if it had never stopped.

A checkpoint is a folder `step-00000123` of `weights.safetensors`, `optimizer.safetensors`, `state.json` and
`checksums.json`.  It is written under another name and renamed when it is complete and on the disk, so a kill leaves it
whole or not at all.  The last two are kept; one whose checksums do not fit is passed over for the one before it.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from syntagma.errors import Place, SyntagmaError
from syntagma.hub import hash_file

KEPT = 2
_CHECKSUMS = "checksums.json"


class CheckpointError(SyntagmaError):
    """A checkpoint that cannot be written, or none that can be read."""


class Checkpoint(NamedTuple):
    """The weights, what the optimiser remembers of each (`exp_avg/NAME`, ...), and everything that is no tensor."""

    weights: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    state: dict[str, Any]


def save_checkpoint(folder: Path, step: int, checkpoint: Checkpoint) -> Path:
    """Write the checkpoint of a step into `folder`, whole or not at all, and remove all but the last two."""
    target = folder / f"step-{step:08d}"
    part = folder / f".{target.name}.{os.getpid()}.part"
    with disk_errors(folder):
        try:
            part.mkdir(parents=True)
            save_file(_plain(checkpoint.weights), part / "weights.safetensors")
            save_file(_plain(checkpoint.optimizer), part / "optimizer.safetensors")
            (part / "state.json").write_text(json.dumps(checkpoint.state), encoding="utf-8")
            sums = {path.name: hash_file(path) for path in sorted(part.iterdir())}
            (part / _CHECKSUMS).write_text(json.dumps(sums, indent=1), encoding="utf-8")
            for path in (*part.iterdir(), part):
                to_disk(path)
            if target.exists():
                shutil.rmtree(target)
            part.rename(target)
            to_disk(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    for old in list_checkpoints(folder)[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    return target


def load_checkpoint(folder: Path) -> Checkpoint | None:
    """The newest checkpoint that is whole; None where there is none yet."""
    paths = list_checkpoints(folder)
    for number, path in enumerate(paths):
        problem = damage(path)
        if problem is None:
            if number:
                print(f"syntagma: going on from {path.name} instead", file=sys.stderr)
            for damaged in paths[:number]:
                shutil.rmtree(damaged, ignore_errors=True)
            return Checkpoint(
                load_file(path / "weights.safetensors"),
                load_file(path / "optimizer.safetensors"),
                json.loads((path / "state.json").read_text(encoding="utf-8")),
            )
        print(f"syntagma: the checkpoint {path.name} is damaged ({problem})", file=sys.stderr, end="")
        print("; " if number + 1 < len(paths) else "\n", file=sys.stderr, end="", flush=True)
    if paths:
        raise CheckpointError("no checkpoint here is whole", Place(str(folder)), "remove the folder to start anew")
    return None


def damage(path: Path) -> str | None:
    """Find what is wrong with a checkpoint, if anything."""
    try:
        sums = json.loads((path / _CHECKSUMS).read_text(encoding="utf-8"))
        if set(sums) != {"weights.safetensors", "optimizer.safetensors", "state.json"}:
            return f"{_CHECKSUMS} does not name its files"
        for name, expected in sums.items():
            if hash_file(path / name) != expected:
                return f"{name} has changed"
    except OSError as error:
        return f"{error.strerror}".lower()
    except (ValueError, TypeError):
        return f"{_CHECKSUMS} cannot be read"
    return None


def list_checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, newest first."""
    return sorted(folder.glob("step-[0-9]*"), reverse=True) if folder.is_dir() else []


def listed_best(folder: Path) -> set[int]:
    """The steps that the checkpoints in a folder name among their best."""
    steps: set[int] = set()
    for path in list_checkpoints(folder):
        with suppress(OSError, ValueError, KeyError, TypeError):
            state = json.loads((path / "state.json").read_text(encoding="utf-8"))
            steps |= {int(entry["step"]) for entry in state["best"]}
    return steps


def sweep(folder: Path) -> None:
    """Remove what a killed run left unfinished."""
    for part in folder.glob(".*.part"):
        shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink(missing_ok=True)


def save_weights(path: Path, weights: dict[str, Tensor]) -> str:
    """Write weights alone, whole or not at all; their checksum."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with disk_errors(path.parent):
        try:
            path.parent.mkdir(exist_ok=True)
            save_file(_plain(weights), part)
            to_disk(part)
            part.replace(path)
        finally:
            with suppress(OSError):
                part.unlink()
    return hash_file(path)


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn what a full or failing disk raises into one sentence."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        full = getattr(error, "errno", None) == errno.ENOSPC or "os error 28" in str(error)
        reason = "the disk is full" if full else (getattr(error, "strerror", None) or str(error)).lower()
        what = f"the checkpoint could not be written ({reason}), the last one is untouched"
        raise CheckpointError(what, Place(str(folder)), "make room and give the same command again") from None


def _plain(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}


def to_disk(path: Path) -> None:
    """Make sure that a file or folder survives a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# -- what the optimiser remembers


def optimizer_tensors(optimizer: torch.optim.Optimizer, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The optimiser's memory of each named weight, as `KIND/NAME`."""
    return {
        f"{kind}/{name}": value for name, weight in weights.items() for kind, value in optimizer.state[weight].items()
    }


def restore_optimizer(
    optimizer: torch.optim.Optimizer, weights: Mapping[str, Tensor], tensors: Mapping[str, Tensor]
) -> None:
    """Give the optimiser back what it remembered."""
    for key, value in tensors.items():
        kind, name = key.split("/", 1)
        weight = weights[name]
        optimizer.state[weight][kind] = value.to(weight.device) if value.dim() or weight.is_cuda else value
