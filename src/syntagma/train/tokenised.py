"""A split's texts and trees in the ids of another vocabulary than the corpus's, as a backbone needs them.

They are made once and kept in the run's folder, `ids-SPLIT.safetensors`: lists of ids end to end, and where each ends.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from syntagma.corpus.encoding import encode_pair
from syntagma.corpus.store import EncodedPair, IdLevel, Lengths, Pair, Split
from syntagma.text.vocabulary import Vocabulary

_COLUMNS = ("source", "target", "linear", "levels", "sizes")

Column = npt.NDArray[np.int32]


class Tokenised:
    """Examples in any order, out of flat lists."""

    def __init__(self, columns: dict[str, Column]) -> None:
        self._values = {name: columns[name] for name in _COLUMNS}
        self._ends = {name: columns[f"{name}_ends"] for name in _COLUMNS}

    @staticmethod
    def of(split: Split, vocabulary: Vocabulary, path: Path) -> Tokenised:
        """The examples of a split in a vocabulary's ids, from the file at `path` where it holds them already."""
        wanted = f"{vocabulary.fingerprint} {split.name} {len(split)}"
        try:
            with safe_open(path, framework="numpy") as stored:
                if (stored.metadata() or {}).get("of") == wanted:
                    return Tokenised(load_file(path))
        except (OSError, SafetensorError):
            pass  # it is not there yet, or not whole
        columns = tokenise(split, vocabulary)
        part = path.with_name(f".{path.name}.part")
        save_file(columns, part, metadata={"of": wanted})
        part.replace(path)
        return Tokenised(columns)

    def __len__(self) -> int:
        return len(self._ends["source"])

    def __getitem__(self, index: int) -> EncodedPair:
        flat = self._cell("levels", index)
        found, start = [], 0
        bounds = np.cumsum(self._cell("sizes", index)).tolist()
        for middle, end in zip(bounds[::2], bounds[1::2], strict=True):
            found.append(IdLevel(flat[start:middle], flat[middle:end]))
            start = end
        return EncodedPair(self._cell("source", index), found, self._cell("target", index), self._cell("linear", index))

    def _cell(self, name: str, at: int) -> Column:
        ends = self._ends[name]
        return self._values[name][int(ends[at - 1]) if at else 0 : int(ends[at])]

    def lengths(self) -> Lengths:
        """The lengths of all examples."""
        plain = {name: np.diff(ends, prepend=0).astype(np.int32) for name, ends in self._ends.items()}
        starts = np.concatenate([[0], self._ends["sizes"][:-1]]) // 2
        contexts, infills = self._values["sizes"][::2], self._values["sizes"][1::2]
        return Lengths(
            plain["source"], plain["target"], plain["linear"], plain["sizes"] // 2,
            np.add.reduceat(contexts, starts), np.add.reduceat(infills, starts),
            np.maximum.reduceat(contexts, starts), np.maximum.reduceat(infills, starts),
        )  # fmt: skip


def tokenise(pairs: Iterable[Pair], vocabulary: Vocabulary) -> dict[str, Column]:
    """Pairs as flat lists of ids, each beside where its lists end."""
    values: dict[str, array[int]] = {name: array("i") for name in _COLUMNS}
    ends: dict[str, array[int]] = {name: array("i") for name in _COLUMNS}
    for pair in pairs:
        ids = encode_pair(pair.source, pair.words, pair.tree, vocabulary)
        for name in _COLUMNS:
            values[name].extend(getattr(ids, name))
            ends[name].append(len(values[name]))
    found = {name: np.array(values[name], np.int32) for name in _COLUMNS}
    return found | {f"{name}_ends": np.array(ends[name], np.int32) for name in _COLUMNS}
