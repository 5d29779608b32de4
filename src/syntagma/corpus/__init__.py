"""Pairs of texts into training data: parsed, checked, stored, and handed out in batches."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from syntagma.corpus.batches import Batches
    from syntagma.corpus.build import prepare
    from syntagma.corpus.options import Input, Options
    from syntagma.corpus.store import Corpus, Example, Pair

_HOMES = {
    "Batches": "batches",
    "Corpus": "store",
    "Example": "store",
    "Input": "options",
    "Options": "options",
    "Pair": "store",
    "prepare": "build",
}

__all__ = ["Batches", "Corpus", "Example", "Input", "Options", "Pair", "prepare"]


def __getattr__(name: str) -> Any:  # nothing is loaded until it is used
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"syntagma.corpus.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
