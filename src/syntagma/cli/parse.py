"""`syntagma parse`."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from syntagma.cli.common import Bad, Device, Precision, option

if TYPE_CHECKING:
    from syntagma.errors import InputError
    from syntagma.parse.base import ParserBackend
    from syntagma.tree import Tree

CHUNK = 256
"""Lines that are parsed together; more are never in memory."""

ParserName = Annotated[
    str,
    option(
        "Machine", "parser-en, a folder, several as A+B, brackets:FILE, benepar[:MODEL], stanza[:LANGUAGE].", "--parser"
    ),
]
Threads = Annotated[int, option("Machine", "Processor threads; 0: one for each processor.", min=0)]


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("parse")(parse)


def parse(
    text: Annotated[
        list[str] | None, typer.Argument(help="Sentences; without any, -i is read.", show_default=False)
    ] = None,
    source: Annotated[
        str,
        option("Texts", "A file, a sentence a line (also gzip); - is standard input.", "-i", "--input"),
    ] = "-",
    tokenized: Annotated[
        bool,
        option("Texts", "The text is tokenised: split it at white space only.", "--tokenized"),
    ] = False,
    draw: Annotated[bool, option("Output", "Draw the trees.", "--draw")] = False,
    as_json: Annotated[bool, option("Output", "One JSON object a sentence: text, words, tree.", "--json")] = False,
    parser: ParserName = "parser-en",
    bad: Annotated[
        Bad,
        option("Texts", "At a line that cannot be parsed: stop, or leave an empty line and go on."),
    ] = Bad.stop,
    threads: Threads = 0,
    device: Device = "auto",
    precision: Precision = None,
) -> None:
    """Parse text: one tree a line, in the order of the input; empty lines stay empty lines.

    Example: syntagma parse "It seems like he has made a mistake."
    """
    from syntagma.files import scan_lines, source_name
    from syntagma.parse import load_parser
    from syntagma.parse.languages import language_warning
    from syntagma.text import split, split_tokens

    lines = iter(text) if text else scan_lines(source)
    name = "the arguments" if text else source_name(source)
    loaded = load_parser(parser, threads or processors(), device, precision)
    use_threads(threads)
    cut = split_tokens if tokenized else split
    show = _as_json if as_json else _drawn() if draw else _as_brackets
    progress = _Progress()
    first, skipped = 1, 0
    while chunk := list(islice(lines, CHUNK)):
        if first == 1 and (warning := language_warning(parser, (line for line in chunk if isinstance(line, str)))):
            print(f"syntagma: {warning}", file=sys.stderr)
        for line, words, tree in _parse_chunk(loaded, chunk, lambda line: cut(line).texts(), name, first, bad):
            skipped += tree is None and (bool(words) or not isinstance(line, str))
            sys.stdout.write(show(line if isinstance(line, str) else "", words, tree))
        sys.stdout.flush()
        first += len(chunk)
        progress.tell(first - 1)
    progress.end(first - 1)
    if skipped:
        print(f"syntagma: {skipped} of {first - 1} lines could not be parsed", file=sys.stderr)


Parsed = tuple["str | InputError", tuple[str, ...], "Tree | None"]


def _parse_chunk(
    parser: ParserBackend,
    chunk: list[str | InputError],
    cut: Callable[[str], tuple[str, ...]],
    name: str,
    first: int,
    bad: Bad,
) -> Iterator[Parsed]:
    """Each line of the chunk with its words and its tree, if it has one; `first` is the number of its first line."""
    from syntagma.errors import SyntagmaError
    from syntagma.parse.base import SentenceError

    words = [cut(line) if isinstance(line, str) else () for line in chunk]
    trees: dict[int, Tree] = {}
    failed: SyntagmaError | None = None
    if bad is Bad.stop:
        failed = next((line for line in chunk if not isinstance(line, str)), None)
    numbers = [number for number, some in enumerate(words) if some]
    while numbers and failed is None:
        try:
            trees.update(zip(numbers, parser.parse([words[number] for number in numbers]), strict=True))
            break
        except SentenceError as error:
            if bad is Bad.stop:
                failed = error.at(file=name, line=first + numbers[error.number])
            numbers.pop(error.number)
    if failed is not None:
        raise failed
    for number, line in enumerate(chunk):
        yield line, words[number], trees.get(number)


def _as_brackets(line: str, words: tuple[str, ...], tree: Tree | None) -> str:
    return f"{tree or ''}\n"


def _as_json(line: str, words: tuple[str, ...], tree: Tree | None) -> str:
    record = {"text": line, "words": words, "tree": str(tree) if tree else None}
    return json.dumps(record, ensure_ascii=False) + "\n"


def _drawn() -> Callable[[str, tuple[str, ...], Tree | None], str]:
    from syntagma.cli.common import colour, columns
    from syntagma.tree import draw

    in_colour, width = colour(), columns()
    return lambda line, words, tree: (draw(tree, width, in_colour) + "\n\n") if tree else "\n"


class _Progress:
    """Says on standard error how far a long run is; a short one stays silent."""

    def __init__(self, every: float = 10.0) -> None:
        self.every = every
        self.start = self.last = time.monotonic()
        self.told = False

    def tell(self, count: int) -> None:
        now = time.monotonic()
        if now - self.last >= self.every:
            self._print(count, now)
            self.last = now
            self.told = True

    def end(self, count: int) -> None:
        if self.told:
            self._print(count, time.monotonic())

    def _print(self, count: int, now: float) -> None:
        print(f"syntagma: {count:,} lines, {count / (now - self.start):.0f} a second", file=sys.stderr, flush=True)


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def use_threads(threads: int) -> None:
    """So many threads for torch, where it is loaded; 0 leaves it to torch."""
    if threads and "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
