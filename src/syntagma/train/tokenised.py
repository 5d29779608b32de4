"""A split's texts and trees in the ids of another vocabulary than the corpus's, as a backbone needs them.

They are made once and kept in the run's folder, `ids-SPLIT/`: for each kind of list one file of ids end to end (32 bits
each) and one of where each list ends (64 bits).  The files are written as texts are read and mapped into memory, so a
corpus may be larger than that.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from syntagma.corpus.encoding import encode_pair
from syntagma.corpus.store import EncodedPair, IdLevel, Lengths, Pair, Split
from syntagma.text.vocabulary import Vocabulary

_COLUMNS = ("source", "target", "linear", "levels", "sizes")
_NOTE = "of.json"
_BLOCK = 100_000
"""Examples whose lengths are computed at a time."""

Column = npt.NDArray[np.int32]
Ends = npt.NDArray[np.int64]


class Tokenised:
    """Examples in any order, out of mapped files."""

    def __init__(self, folder: Path) -> None:
        self._values: dict[str, Column] = {name: _mapped(folder / f"{name}.ids", np.int32) for name in _COLUMNS}
        self._ends: dict[str, Ends] = {name: _mapped(folder / f"{name}.ends", np.int64) for name in _COLUMNS}

    @staticmethod
    def of(split: Split, vocabulary: Vocabulary, folder: Path) -> Tokenised:
        """The examples of a split in a vocabulary's ids, from the folder where it holds them already."""
        wanted = {"vocabulary": vocabulary.fingerprint, "split": split.name, "pairs": len(split)}
        if _note(folder) != wanted:
            part = folder.with_name(f".{folder.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            write_ids(split, vocabulary, part)
            (part / _NOTE).write_text(json.dumps(wanted), encoding="utf-8")
            shutil.rmtree(folder, ignore_errors=True)
            part.rename(folder)
        return Tokenised(folder)

    def __len__(self) -> int:
        return len(self._ends["source"])

    def __getitem__(self, index: int) -> EncodedPair:
        flat = self._cell("levels", index)
        levels, start = [], 0
        bounds = np.cumsum(self._cell("sizes", index)).tolist()
        for middle, end in zip(bounds[::2], bounds[1::2], strict=True):
            levels.append(IdLevel(flat[start:middle], flat[middle:end]))
            start = end
        return EncodedPair(
            self._cell("source", index), levels, self._cell("target", index), self._cell("linear", index)
        )

    def _cell(self, name: str, index: int) -> Column:
        ends = self._ends[name]
        return self._values[name][int(ends[index - 1]) if index else 0 : int(ends[index])]

    def lengths(self) -> Lengths:
        """The lengths of all examples."""
        blocks = [self._lengths(start, min(start + _BLOCK, len(self))) for start in range(0, len(self), _BLOCK)]
        return Lengths(*(np.concatenate(column) for column in zip(*blocks, strict=True)))

    def _lengths(self, start: int, stop: int) -> Lengths:
        """The lengths of examples from `start` to `stop`."""
        first = {name: int(ends[start - 1]) if start else 0 for name, ends in self._ends.items()}
        plain = {
            name: np.diff(ends[start:stop], prepend=first[name]).astype(np.int32) for name, ends in self._ends.items()
        }
        sizes = self._values["sizes"][first["sizes"] : int(self._ends["sizes"][stop - 1])]
        starts = (np.concatenate([[0], np.cumsum(plain["sizes"])[:-1]]) // 2).astype(np.int64)
        contexts, infills = sizes[::2], sizes[1::2]
        return Lengths(
            plain["source"], plain["target"], plain["linear"], plain["sizes"] // 2,
            np.add.reduceat(contexts, starts), np.add.reduceat(infills, starts),
            np.maximum.reduceat(contexts, starts), np.maximum.reduceat(infills, starts),
        )  # fmt: skip


def _mapped(path: Path, kind: Any) -> Any:
    return np.memmap(path, kind, "r") if path.stat().st_size else np.zeros(0, kind)


def _note(folder: Path) -> Any:
    try:
        return json.loads((folder / _NOTE).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # it is not there yet, or not whole
        return None


def write_ids(pairs: Iterable[Pair], vocabulary: Vocabulary, folder: Path) -> None:
    """Pairs as files of ids, each beside where its lists end."""
    with ExitStack() as stack:
        ids = {name: stack.enter_context(open(folder / f"{name}.ids", "wb")) for name in _COLUMNS}
        ends = {name: stack.enter_context(open(folder / f"{name}.ends", "wb")) for name in _COLUMNS}
        written = dict.fromkeys(_COLUMNS, 0)
        for pair in pairs:
            encoded = encode_pair(pair.source, pair.words, pair.tree, vocabulary)
            for name in _COLUMNS:
                numbers = getattr(encoded, name)
                ids[name].write(np.array(numbers, np.int32).tobytes())
                written[name] += len(numbers)
                ends[name].write(np.int64(written[name]).tobytes())
