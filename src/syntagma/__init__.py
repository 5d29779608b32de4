"""Syntagma: text generated from the root of a syntax tree down.

from syntagma import Generator, Parser
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
__all__ = ["Generator", "Parser", "SyntagmaError", "Template", "Tree", "__version__"]

if TYPE_CHECKING:
    from syntagma.errors import SyntagmaError
    from syntagma.parse import Parser
    from syntagma.search import Generator
    from syntagma.template import Template
    from syntagma.tree import Tree

_HOMES = {"Generator": "search", "Parser": "parse", "SyntagmaError": "errors", "Template": "template", "Tree": "tree"}


def __getattr__(name: str) -> Any:  # nothing slow is imported until it is used
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"syntagma.{_HOMES[name]}"), name)
