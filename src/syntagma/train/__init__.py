"""Training: the loop, its checkpoints, averaging, and many processes."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from syntagma.runs.folder import RunResult
    from syntagma.train.config import TrainConfig
    from syntagma.train.run import train
    from syntagma.train.trainer import Trainer
    from syntagma.train.validate import Validation, Validator

_HOMES = {
    "RunResult": "trainer",
    "TrainConfig": "config",
    "Trainer": "trainer",
    "Validation": "validate",
    "Validator": "validate",
    "train": "run",
}

__all__ = ["RunResult", "TrainConfig", "Trainer", "Validation", "Validator", "train"]


def __getattr__(name: str) -> Any:  # torch is loaded only when something is trained
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"syntagma.train.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
