"""Syntagma: text generated from the root of a syntax tree down."""

__version__ = "0.1.0"
