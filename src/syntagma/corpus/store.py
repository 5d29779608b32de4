"""A prepared corpus: its pairs to read one after the other, its ids to reach in any order.

    corpus = Corpus.open("corpora/tatoeba")
    for pair in corpus.split("train"):
        pair.source, pair.target, pair.tree
    example = corpus.split("train").examples[12]
    example.source_ids, example.levels[0].context, example.target_ids

A corpus is a folder of `corpus.json`, `tokenizer.json`, `rejects.jsonl`, and for each split shards of pairs (Parquet)
and of ids (Arrow, mapped into memory, so it may be larger than that).
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.ipc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from syntagma.corpus.options import CorpusOptions
from syntagma.corpus.shards import spaced
from syntagma.errors import ConfigError, InputError, Place
from syntagma.text import Subwords, Word, join
from syntagma.tree import Tree, prune, read_tree

FORMAT: Final = 1

Ids: TypeAlias = "npt.NDArray[Any]"
"""Ids of one sequence, 16 or 32 bits each."""
Counts: TypeAlias = "npt.NDArray[np.int32]"


@dataclass(frozen=True, slots=True)
class Pair:
    """A source, and a target with its tree pruned to the corpus's labels; `full` is the tree as it was parsed."""

    source: str
    target: str
    words: tuple[Word, ...]
    tree: Tree
    full: Tree
    row: int
    backwards: bool


class IdLevel(NamedTuple):
    """A context and its infill in ids."""

    context: Ids
    infill: Ids


class EncodedPair(NamedTuple):
    """A pair in ids, without start, end or padding."""

    source_ids: Ids
    levels: list[IdLevel]
    target_ids: Ids
    linear_ids: Ids


class Lengths(NamedTuple):
    """For each of n examples: the ids of its source, target and linear form, its levels, their sums and the longest."""

    source: Counts
    target: Counts
    linear: Counts
    levels: Counts
    contexts: Counts
    infills: Counts
    longest_context: Counts
    longest_infill: Counts


class Corpus:
    """A folder that `syntagma prepare` made."""

    def __init__(self, folder: Path, facts: dict[str, Any]) -> None:
        self.folder = folder
        self.facts = facts
        self.options = CorpusOptions.from_dict(facts["options"])
        self.labels: tuple[str, ...] = tuple(facts["labels"])
        self.splits: tuple[str, ...] = tuple(facts["splits"])
        self.fingerprint: str = facts["tokenizer"]["fingerprint"]

    @staticmethod
    def open(folder: str | Path) -> Corpus:
        """The corpus in a folder; a folder that is none, unfinished or damaged is an error."""
        folder = Path(folder)
        try:
            facts = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
            version = facts["format"]
        except OSError:
            unfinished = (folder / "work").is_dir()
            what = "this corpus is not finished" if unfinished else "this is not a prepared corpus"
            remedy = "run the same `syntagma prepare` again" if unfinished else "make one with `syntagma prepare`"
            raise InputError(what, Place(str(folder)), remedy) from None
        except (ValueError, KeyError, TypeError):
            raise InputError("it is damaged", Place(str(folder / "corpus.json")), "prepare the corpus again") from None
        if version != FORMAT:
            what = f"this corpus has format {version}, this program reads {FORMAT}"
            raise ConfigError(what, Place(str(folder)), "prepare it again")
        return Corpus(folder, facts)

    def __len__(self) -> int:
        """The number of pairs in all splits."""
        return sum(entry["pairs"] for entry in self.facts["splits"].values())

    def __iter__(self) -> Iterator[Pair]:
        for name in self.splits:
            yield from self.split(name)

    @cached_property
    def subwords(self) -> Subwords:
        """The vocabulary of the ids; checked to be the one that the corpus was made with."""
        subwords = Subwords.load(self.folder / "tokenizer.json")
        if subwords.fingerprint != self.fingerprint:
            place = Place(str(self.folder / "tokenizer.json"))
            raise ConfigError(
                "this is not the vocabulary that the corpus was made with", place, "prepare the corpus again"
            )
        return subwords

    def split(self, name: str) -> Split:
        """The part of that name: train, dev or test."""
        if name not in self.splits:
            what = f"there is no split {name!r}"
            raise ConfigError(what, Place(str(self.folder)), f"there are: {', '.join(self.splits)}")
        entry = self.facts["splits"][name]
        return Split(self.folder, name, tuple(entry["shards"]), self.labels, self.facts["tokenizer"]["first_text_id"])


@dataclass(frozen=True)
class Split:
    """The pairs of one part of a corpus, and their examples."""

    folder: Path
    name: str
    shards: tuple[int, ...]  # pairs in each
    labels: tuple[str, ...]
    first_text_id: int

    def __len__(self) -> int:
        return sum(self.shards)

    def __iter__(self) -> Iterator[Pair]:
        yield from map(self._pair, self._rows())

    def sources(self) -> Iterator[str]:
        """The texts to be read."""
        return (values["source"] for values in self._rows(["source"]))

    def targets(self) -> Iterator[str]:
        """The texts to be written, without their trees."""
        return (join(spaced(values["words"], values["spaces"])) for values in self._rows(["words", "spaces"]))

    def _rows(self, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
        for number in range(len(self.shards)):
            with pq.ParquetFile(self.folder / f"pairs-{self.name}-{number:05d}.parquet") as file:
                for batch in file.iter_batches(batch_size=1000, columns=columns):
                    yield from batch.to_pylist()

    def pairs(self, indices: Sequence[int]) -> list[Pair]:
        """Some pairs by their numbers; each shard is read as far as it is needed."""
        pairs: dict[int, Pair] = {}
        starts = np.cumsum([0, *self.shards])
        for number in range(len(self.shards)):
            wanted = sorted({index for index in indices if starts[number] <= index < starts[number + 1]})
            if wanted:
                table = pq.read_table(self.folder / f"pairs-{self.name}-{number:05d}.parquet")
                rows = table.take(pa.array([index - int(starts[number]) for index in wanted])).to_pylist()
                pairs.update((index, self._pair(values)) for index, values in zip(wanted, rows, strict=True))
        return [pairs[index] for index in indices]

    def _pair(self, values: dict[str, Any]) -> Pair:
        words = tuple(spaced(values["words"], values["spaces"]))
        full = read_tree(values["tree"])
        tree = prune(full, self.labels)
        return Pair(values["source"], join(words), words, tree, full, values["row"], values["backwards"])

    @cached_property
    def examples(self) -> EncodedPairs:
        """The same pairs in ids."""
        files = [self.folder / f"ids-{self.name}-{number:05d}.arrow" for number in range(len(self.shards))]
        return EncodedPairs(files, self.shards, self.first_text_id)


class EncodedPairs(Sequence[EncodedPair]):
    """Encoded pairs in any order out of mapped files.  Can be pickled: another process maps the files for itself."""

    def __init__(self, files: Sequence[Path], sizes: Sequence[int], first_text_id: int) -> None:
        self.files = list(files)
        self.starts = [0]
        for size in sizes:
            self.starts.append(self.starts[-1] + size)
        self.first_text_id = first_text_id
        self._mapped: dict[int, _Mapped] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_mapped": {}}

    def __len__(self) -> int:
        return self.starts[-1]

    def __getitem__(self, index: int) -> EncodedPair:  # type: ignore[override]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"example {index} of {len(self)}")
        number = bisect_right(self.starts, index) - 1
        shard = self._shard(number)
        row = index - self.starts[number]
        linear = shard.cell("linear", row)
        flat = shard.cell("levels", row)
        bounds = np.cumsum(shard.cell("sizes", row), dtype=np.int64).tolist()
        levels = []
        start = 0
        for middle, end in zip(bounds[::2], bounds[1::2], strict=True):
            levels.append(IdLevel(flat[start:middle], flat[middle:end]))
            start = end
        return EncodedPair(shard.cell("source", row), levels, linear[linear >= self.first_text_id], linear)

    def _shard(self, number: int) -> _Mapped:
        if number not in self._mapped:
            shard = _Mapped(self.files[number])
            if shard.size != self.starts[number + 1] - self.starts[number]:
                raise InputError(
                    "it does not hold as many pairs as it should",
                    Place(str(self.files[number])),
                    "prepare the corpus again",
                )
            self._mapped[number] = shard
        return self._mapped[number]

    def lengths(self) -> Lengths:
        """The lengths of all examples, found without reading them one by one."""
        parts = [self._shard(number).lengths(self.first_text_id) for number in range(len(self.files))]
        empty = [np.zeros(0, np.int32)]
        return (
            Lengths(*(np.concatenate([*empty, *column]) for column in zip(*parts, strict=True)))
            if parts
            else Lengths(*empty * 8)
        )

    def label_counts(self) -> npt.NDArray[np.int64]:
        """How often each id below the text's occurs in the trees."""
        counts = np.zeros(self.first_text_id, np.int64)
        for number in range(len(self.files)):
            ids = self._shard(number).values["linear"]
            counts += np.bincount(ids[ids < self.first_text_id], minlength=self.first_text_id)
        return counts


class _Mapped:
    """One file of ids, mapped into memory."""

    def __init__(self, path: Path) -> None:
        try:
            batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
        except (OSError, pa.ArrowInvalid) as error:
            raise InputError(f"it cannot be read ({error})", Place(str(path)), "prepare the corpus again") from None
        self.size: int = batch.num_rows
        self.offsets = {name: batch.column(name).offsets.to_numpy() for name in batch.schema.names}
        self.values = {name: batch.column(name).values.to_numpy() for name in batch.schema.names}

    def cell(self, name: str, row: int) -> Ids:
        """The list of one column at a row."""
        offsets = self.offsets[name]
        cell: Ids = self.values[name][offsets[row] : offsets[row + 1]]
        return cell

    def lengths(self, first_text_id: int) -> Lengths:
        """The lengths of this file's examples."""
        plain = {name: np.diff(offsets) for name, offsets in self.offsets.items()}
        starts = self.offsets["sizes"][:-1] // 2
        contexts = self.values["sizes"][::2].astype(np.int32)
        infills = self.values["sizes"][1::2].astype(np.int32)
        is_text = np.concatenate([[0], np.cumsum(self.values["linear"] >= first_text_id)])
        return Lengths(
            plain["source"],
            np.diff(is_text[self.offsets["linear"]]).astype(np.int32),
            plain["linear"],
            plain["sizes"] // 2,
            np.add.reduceat(contexts, starts),
            np.add.reduceat(infills, starts),
            np.maximum.reduceat(contexts, starts),
            np.maximum.reduceat(infills, starts),
        )
