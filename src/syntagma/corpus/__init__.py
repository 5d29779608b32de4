"""Pairs of texts into training data: parsed, checked, stored, and handed out in batches."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from syntagma.corpus.batches import Batches
    from syntagma.corpus.build import prepare
    from syntagma.corpus.options import CorpusOptions, Input
    from syntagma.corpus.store import Corpus, EncodedPair, Pair

_HOMES = {
    "Batches": "batches",
    "Corpus": "store",
    "EncodedPair": "store",
    "Input": "options",
    "CorpusOptions": "options",
    "Pair": "store",
    "prepare": "build",
}

__all__ = ["Batches", "Corpus", "CorpusOptions", "EncodedPair", "Input", "Pair", "prepare"]


def __getattr__(name: str) -> Any:  # nothing is loaded until it is used
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"syntagma.corpus.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
