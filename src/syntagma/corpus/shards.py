"""Chunks into the files of a corpus: which pairs go into which split, shards of pairs, and their ids for training.

`ids-SPLIT-N.arrow` is an Arrow file that can be mapped into memory, a row for each pair of `pairs-SPLIT-N.parquet`,
with four lists of numbers (16 bits, or 32 for a vocabulary of more than 65,536):

    source  the source's ids
    linear  the target's tree: a label's id opens it, `<c>` closes it, no root; its text ids are the target's
    levels  context and infill of every level in turn, end to end
    sizes   how long each of them is: context, infill, context, infill, ...

None of them holds start, end or padding: those are the model's business.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.ipc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from syntagma.corpus.chunks import PAIR_SCHEMA, Summary, write_parquet
from syntagma.corpus.encoding import encode_pair
from syntagma.corpus.hashing import Keys, mix, pair_key
from syntagma.corpus.ingest import OVERLAP
from syntagma.corpus.noise import with_noise
from syntagma.corpus.options import AUTO, SPLITS, CorpusOptions
from syntagma.errors import ConfigError
from syntagma.files import atomic_write
from syntagma.text import Subwords, Word, join
from syntagma.tree import prune, read_tree

_SPLIT_SALT = 0x5911
_SLICE = 1000  # pairs that are Python objects at a time


DROPPED = -1
"""The split of pairs that have a text in common with a source that was drawn."""
_KEYS = ["split", "key", "source_key", "target_key"]


class Drawn(NamedTuple):
    """The keys of the training pairs that were drawn for dev and for test; a pair and its reverse share a key."""

    dev: tuple[int, ...] = ()
    test: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()
    """The keys of their sources, which no pair that is left for training may show."""

    def splits(self, table: pa.Table) -> npt.NDArray[np.int8]:
        """The number of each pair's split, drawn pairs moved out of the training part."""
        splits, keys = table["split"].to_numpy(), table["key"].to_numpy()
        moved: npt.NDArray[np.int8] = splits.copy()
        for name, drawn in (("dev", self.dev), ("test", self.test)):
            if drawn:
                moved[(splits == 0) & np.isin(keys, np.array(drawn, np.uint64))] = SPLITS.index(name)
        if self.sources:
            held_out = np.array(self.sources, np.uint64)
            shows = [np.isin(table[side].to_numpy(), held_out) for side in ("source_key", "target_key")]
            moved[(moved == 0) & (shows[0] | shows[1])] = DROPPED
        return moved


def chunk_path(folder: Path, number: int) -> Path:
    """The kept pairs of a chunk."""
    return folder / f"chunk-{number:06d}.parquet"


def draw_splits(options: CorpusOptions, folder: Path, summaries: Sequence[Summary]) -> Drawn:
    """Choose `options.dev` and `options.test` of the training pairs by hash, a pair together with its reverse.

    The number is met exactly but where a pair and its reverse would exceed it by one.
    """
    available = sum(summary.kept.get("train", 0) for summary in summaries)
    dev = options.dev
    if dev == AUTO:
        dev = 0 if any(summary.kept.get("dev") for summary in summaries) else auto_dev(available)
    wanted = dev + options.test
    if not wanted:
        return Drawn()
    if wanted >= available:
        what = f"dev and test ask for {wanted} pairs, and {available} were kept in all"
        raise ConfigError(what, remedy="ask for fewer")
    best: Keys = np.zeros(0, np.uint64)
    room = 2 * wanted + 4
    cut = False
    for summary in summaries:  # only the smallest are kept: constant memory
        table = pq.read_table(chunk_path(folder, summary.number), columns=["key", "split"])
        keys = table["key"].to_numpy()[table["split"].to_numpy() == 0]
        best = np.concatenate([best, keys])
        if len(best) > room:
            best = best[np.argpartition(mix(best, options.seed ^ _SPLIT_SALT), room - 1)[:room]]
            cut = True
    best = best[np.lexsort((best, mix(best, options.seed ^ _SPLIT_SALT)))]
    if cut:
        best = best[best != best[-1]]  # its reverse may have been cut off
    drawn = _fill_up(best.tolist(), dev, options.test)
    return drawn if options.keep_overlap else drawn._replace(sources=_sources(drawn, folder, summaries))


def auto_dev(pairs: int) -> int:
    """How many of so many training pairs make a dev set: a hundredth, at least 10 and at most 500, of 20 on.

    >>> [auto_dev(pairs) for pairs in (19, 20, 3000, 1_000_000)]
    [0, 10, 30, 500]
    """
    return 0 if pairs < 20 else min(500, max(10, pairs // 100))


def _sources(drawn: Drawn, folder: Path, summaries: Sequence[Summary]) -> tuple[int, ...]:
    keys: set[int] = set()
    for summary in summaries:
        table = pq.read_table(chunk_path(folder, summary.number), columns=_KEYS)
        keys.update(table["source_key"].to_numpy()[drawn.splits(table) > table["split"].to_numpy()].tolist())
    return tuple(sorted(keys))


def _fill_up(keys: list[int], dev: int, test: int) -> Drawn:
    drawn: dict[str, list[int]] = {"dev": [], "test": []}
    left = {"dev": dev, "test": test}
    for key, size in Counter(keys).items():
        for name in ("dev", "test"):
            if size <= left[name]:
                drawn[name].append(key)
                left[name] -= size
                break
    return Drawn(tuple(drawn["dev"]), tuple(drawn["test"]))


def dropped(folder: Path, summaries: Sequence[Summary], drawn: Drawn) -> Iterator[dict[str, Any]]:
    """The pairs that are left out because they show a source that was drawn."""
    for summary in summaries if drawn.sources else ():
        table = pq.read_table(chunk_path(folder, summary.number))
        rows = np.flatnonzero(drawn.splits(table) == DROPPED)
        held_out = set(drawn.sources)
        for pair in table.take(pa.array(rows)).to_pylist():
            side = "source" if pair["source_key"] in held_out else "target"
            text = join(spaced(pair["words"], pair["spaces"]))
            reject = {"reason": OVERLAP, "detail": f"the {side} is a source of dev or test"}
            where = {"row": pair["row"], "backwards": pair["backwards"]}
            yield {**where, **reject, "source": pair["source"], "target": text}


class ShardJob(NamedTuple):
    """A shard to be written: for each chunk that it takes pairs from, which of the chunk's pairs of that split."""

    split: str
    number: int
    pieces: tuple[tuple[int, int, int], ...]  # chunk, first, last + 1
    drawn: Drawn

    def name(self, kind: str) -> str:
        """The file's name; `kind` is `pairs` or `ids`."""
        return f"{kind}-{self.split}-{self.number:05d}.{'parquet' if kind == 'pairs' else 'arrow'}"


def plan_shards(options: CorpusOptions, folder: Path, summaries: Sequence[Summary], drawn: Drawn) -> list[ShardJob]:
    """Every shard of every split, in order."""
    pieces: dict[str, list[tuple[int, int, int]]] = {name: [] for name in SPLITS}
    for summary in summaries:
        for name, count in _counts(folder, summary, drawn).items():
            pieces[name].append((summary.number, 0, count))
    jobs = []
    for name in SPLITS:
        for number, part in enumerate(_cut(pieces[name], options.shard_pairs)):
            jobs.append(ShardJob(name, number, tuple(part), drawn))
    return jobs


def _counts(folder: Path, summary: Summary, drawn: Drawn) -> dict[str, int]:
    if drawn == Drawn():
        return summary.kept
    splits = drawn.splits(pq.read_table(chunk_path(folder, summary.number), columns=_KEYS))
    return {name: int((splits == index).sum()) for index, name in enumerate(SPLITS)}


def _cut(pieces: Sequence[tuple[int, int, int]], most: int) -> Iterator[list[tuple[int, int, int]]]:
    """Pieces in groups of exactly `most` pairs, the last of what is left."""
    group: list[tuple[int, int, int]] = []
    room = most
    for chunk, start, stop in pieces:
        while stop > start:
            take = min(room, stop - start)
            group.append((chunk, start, start + take))
            start, room = start + take, room - take
            if room == 0:
                yield group
                group, room = [], most
    if group:
        yield group


class Sharding:
    """The work on one shard; each process loads the vocabulary once."""

    def __init__(self, options: CorpusOptions, folder: Path, work: Path) -> None:
        self.options = options
        self.folder = folder
        self.work = work
        self._subwords: Subwords | None = None

    def __getstate__(self) -> tuple[Any, ...]:
        return self.options, self.folder, self.work

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.options, self.folder, self.work = state
        self._subwords = None

    def __call__(self, job: ShardJob) -> int:
        """Write the pairs and the ids of a shard; the number of its pairs."""
        if self._subwords is None:
            self._subwords = Subwords.load(self.folder / "tokenizer.json")
        table = self._pairs(job)
        with atomic_write(self.folder / job.name("pairs"), "wb") as stream:
            write_parquet(table, stream)
        batch = encode_table(table, self._subwords, self.options.labels)
        with (
            atomic_write(self.folder / job.name("ids"), "wb") as stream,
            pa.ipc.new_file(stream, batch.schema) as writer,
        ):
            writer.write_batch(batch)
        return int(table.num_rows)

    def _pairs(self, job: ShardJob) -> pa.Table:
        tables = []
        for chunk, start, stop in job.pieces:
            table = pq.read_table(chunk_path(self.work, chunk))
            rows = np.flatnonzero(job.drawn.splits(table) == SPLITS.index(job.split))[start:stop]
            tables.append(table.select(PAIR_SCHEMA.names).take(pa.array(rows)))
        table = pa.concat_tables(tables).combine_chunks()
        return self._noisy(table) if self.options.label_noise and job.split == "train" else table

    def _noisy(self, table: pa.Table) -> pa.Table:
        """The pairs with noise on the labels of their trees: what a model learns from, never what it is measured by."""
        options = self.options
        trees = []
        for pair in table.select(["source", "words", "tree"]).to_pylist():
            key = pair_key(pair["source"], " ".join(pair["words"]))
            noisy = with_noise(read_tree(pair["tree"]), options.labels, options.label_noise, options.seed, key)
            trees.append(str(noisy))
        place = table.column_names.index("tree")
        return table.set_column(place, table.schema.field(place), pa.array(trees, table.schema.field(place).type))


@dataclass(slots=True)
class _Lists:
    """Lists of numbers, end to end."""

    kind: Any
    values: list[Any]
    offsets: list[int]
    size: int = 0

    @staticmethod
    def of(kind: Any) -> _Lists:
        return _Lists(kind, [], [0])

    def add(self, numbers: Sequence[int]) -> None:
        self.values.append(np.array(numbers, self.kind))
        self.size += len(numbers)
        self.offsets.append(self.size)

    def array(self) -> pa.ListArray:
        values = np.concatenate(self.values) if self.values else np.zeros(0, self.kind)
        return pa.ListArray.from_arrays(pa.array(np.array(self.offsets, np.int32)), pa.array(values))


def encode_table(table: pa.Table, subwords: Subwords, labels: Sequence[str]) -> pa.RecordBatch:
    """The ids of a table of pairs, as this file's head describes them."""
    kind = np.uint16 if subwords.size <= 1 << 16 else np.int32
    columns = {name: _Lists.of(kind) for name in ("source", "linear", "levels")} | {"sizes": _Lists.of(np.uint16)}
    for start in range(0, table.num_rows, _SLICE):
        for pair in table.slice(start, _SLICE).to_pylist():
            tree = prune(read_tree(pair["tree"]), labels)
            ids = encode_pair(pair["source"], spaced(pair["words"], pair["spaces"]), tree, subwords)
            for name, lists in columns.items():
                lists.add(getattr(ids, name))
    return pa.RecordBatch.from_arrays([lists.array() for lists in columns.values()], names=list(columns))


def spaced(words: Sequence[str], spaces: Sequence[bool]) -> list[Word]:
    """Words with their spacing."""
    return [Word(word, " " if space else "") for word, space in zip(words, spaces, strict=True)]
