"""A recipe in miniature: all of its steps, systems, rows and figures in minutes, before hours are spent on it.

>>> from syntagma.recipes.reading import read_recipe
>>> small = trial(read_recipe("wmt14-de-en"))
>>> small["prepare"]["max_rows"], small["training"]["preset"], small["systems"]["teacher"]
(100, 'tiny', {'preset': 'tiny'})
"""

from __future__ import annotations

from typing import Any

from syntagma.recipes.recipe import Recipe
from syntagma.train.config import PRESET_TRAINING

SOURCES = 4
"""Of each test set."""
_PAIRS = 100
"""Of each file of training and dev pairs."""
_VOCABULARY = 1000
_BATCH = 500
_STEPS = 4


def trial(recipe: Recipe) -> dict[str, Any]:
    """The changes that make a recipe small; a model that starts from a finished one keeps its size."""
    if not recipe.trained():
        return {}
    prepare: dict[str, Any] = {"max_rows": _PAIRS, "max_words": 1000}  # a teacher that knows nothing does not end
    if not recipe.prepare.get("tokenizer") and not recipe.prepare.get("pieces"):
        prepare["vocab_size"] = min(_VOCABULARY, recipe.prepare.get("vocab_size", _VOCABULARY))
    training: dict[str, Any] = {
        "steps": _STEPS, "epochs": None, "minutes": None, "warmup": 2, "accumulate": 1, "patience": 0,
        "skip_long": True,
        "validate_every": _STEPS // 2, "save_every": _STEPS // 4, "log_every": 1,
        "batch_tokens": min(_BATCH, recipe.training.get("batch_tokens", _BATCH)),
    }  # fmt: skip
    changes: dict[str, Any] = {"prepare": prepare, "training": training, "systems": {}}
    if not _starts_from_another(recipe.training):
        training["preset"] = "tiny"
        for system in recipe.trained():
            if not _starts_from_another(recipe.systems[system]) and "preset" in recipe.systems[system]:
                changes["systems"][system] = {"preset": "tiny"}
    return changes


def _starts_from_another(settings: dict[str, Any]) -> bool:
    usual = PRESET_TRAINING.get(str(settings.get("preset")), {})
    return bool(settings.get("init") or (usual | settings).get("backbone"))
