"""Structural beam search over any model."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from syntagma.search.generator import Generator
    from syntagma.search.options import SearchOptions
    from syntagma.search.result import Output, TraceLevel
    from syntagma.search.steered import SteeredText
    from syntagma.search.steering import Steering

__all__ = ["Generator", "Output", "SearchOptions", "SteeredText", "Steering", "TraceLevel"]

_HOMES = {
    "Generator": "generator",
    "Output": "result",
    "SearchOptions": "options",
    "SteeredText": "steered",
    "Steering": "steering",
    "TraceLevel": "result",
}


def __getattr__(name: str) -> Any:  # the options are read by commands that search nothing
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
