"""The best checkpoints of a run, and their average."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from syntagma.hub import hash_file
from syntagma.runs.checkpoint import save_weights


@dataclass(frozen=True)
class Best:
    """Weights that did well: their step, their score (higher is better), and the checksum of their file."""

    step: int
    score: float
    sha256: str


class BestWeights:
    """The k best weights of a run, each in its own file."""

    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        self.size = size
        self.entries: list[Best] = []

    def offer(self, step: int, score: float, weights: dict[str, Tensor]) -> bool:
        """Keep these weights if they are among the best; whether they are the best of all."""
        self.entries = [kept for kept in self.entries if kept.step != step]
        best = not self.entries or score > max(kept.score for kept in self.entries)
        if len(self.entries) < self.size or score > min(kept.score for kept in self.entries):
            entry = Best(step, score, save_weights(self._path(step), weights))
            ranked = sorted([*self.entries, entry], key=lambda kept: (-kept.score, kept.step))
            self.entries = ranked[: self.size]
        return best

    def sweep(self, also: Collection[int] = ()) -> None:
        """Remove the files of steps that are neither in this list nor in `also`, which older checkpoints need."""
        needed = {self._path(step) for step in (*(entry.step for entry in self.entries), *also)}
        for path in self.folder.glob("step-*.safetensors"):
            if path not in needed:
                path.unlink(missing_ok=True)

    def undamaged(self) -> list[Path]:
        """The files that are there and undamaged, the best first; a word on stderr for each other."""
        paths = []
        for entry in self.entries:
            path = self._path(entry.step)
            if path.is_file() and hash_file(path) == entry.sha256:
                paths.append(path)
            else:
                print(f"syntagma: {path.name} is missing or damaged and is left out of the average", file=sys.stderr)
        return paths

    def _path(self, step: int) -> Path:
        return self.folder / f"step-{step:08d}.safetensors"

    def to_list(self) -> list[dict[str, Any]]:
        """The entries as plain values."""
        return [{"step": entry.step, "score": entry.score, "sha256": entry.sha256} for entry in self.entries]

    def from_list(self, values: Sequence[dict[str, Any]]) -> None:
        """Take the entries of a checkpoint."""
        self.entries = [Best(**value) for value in values]


def average(paths: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the weights in some files, summed in double precision in the order of their names."""
    if len(paths) == 1:
        return load_file(paths[0])
    sums: dict[str, Tensor] = {}
    for path in sorted(paths):
        with safe_open(path, framework="pt") as stored:
            for name in stored.keys():  # noqa: SIM118 (it is no mapping)
                value = stored.get_tensor(name).to(torch.float64)
                sums[name] = sums[name].add_(value) if name in sums else value
    return {name: (value / len(paths)).to(torch.float32) for name, value in sums.items()}
