"""Rows of pairs out of files: TSV, CSV, JSON lines, parallel files, a prepared corpus; plain, gzip or standard input.

A reader streams.  A row that cannot be used is not dropped but handed on with the reason, so that it can be counted;
what is wrong with the file as a whole (not there, cut short, a column that its header lacks) is an error.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TypeAlias

from syntagma.corpus.options import CorpusOptions, Input
from syntagma.errors import InputError, Place
from syntagma.files import STDIN, open_binary, raw_lines, source_name

Fields: TypeAlias = "dict[str, str]"

_LARGEST_FIELD = 1 << 24
_TOO_LONG = "\0"
"""A stand-in for a line that is too long to be read: like it, it is no text."""


@dataclass(slots=True)
class InputRow:
    """One row of an input: its fields by column, or why there are none."""

    file: str
    line: int
    split: str
    source: str = ""
    target: str = ""
    others: Fields | None = None  # the columns that the selection asks for
    tree: str | None = None
    reason: str | None = None
    detail: str = ""


class Stream:
    """The decoded lines of a file, and how far it has been read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = source_name(path)
        self._opened = ExitStack()

    def __enter__(self) -> Stream:
        self._raw = self._opened.enter_context(open_binary(self.path))
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def lines(self) -> Iterator[str]:
        """The lines without their ends; bytes that are not UTF-8 stay as half surrogates, see `is_text`."""
        for raw in raw_lines(self._raw, self.name):
            yield _TOO_LONG if raw is None else raw.decode("utf-8", errors="surrogateescape")

    def share(self) -> float:
        """How much of the file has been read, between 0 and 1; 0 where that cannot be known."""
        if self.path == STDIN or not self._raw.seekable():
            return 0.0
        size = os.fstat(self._raw.fileno()).st_size
        return self._raw.tell() / size if size else 1.0


def is_text(text: str) -> bool:
    """Whether a string can be written as UTF-8 and holds no NUL."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


class Rows:
    """All rows of the inputs in order, each with its tree where there is a file of trees."""

    def __init__(self, options: CorpusOptions) -> None:
        self.options = options
        self.done = 0.0
        """How much of the inputs has been read, between 0 and 1, as far as that can be known."""

    def __iter__(self) -> Iterator[InputRow]:
        rows = self._rows()
        if self.options.trees is None:
            return rows
        return _with_trees(rows, self.options.trees)

    def _rows(self) -> Iterator[InputRow]:
        inputs = self.options.ordered_inputs()
        for number, input_ in enumerate(inputs):
            with ExitStack() as stack:
                stream = stack.enter_context(_opened(input_.path))
                for count, row in enumerate(read_input(input_, stream, self.options, stack)):
                    yield row
                    if count % 1000 == 0 and stream is not None:
                        self.done = (number + stream.share()) / len(inputs)
            self.done = (number + 1) / len(inputs)


def check_inputs(options: CorpusOptions) -> None:
    """Find a missing file before hours of work."""
    paths = [path for input_ in options.inputs for path in (input_.path, input_.target)]
    for path in filter(None, (*paths, *options.exclude, options.trees)):
        if path != STDIN and not os.path.exists(path):
            raise InputError("there is no such file", Place(path), "check the path")


def _opened(path: str) -> AbstractContextManager[Stream | None]:
    return nullcontext() if path != STDIN and os.path.isdir(path) else Stream(path)


def format_of(input_: Input) -> str:
    """The format of an input, by its name where it is not given."""
    if input_.format is not None:
        return input_.format
    if input_.target is not None:
        return "parallel"
    if input_.path != STDIN and os.path.isdir(input_.path):
        return "corpus"
    name = input_.path.lower().removesuffix(".gz")
    return {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}.get(Path(name).suffix, "tsv")


def read_input(input_: Input, stream: Stream | None, options: CorpusOptions, stack: ExitStack) -> Iterator[InputRow]:
    """The rows of one input."""
    kind = format_of(input_)
    wanted = [item.partition("=")[0] for item in (*options.where, *options.keep_fraction)]
    if wanted and kind in ("corpus", "parallel"):
        what = "there are no other columns here to select rows by"
        raise InputError(what, Place(input_.path), "leave out where and keep_fraction")
    if kind == "corpus":
        yield from _corpus(input_)
        return
    if stream is None:
        raise InputError(
            "this is a folder, not a file of pairs", Place(input_.path), "name a file, or a prepared corpus"
        )
    if kind == "parallel":
        if input_.target is None:
            raise InputError("its targets are missing", Place(input_.path), "name their file with --target")
        yield from _parallel(input_, stream, stack.enter_context(Stream(input_.target)))
    elif kind == "jsonl":
        yield from _json_lines(input_, stream, options.columns or ("source", "target"), wanted)
    elif kind == "csv":
        yield from _csv(input_, stream, options.columns or ("source", "target"), wanted)
    else:
        yield from _tsv(input_, stream, options.columns or ("0", "1"), wanted, options.header)


def _tsv(
    input_: Input, stream: Stream, columns: Sequence[str], wanted: Sequence[str], header: bool
) -> Iterator[InputRow]:
    places: dict[str, int] | None = None
    for number, line in enumerate(stream.lines(), 1):
        cells = line.split("\t")
        if places is None:
            names = cells if header else [str(index) for index in range(len(cells))]
            numbers = {str(index): index for index in range(1000)}
            known = {name: index for index, name in enumerate(cells)} if header else numbers
            places = _places([*columns, *wanted], known, names, stream.name)
            if header:
                continue
        yield _row(input_, number, cells, columns, wanted, places)


def _csv(input_: Input, stream: Stream, columns: Sequence[str], wanted: Sequence[str]) -> Iterator[InputRow]:
    csv.field_size_limit(_LARGEST_FIELD)
    reader = csv.reader(line + "\n" for line in stream.lines())
    places: dict[str, int] | None = None
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield InputRow(stream.name, line, input_.split, reason="bad-csv", detail=str(error))
            continue
        if places is None:
            known = {name: index for index, name in enumerate(cells)}
            places = _places([*columns, *wanted], known, cells, stream.name)
        else:
            yield _row(input_, line, cells, columns, wanted, places)


def _json_lines(input_: Input, stream: Stream, columns: Sequence[str], wanted: Sequence[str]) -> Iterator[InputRow]:
    for number, line in enumerate(stream.lines(), 1):
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            reason = "not-json" if is_text(line) else "not-utf-8"
            yield InputRow(stream.name, number, input_.split, reason=reason, detail=_short(line))
            continue
        if not isinstance(values, dict):
            yield InputRow(stream.name, number, input_.split, reason="not-json", detail="it is not an object")
            continue
        present = [name for name in (*columns, *wanted) if isinstance(values.get(name), str | int | float | bool)]
        cells = [str(values[name]) for name in present]
        yield _row(input_, number, cells, columns, wanted, {name: index for index, name in enumerate(present)})


def _parallel(input_: Input, sources: Stream, targets: Stream) -> Iterator[InputRow]:
    for number, (source, target) in enumerate(zip_longest(sources.lines(), targets.lines()), 1):
        if source is None or target is None:
            shorter, longer = (sources, targets) if source is None else (targets, sources)
            what = f"it ends at line {number - 1}, before {longer.name} does"
            raise InputError(what, Place(shorter.name), "give two files with as many lines each")
        yield _row(input_, number, [source, target], ("0", "1"), (), {"0": 0, "1": 1})


def _corpus(input_: Input) -> Iterator[InputRow]:
    """The pairs of a prepared corpus with their trees, so that they need not be parsed again."""
    from syntagma.corpus.store import Corpus

    corpus = Corpus.open(input_.path)
    for name in sorted(corpus.splits, key=lambda split: split == "train"):
        for number, pair in enumerate(corpus.split(name), 1):
            yield InputRow(f"{input_.path}/{name}", number, name, pair.source, pair.target, None, str(pair.full))


def _places(asked: Sequence[str], known: dict[str, int], names: Sequence[str], file: str) -> dict[str, int]:
    """Where the columns asked for stand in a row."""
    for name in asked:
        if name not in known:
            present = ", ".join(names) if len(names) <= 20 else f"{len(names)} columns"
            raise InputError(f"there is no column {name!r}", Place(file), f"the columns are: {present}")
    return {name: known[name] for name in asked}


def _row(
    input_: Input,
    line: int,
    cells: Sequence[str],
    columns: Sequence[str],
    wanted: Sequence[str],
    places: dict[str, int],
) -> InputRow:
    name = "standard input" if input_.path == STDIN else input_.path
    row = InputRow(name, line, input_.split)
    missing = [column for column in (*columns, *wanted) if places.get(column, len(cells)) >= len(cells)]
    if missing:
        row.reason, row.detail = "missing-column", f"no column {missing[0]}"
        return row
    row.source, row.target = (cells[places[column]] for column in columns)
    if wanted:
        row.others = {column: cells[places[column]] for column in wanted}
    for side, text in (("source", row.source), ("target", row.target)):
        if not is_text(text):
            row.reason = "nul" if "\0" in text else "not-utf-8"
            row.detail = f"in the {side}"
            row.source, row.target = (text.encode("utf-8", "replace").decode() for text in (row.source, row.target))
        elif not text or text.isspace():
            row.reason, row.detail = "empty-side", f"the {side}"
    return row


def _with_trees(rows: Iterator[InputRow], path: str) -> Iterator[InputRow]:
    with Stream(path) as stream:
        lines = stream.lines()
        for count, row in enumerate(rows):
            tree = next(lines, None)
            if tree is None:
                what = f"it has {count} lines, fewer than there are pairs"
                raise InputError(what, Place(path), "give a file with the tree of every target, a line each")
            if not is_text(tree):
                raise InputError("this line is not UTF-8 text", Place(path, count + 1), "save the file as UTF-8")
            row.tree = tree
            yield row
        if next(lines, "").strip():
            what = f"it has more trees than there are pairs ({count + 1})"
            raise InputError(what, Place(path), "give a file with the tree of every target, a line each")


def _short(text: str) -> str:
    text = text.encode("utf-8", "replace").decode()
    return repr(text if len(text) <= 60 else text[:60] + "...")
