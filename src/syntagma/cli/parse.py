"""`syntagma parse`, `syntagma parser train` and `syntagma parser score`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from syntagma.errors import InputError
    from syntagma.parse.base import Parser
    from syntagma.parse.score import Score
    from syntagma.tree import Tree

CHUNK = 256
"""Lines that are parsed together; more are never in memory."""

ParserName = Annotated[
    str,
    typer.Option(
        "--parser", help="parser-en, a folder, several as A+B, brackets:FILE, benepar[:MODEL], stanza[:LANGUAGE]."
    ),
]
Threads = Annotated[int, typer.Option(help="Processor threads; 0 leaves it to torch.", min=0)]


class Bad(StrEnum):
    """What to do with a line that cannot be parsed."""

    stop = "stop"
    skip = "skip"


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("parse")(parse)
    family = typer.Typer(help="Train and score parsers.", no_args_is_help=True)
    family.command("train")(train)
    family.command("score")(score)
    app.add_typer(family, name="parser")


def parse(
    text: Annotated[
        list[str] | None, typer.Argument(help="Sentences; without any, -i is read.", show_default=False)
    ] = None,
    source: Annotated[
        str, typer.Option("-i", "--input", help="A file, a sentence a line (also gzip); - is standard input.")
    ] = "-",
    tokenized: Annotated[
        bool, typer.Option("--tokenized", help="The words are already apart: cut at white space only.")
    ] = False,
    draw: Annotated[bool, typer.Option("--draw", help="Draw the trees.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a sentence: text, words, tree.")] = False,
    parser: ParserName = "parser-en",
    bad: Annotated[
        Bad, typer.Option(help="At a line that cannot be parsed: stop, or leave an empty line and go on.")
    ] = Bad.stop,
    threads: Threads = 0,
) -> None:
    """Parse text: one tree a line, in the order of the input; empty lines stay empty lines.

    Example: syntagma parse "It seems like he has made a mistake."
    """
    from syntagma.files import scan_lines, source_name
    from syntagma.parse import load_parser
    from syntagma.text import split, split_tokens

    lines = iter(text) if text else scan_lines(source)
    name = "the arguments" if text else source_name(source)
    _use_threads(threads)
    loaded = load_parser(parser)
    cut = split_tokens if tokenized else split
    show = _as_json if as_json else _drawn() if draw else _as_brackets
    progress = _Progress()
    first, skipped = 1, 0
    while chunk := list(islice(lines, CHUNK)):
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
    parser: Parser,
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


def _use_threads(threads: int) -> None:
    """So many threads for tensors; 0 leaves it to torch."""
    if threads:
        import torch

        torch.set_num_threads(threads)


def score(
    gold: Annotated[str, typer.Argument(help="A file of gold trees with parts of speech (also gzip).")],
    parser: ParserName = "parser-en",
    predicted: Annotated[
        str | None, typer.Option(help="A file of parses to score instead of running a parser.")
    ] = None,
    labels: Annotated[str, typer.Option(help="The labels of the pruned score, comma-separated.")] = "S,NP,VP,PP",
    lower: Annotated[bool, typer.Option("--lower", help="Hand the parser the words in lower case.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    threads: Threads = 0,
) -> None:
    """Score a parser on gold trees by the rules of evalb, over all labels and over the pruned ones.

    Example: syntagma parser score test.trees.gz --parser parser-en
    """
    from syntagma.errors import InputError, Place
    from syntagma.parse.score import Score, compare

    kept = tuple(label.strip() for label in labels.split(",") if label.strip())
    every, pruned = Score(), Score()
    start = time.monotonic()
    for number, (wanted, found) in enumerate(_pairs(gold, parser, predicted, lower, threads), 1):
        try:
            every += compare(wanted, found)
        except InputError as error:
            raise error.at(file=predicted, line=number) from None
        pruned += compare(wanted, found, kept)
    if not every.sentences:
        raise InputError("it holds no tree", Place(gold), "give a file of gold trees")
    if as_json:
        print(json.dumps({"all": every.figures(), "pruned": pruned.figures(), "labels": kept}))
        return
    _table(every, pruned, kept)
    if predicted is None:
        seconds = time.monotonic() - start
        print(f"syntagma: parsed {every.sentences / seconds:.0f} sentences a second", file=sys.stderr)


def _pairs(gold: str, parser: str, predicted: str | None, lower: bool, threads: int) -> Iterator[tuple[Tree, Tree]]:
    """Gold trees with the parses of their words."""
    from syntagma.errors import InputError, Place, SyntagmaError
    from syntagma.files import read_lines
    from syntagma.parse import load_parser
    from syntagma.tree import read_trees

    def trees(path: str) -> Iterator[Tree]:
        try:
            yield from read_trees(read_lines(path))
        except SyntagmaError as error:
            raise error.at(file=path) from None

    wanted = trees(gold)
    if predicted is not None:
        try:
            yield from zip(wanted, trees(predicted), strict=True)
        except ValueError:
            raise InputError(
                "it has not as many trees as the gold file", Place(predicted), "score the same text"
            ) from None
        return
    _use_threads(threads)
    loaded = load_parser(parser)
    while chunk := list(islice(wanted, 4 * CHUNK)):
        words = (tree.words() for tree in chunk)
        yield from zip(chunk, loaded.parse([_lowered(some) if lower else some for some in words]), strict=True)


def _lowered(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word.lower() for word in words)


def _table(every: Score, pruned: Score, labels: tuple[str, ...]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("", "all labels", f"{' '.join(labels)} only")
    names = {
        "sentences": "sentences",
        "precision": "labelled precision",
        "recall": "labelled recall",
        "f1": "labelled F1",
        "exact_match": "exact match",
        "average_crossing": "crossing brackets a sentence",
        "no_crossing": "sentences without crossing",
        "tagging": "tagging accuracy",
    }
    ours, theirs = every.figures(), pruned.figures()
    for key, name in names.items():
        table.add_row(name, *(f"{v:.2f}" if isinstance(v, float) else f"{v:,}" for v in (ours[key], theirs[key])))
    Console(width=None if sys.stdout.isatty() else 100).print(table)


def train(
    gold: Annotated[list[Path], typer.Argument(help="Folders with train.trees and dev.trees (also .gz).")],
    out: Annotated[Path, typer.Option(help="The run's folder: model, checkpoint, log. A run that is there goes on.")],
    silver: Annotated[
        list[Path] | None, typer.Option(help="A folder of trees that a parser made.", show_default=False)
    ] = None,
    minutes: Annotated[float, typer.Option(help="Train for so long; 0 trains for --epochs.", min=0)] = 0.0,
    epochs: Annotated[float, typer.Option(help="Train for so many rounds of the data.")] = 10.0,
    encoder: Annotated[str, typer.Option(help="The packaged encoder, or the folder of a BERT.")] = "all-minilm-l6-v2",
    init: Annotated[
        str,
        typer.Option(help="A parser of the same labels to start from: a name or folder.", show_default=False),
    ] = "",
    teacher: Annotated[
        str,
        typer.Option(help="A parser of the same labels, or several as A+B, to learn from.", show_default=False),
    ] = "",
    threads: Annotated[int, typer.Option(help="Processor threads.", min=1)] = 1,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Another setting, as key=value.", show_default=False)
    ] = None,
) -> None:
    """Train the neural parser on folders of trees; run it again after a kill and it goes on.

    Example: syntagma parser train treebank/gold --silver treebank/gum-silver --out run --minutes 90
    """
    from syntagma.parse.config import from_settings
    from syntagma.parse.settings import TrainConfig, read_data
    from syntagma.parse.train import Trainer

    given = {"minutes": minutes, "epochs": epochs, "encoder": encoder, "init": init}
    given |= {"teacher": teacher, "threads": threads}
    config = from_settings(TrainConfig, given, settings or [])
    _use_threads(threads)
    trainer = Trainer(config, read_data(gold, silver or []), out)
    best = trainer.run()
    print(json.dumps({"model": str(trainer.model_folder), "dev": best}))
