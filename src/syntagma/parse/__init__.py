"""Text to trees: one protocol, one file a backend.

>>> from syntagma.parse import load_parser
>>> str(load_parser("parser-en").parse([["I", "nod", "."]])[0])
'(TOP (S (NP (PRP I)) (VP (VBP nod)) (. .)))'
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from syntagma.parse.base import load_parser
    from syntagma.parse.facade import Parser

__all__ = ["Parser", "load_parser"]


def __getattr__(name: str) -> Any:  # nothing is loaded until it is used
    if name == "Parser":
        from syntagma.parse.facade import Parser

        return Parser
    if name == "load_parser":
        from syntagma.parse.base import load_parser

        return load_parser
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
