"""The parser's network in its graph, run by ONNX Runtime: numpy in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from syntagma.parse.chart import span_index
from syntagma.parse.neural import Scored
from syntagma.parse.pieces import EncodedSentence, pad
from syntagma.runtime.session import Graphs


class OnnxScorer:
    """Scores sentences with the graph of a parser's folder."""

    def __init__(self, folder: Path, checksums: Mapping[str, str], filler: int, threads: int = 1) -> None:
        self._graphs = Graphs(folder, checksums, threads, "parser export")
        self._filler = filler

    def __call__(self, sentences: Sequence[EncodedSentence]) -> Scored:
        """Score sentences."""
        pieces = pad([sentence.pieces for sentence in sentences], self._filler)
        words = np.array([len(sentence.first) for sentence in sentences])
        size = int(words.max())
        row_starts = np.arange(len(sentences))[:, None] * pieces.shape[1]
        starts, ends = span_index(size - 2)
        inputs = {
            "pieces": pieces,
            "shapes": pad([sentence.shapes for sentence in sentences], 0),
            "padding": np.arange(pieces.shape[1])
            >= np.array([len(sentence.pieces) for sentence in sentences])[:, None],
            "first": (pad([sentence.first for sentence in sentences], 0) + row_starts).ravel(),
            "last": (pad([sentence.last for sentence in sentences], 0) + row_starts).ravel(),
            "word_padding": np.arange(size) >= words[:, None],
            "starts": starts,
            "ends": ends,
        }
        values = {name: self._graphs.value(array) for name, array in inputs.items()}
        outputs = {
            n: value.numpy() for n, value in self._graphs.run("parser", values, ["values", "labels", "tags"]).items()
        }
        rows = len(sentences)
        return Scored(
            outputs["values"].reshape(rows, -1),
            outputs["labels"].reshape(rows, -1),
            outputs["tags"].reshape(rows, -1)[:, 1:-1],
        )
