"""What can be wrong with a pretrained model."""

from __future__ import annotations

from syntagma.errors import SyntagmaError


class BackboneError(SyntagmaError):
    """A pretrained model that cannot be found or used."""
