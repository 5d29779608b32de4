"""Constraints on what a search may write: one file each, all behind the class of `base`."""

from syntagma.search.constraints.base import Allowed, Constraint

__all__ = ["Allowed", "Constraint"]
