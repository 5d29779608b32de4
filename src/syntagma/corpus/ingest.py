"""Rows into chunks: the part of the work that must go in order, and is cheap.

White space is made plain, rows are selected, and pairs that were seen before or must not be trained on are marked.  A
chunk is a fixed number of rows, so the same input gives the same chunks, whoever works on them and however often a run
is stopped.  Memory: 8 bytes a pair for those seen (16 while the set grows), see `keys`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np

from syntagma.corpus.filters import Reason, Selection, normalise
from syntagma.corpus.hashing import KeySet, either_way_key, pair_key, text_key
from syntagma.corpus.options import CorpusOptions, Input
from syntagma.corpus.readers import InputRow, Rows, Stream, format_of, read_input
from syntagma.errors import InputError, Place
from syntagma.files import atomic_write

ROW_REASONS = frozenset(
    {"missing-column", "not-json", "bad-csv", "not-utf-8", "nul", "empty-side", "where", "keep-fraction"}
)
"""Reasons that concern a whole row, before it becomes one pair or two."""


OVERLAP = "held-out-text"
"""The reason of training pairs that would show the model a source of dev or test."""


class RawPair(NamedTuple):
    """A pair on its way, or a row that is already rejected."""

    row: int  # from 1, over all inputs: those of test and dev come first
    file: str
    line: int
    split: str
    backwards: bool
    source: str
    target: str
    key: int = 0
    tree: str | None = None
    reason: str | None = None
    detail: str = ""
    touched: int = 0  # 1: the source's white space was changed, 2: the target's, 3: both


class Chunk(NamedTuple):
    """Consecutive rows of the input; `digest` tells whether they are still the same when a run goes on."""

    number: int
    rows: int
    digest: str
    entries: list[RawPair]

    def save(self, path: Path) -> None:
        """Write the chunk for a worker that shares nothing but a file system."""
        with atomic_write(path) as stream:
            json.dump([self.number, self.rows, self.digest, self.entries], stream, ensure_ascii=False)

    @staticmethod
    def load(path: Path) -> Chunk:
        """The chunk that was saved."""
        number, rows, digest, entries = json.loads(path.read_text(encoding="utf-8"))
        return Chunk(number, rows, digest, [RawPair(*entry) for entry in entries])


class Ingest:
    """The inputs as chunks."""

    def __init__(self, options: CorpusOptions) -> None:
        self.options = options
        self.rows = Rows(options)
        self._selection = Selection.of(options)
        self._seen = KeySet()
        self._held_out = KeySet()
        self._held_sources = KeySet()

    def __iter__(self) -> Iterator[Chunk]:
        for path in self.options.exclude:
            self._held_out.add(np.array(list(_excluded_keys(path)), np.uint64))
        waiting: list[InputRow] = []
        number = 0
        for row in self._limited():
            waiting.append(row)
            if len(waiting) == self.options.chunk_rows:
                yield self._chunk(number, waiting)
                waiting, number = [], number + 1
        if waiting:
            yield self._chunk(number, waiting)
        elif number == 0:
            names = ", ".join(input_.path for input_ in self.options.inputs)
            raise InputError("there are no pairs", Place(names), "give a file with source<TAB>target lines")

    def _limited(self) -> Iterator[InputRow]:
        """The rows, of each input as many as are asked for."""
        counts: Counter[tuple[str, str]] = Counter()
        for row in self.rows:
            key = (row.file, row.split)
            if self.options.max_rows is not None and counts[key] >= self.options.max_rows:
                continue
            counts[key] += self._selection.asks_for(row)
            yield row

    def _chunk(self, number: int, rows: list[InputRow]) -> Chunk:
        if number == 0 and all(row.reason == "missing-column" for row in rows):
            what = f"no line has the columns asked for ({rows[0].detail} in line {rows[0].line})"
            raise InputError(what, Place(rows[0].file), "name the columns of source and target with --columns")
        digest = blake2b(digest_size=16)
        entries: list[RawPair] = []
        for index, row in enumerate(rows):
            facts = (row.split, row.source, row.target, row.others, row.tree, row.reason)
            digest.update(repr(facts).encode("utf-8", "replace"))
            entries.extend(self._entries(number * self.options.chunk_rows + index + 1, row))
        return Chunk(number, len(rows), digest.hexdigest(), self._mark_repeated(entries))

    def _entries(self, number: int, row: InputRow) -> Iterator[RawPair]:
        """The pairs of a row: itself, and turned round where both directions are asked for."""
        pair = RawPair(number, row.file, row.line, row.split, False, row.source, row.target, tree=row.tree)
        if row.reason is not None:
            yield pair._replace(reason=row.reason, detail=row.detail, tree=None)
            return
        source, target = normalise(row.source), normalise(row.target)
        touched = (source != row.source) + 2 * (target != row.target)
        key = either_way_key(source, target)
        pair = pair._replace(source=source, target=target, key=key, touched=touched)
        refused = self._selection.refuse(row, key)
        if refused is not None:
            yield pair._replace(reason=refused[0], detail=refused[1])
            return
        yield pair
        if self.options.both_ways:
            swapped = (touched >> 1) | (touched & 1) << 1
            yield pair._replace(backwards=True, source=target, target=source, tree=None, touched=swapped)

    def _mark_repeated(self, entries: list[RawPair]) -> list[RawPair]:
        """Give identical, repeated and held-out training pairs their reason; dev and test pairs are held out."""
        held_out = [entry for entry in entries if entry.split != "train" and entry.reason is None]
        self._held_out.add(np.array([entry.key for entry in held_out], np.uint64))
        self._held_sources.add(np.array([text_key(entry.source) for entry in held_out], np.uint64))
        indices = [index for index, entry in enumerate(entries) if entry.split == "train" and entry.reason is None]
        excluded = self._held_out.has(np.array([entries[index].key for index in indices], np.uint64))
        kept: list[int] = []
        for index, is_excluded in zip(indices, excluded, strict=True):
            refused = self._refuse(entries[index], bool(is_excluded))
            if refused is None:
                kept.append(index)
            else:
                entries[index] = entries[index]._replace(reason=refused[0], detail=refused[1])
        if not self.options.keep_duplicates:
            new = self._seen.add(
                np.array([pair_key(entries[index].source, entries[index].target) for index in kept], np.uint64)
            )
            for index in (index for index, is_new in zip(kept, new, strict=True) if not is_new):
                entries[index] = entries[index]._replace(reason="duplicate", detail="the pair was seen before")
        return entries

    def _refuse(self, entry: RawPair, excluded: bool) -> Reason | None:
        if excluded:
            return "held-out", "the pair, or its reverse, is in dev, test or an excluded file"
        if entry.source == entry.target and not self.options.keep_identical:
            return "identical", "source and target are the same"
        if len(self._held_sources) and not self.options.keep_overlap:
            keys = np.array([text_key(entry.source), text_key(entry.target)], np.uint64)
            for side, is_held in zip(("source", "target"), self._held_sources.has(keys), strict=True):
                if is_held:
                    return OVERLAP, f"the {side} is a source of dev or test"
        return None


def _excluded_keys(path: str) -> Iterator[int]:
    """The keys of a file of pairs, in any of the formats with its usual columns."""
    excluded = Input(path)
    with ExitStack() as stack:
        stream = None if format_of(excluded) == "corpus" else stack.enter_context(Stream(path))
        for row in read_input(excluded, stream, CorpusOptions(inputs=(excluded,)), stack):
            if row.reason is None:
                yield either_way_key(normalise(row.source), normalise(row.target))
