"""`syntagma alternate`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from syntagma.parse import Parser

CHUNK = 256
"""Lines that are parsed together."""


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("alternate")(alternate)


def alternate(
    text: Annotated[
        list[str] | None, typer.Argument(help="Sentences; without any, -i is read.", show_default=False)
    ] = None,
    source: Annotated[
        str,
        typer.Option("-i", "--input", help="A file, a sentence or source<TAB>target a line; - is standard input."),
    ] = "-",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line: source, target, rule.")] = False,
) -> None:
    """Give English sentences another structure by rules: pairs that teach a paraphraser to restructure.

    Writes source<TAB>other sentence<TAB>rule for each that a rule makes; of a pair, the target is restructured and the
    source stays.

    Example: syntagma alternate "We stayed at home because it was raining."
    """
    from syntagma.files import scan_lines
    from syntagma.parse import Parser

    lines = iter(text) if text else scan_lines(source)
    parser = Parser.from_pretrained()
    made = 0
    while chunk := list(islice(lines, CHUNK)):
        for error in (line for line in chunk if not isinstance(line, str)):
            raise error
        for record in _pairs([line for line in chunk if isinstance(line, str)], parser):
            sys.stdout.write((json.dumps(record, ensure_ascii=False) if as_json else "\t".join(record.values())) + "\n")
            made += 1
        sys.stdout.flush()
    print(f"syntagma: {made:,} sentences", file=sys.stderr)


def _pairs(lines: list[str], parser: Parser) -> Iterator[dict[str, str]]:
    """The pairs that the rules make of sentences or pairs."""
    from syntagma.corpus.alternations import alternations

    rows = [line.rstrip("\n").split("\t") for line in lines]
    pairs = [(row[0].strip(), row[min(1, len(row) - 1)].strip()) for row in rows]
    pairs = [(source, target) for source, target in pairs if source and target]
    trees = parser(target for _, target in pairs)
    for (source, target), tree in zip(pairs, trees, strict=True):
        for rule, other in alternations(target, tree):
            yield {"source": source, "target": other, "rule": rule}
