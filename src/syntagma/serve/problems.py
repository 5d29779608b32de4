"""Errors of a request, each as one sentence for a client."""

from __future__ import annotations

from typing import Any

from syntagma.errors import SyntagmaError


def sentence_of(error: SyntagmaError) -> str:
    """An error as one sentence for a client: never the place of a file."""
    column = error.place.column
    where = f"column {column}: " if column is not None else ""
    return as_sentence(f"{where}{error.what}; {error.remedy}" if error.remedy else f"{where}{error.what}")


def as_sentence(text: str) -> str:
    """Text as a sentence of bearable length.

    >>> as_sentence("the beam is empty")
    'The beam is empty.'
    """
    clean = " ".join(text.encode("utf-8", "replace").decode().split())
    clean = clean if len(clean) <= 400 else clean[:397] + "..."
    return clean[:1].upper() + clean[1:] + ("" if clean.endswith((".", "?", "!")) else ".")


def complaint(error: dict[str, Any]) -> str:
    """Say what is wrong with a value, without the value."""
    where = ".".join(str(part) for part in error["loc"][1:])
    if error["type"] == "json_invalid":
        return "this is not JSON"
    if error["type"] == "extra_forbidden":
        return f"there is no setting {where!r}; see /openapi.json"
    if error["type"] == "missing":
        return f"{where!r} is missing" if where else "the body is missing; send JSON"
    if error["type"] == "string_pattern_mismatch":
        return f"{where!r} has no visible characters"
    what = str(error["msg"]).removeprefix("Value error, ")
    return f"{where!r}: {what[:1].lower()}{what[1:]}" if where else what
