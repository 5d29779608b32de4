"""The default parser: a span-based chart parser on a small pretrained encoder.

A model is a folder of `config.json`, `model.safetensors`, `tokenizer.json`, a graph `parser.onnx` that runs it without
torch, and a model card.  Sentences are parsed in batches of like length; the trees come back in the order of the
sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from syntagma.errors import ConfigError, Place
from syntagma.hub import CHECKSUM, check_checksum
from syntagma.parse import chart
from syntagma.parse.base import SentenceError
from syntagma.parse.pieces import EncodedSentence, Pieces
from syntagma.parse.shape import ParserConfig
from syntagma.process import Background, halving
from syntagma.runtime.device import find_device, needs_torch
from syntagma.tree import ROOT, Tree
from syntagma.tree.node import CLOSE, check_word, escape

BATCH_PIECES = 512
"""Pieces in a batch, padding included."""


class Scored(NamedTuple):
    """A network's scores for sentences.

    `values` and `labels` (batch, spans) are the score and the id of the best label but the null label (whose is 0)
    for each span as in `chart.span_index`; `tags` (batch, words) the best tags.
    """

    values: npt.NDArray[np.float32]
    labels: chart.Ids
    tags: chart.Ids


Scorer = Callable[[Sequence[EncodedSentence]], Scored]


class NeuralParser:
    """A chart parser over a network's scores."""

    def __init__(self, config: ParserConfig, scorer: Scorer, pieces: Pieces) -> None:
        self.config = config
        self.scorer = scorer
        self.pieces = pieces
        self.name = config.name
        self.version = config.version
        self.labels = tuple(sorted({link for chain in config.labels for link in chain.split("+") if link} | {ROOT}))
        self._chains = [["(" + link for link in chain.split("+") if link] for chain in config.labels]
        self.tags: tuple[str, ...] = tuple(config.tags)
        self._tags = ["(" + tag for tag in config.tags]

    @classmethod
    def load(
        cls, folder: str | Path, threads: int = 1, device: str = "cpu", precision: str | None = None
    ) -> NeuralParser:
        """The parser of a model folder: its graph on the CPU, without torch; its network on a GPU or in a precision."""
        folder = Path(folder)
        if not folder.is_dir():
            raise ConfigError("there is no such model folder", Place(str(folder)), "check the name")
        config = ParserConfig.load(folder / "config.json")
        if not config.graphs or needs_torch(device, precision):
            return _load_with_torch(folder, device, precision)
        from syntagma.parse.onnx import OnnxScorer

        checking = Background(lambda: check_checksum(folder, {CHECKSUM: config.weights_sha256}))
        try:
            pieces = Pieces.load(folder / "tokenizer.json")
            parser = cls(config, OnnxScorer(folder, config.graphs, pieces.pad, threads), pieces)
        finally:
            checking.wait()
        return parser

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        """The trees of sentences that are already split into words, in their order."""
        encoded = [self._encode(words, number) for number, words in enumerate(sentences)]
        trees: list[Tree | None] = [None] * len(sentences)
        for numbers in batches_by_length([len(sentence.pieces) for sentence in encoded], BATCH_PIECES):
            batch = [(encoded[number], sentences[number]) for number in numbers]
            for number, tree in zip(numbers, halving(self._parse, batch), strict=True):
                trees[number] = tree
        return [tree for tree in trees if tree is not None]

    def _encode(self, words: Sequence[str], number: int) -> EncodedSentence:
        if isinstance(words, str):
            raise TypeError("a sentence is a sequence of words; split the text first")
        if not words:
            raise SentenceError("a sentence has no words", number, "leave empty sentences out")
        if len(words) > self.config.longest:
            what = f"the sentence has {len(words)} words, more than the {self.config.longest} that {self.name} parses"
            raise SentenceError(what, number, "split it into shorter sentences")
        for word in words:
            check_word(word)
        return self.pieces.encode(words, self.config.encoder.positions)

    def _parse(self, batch: list[tuple[EncodedSentence, Sequence[str]]]) -> list[Tree]:
        values, labels, tags = self.scorer([encoded for encoded, _ in batch])
        sentences = [words for _, words in batch]
        lengths = [len(words) for words in sentences]
        size = max(lengths)
        kept = values > 0
        if not self.config.open_root:  # a whole sentence has a label, so that its root has one child
            roots = [chart.span_number(0, length, size) for length in lengths]
            kept[np.arange(len(lengths)), roots] = True
        spans = chart.decode(chart.to_chart(np.where(kept, values, np.float32(0)), size), lengths)
        labels = np.where(kept, labels, 0)
        tag_ids = tags.tolist()
        return [self._build(words, spans[row], labels[row], tag_ids[row], size) for row, words in enumerate(sentences)]

    def _build(self, words: Sequence[str], spans: chart.Spans, labels: chart.Ids, tags: list[int], size: int) -> Tree:
        """The tree with these spans (parents first), label ids (spans) of the whole chart, and tag ids (words)."""
        walk = ["(" + ROOT]
        closings = [0] * (len(words) + 1)
        for start, end in spans:
            chain = self._chains[labels[chart.span_number(start, end, size)]]
            walk.extend(chain)
            closings[end] += len(chain)
            if end == start + 1:
                walk += [self._tags[tags[start]], escape(words[start]), CLOSE]
                walk.extend([CLOSE] * closings[end])
        walk.append(CLOSE)
        return Tree.from_walk(walk)


def _load_with_torch(folder: Path, device: str, precision: str | None) -> NeuralParser:
    find_device(device)
    from syntagma.parse.trainable import TrainableParser

    return TrainableParser.load(folder, device=device, precision=precision)


def batches_by_length(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Indices in batches of like length, each of at most `most` pieces with its padding, the longest first.

    >>> batches_by_length([2, 9, 2, 3], 9)
    [[1], [3, 0, 2]]
    """
    order = sorted(range(len(lengths)), key=lambda number: (-lengths[number], number))
    batches: list[list[int]] = []
    widest = 0
    for number in order:
        if not batches or widest * (len(batches[-1]) + 1) > most:
            batches.append([])
            widest = lengths[number]
        batches[-1].append(number)
    return batches
