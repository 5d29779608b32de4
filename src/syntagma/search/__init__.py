"""Structural beam search over any model."""

from syntagma.search.generator import Generator
from syntagma.search.options import SearchOptions
from syntagma.search.result import Output, TraceLevel
from syntagma.search.steered import SteeredText
from syntagma.search.steering import Steering

__all__ = ["Generator", "Output", "SearchOptions", "SteeredText", "Steering", "TraceLevel"]
