"""What a search may write: one file a constraint, all behind the class of `base`."""

from syntagma.search.constraints.base import Allowed, Constraint

__all__ = ["Allowed", "Constraint"]
