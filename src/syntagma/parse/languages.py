"""The language that a parser is for, and a warning for texts in another."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from syntagma.hub import NotFound, find_folder
from syntagma.parse.base import DEFAULT
from syntagma.settings import read_mapping
from syntagma.text.language import NAMES, guess_language

SAMPLE = 200
"""Texts that are looked at, at most."""


def language_of(name: str) -> str:
    """The code of the language that the parser of that name is for; empty where it is unknown."""
    kind, _, model = name.partition(":")
    if kind == "stanza":
        return model or "en"
    if kind in ("brackets", "benepar"):
        return ""
    first = name if Path(name).is_dir() else name.split("+")[0]
    try:
        folder = find_folder(DEFAULT if first == "neural" else first, "parser", "network")
    except NotFound:  # whoever loads it will say so
        return ""
    return str(read_mapping(folder / "config.json").get("language", ""))


def language_warning(name: str, texts: Iterable[str]) -> str | None:
    """A warning for texts that are not in the parser's language; None where they are, or it is unknown."""
    wanted = language_of(name)
    guessed = guess_language(islice(texts, SAMPLE)) if wanted else None
    if guessed is None or guessed == wanted:
        return None
    written, known = (NAMES.get(code, f"the language {code!r}") for code in (guessed, wanted))
    remedy = (
        f"give a parser for it with --parser, or train one: syntagma parser train --conllu FILES --language {guessed}"
    )
    return f"the text looks like {written}, but the parser {name} is for {known}; {remedy}"
