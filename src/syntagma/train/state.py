"""Where a run is: all that is not a tensor, and round-trips through JSON to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from syntagma.runs.schedule import Clock, Plan
from syntagma.train.data import Position


@dataclass
class Window:
    """Sums since the last line of the log."""

    total: float = 0.0
    nll: float = 0.0
    correct: float = 0.0
    tokens: float = 0.0
    norm: float = 0.0
    steps: int = 0
    skipped: int = 0
    """Steps whose gradients overflowed (fp16)."""
    seconds: float = 0.0

    def figures(self) -> dict[str, float]:
        """Means, a token or a step."""
        tokens = max(self.tokens, 1.0)
        return {
            "loss": self.total / tokens,
            "nll": self.nll / tokens,
            "accuracy": self.correct / tokens,
            "grad_norm": self.norm / max(self.steps - self.skipped, 1),
            "tokens_per_second": self.tokens / max(self.seconds, 1e-9),
        }


@dataclass
class TrainState:
    """Where a run is."""

    plan: Plan
    step: int = 0
    epoch: int = 0
    batch: int = 0
    """The next batch of the epoch."""
    seconds: float = 0.0
    planned_seconds: float = 0.0
    planned_step: int = 0
    validated: int = -1
    """The step of the last validation."""
    figures: dict[str, float] = field(default_factory=dict)
    """The figures of that validation."""
    waited: int = 0
    """Validations since the best."""
    enough: bool = False
    """Whether patience has run out."""
    best: list[dict[str, Any]] = field(default_factory=list)
    scaler: dict[str, Any] = field(default_factory=dict)
    """The loss scale in fp16, and how long it has held."""
    window: Window = field(default_factory=Window)

    @property
    def position(self) -> Position:
        """The next batch."""
        return Position(self.epoch, self.batch)

    @position.setter
    def position(self, position: Position) -> None:
        self.epoch, self.batch = position

    def clock(self, minutes: float, reserve: float) -> Clock:
        """The clock of a time budget."""
        return Clock(minutes, self.seconds, self.step, self.planned_seconds, self.planned_step, reserve)

    def to_dict(self) -> dict[str, Any]:
        """The state as plain values."""
        return asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> TrainState:
        """The state from plain values."""
        return TrainState(**{**values, "plan": Plan.from_dict(values["plan"]), "window": Window(**values["window"])})
