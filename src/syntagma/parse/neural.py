"""The default parser: a span-based chart parser on a small pretrained encoder.

A model is a folder of `config.json`, `model.safetensors`, `tokenizer.json` and a model card.  Sentences are parsed in
batches of like length; the trees come back in the order of the sentences.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from syntagma.errors import ConfigError, Place
from syntagma.files import write_whole
from syntagma.parse import chart, weights
from syntagma.parse.base import SentenceError
from syntagma.parse.config import read_config, to_dict
from syntagma.parse.encoder import EncoderConfig
from syntagma.parse.loss import close_roots, to_chart
from syntagma.parse.network import NetworkConfig, ParserNetwork, collate
from syntagma.parse.pieces import Encoded, Pieces
from syntagma.tree import ROOT, Tree
from syntagma.tree.node import CLOSE, check_word, escape

BATCH_PIECES = 1536
"""Pieces in a batch, padding included."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """What `config.json` holds."""

    name: str
    version: str
    encoder: EncoderConfig
    network: NetworkConfig
    labels: tuple[str, ...]  # chains such as S+VP, the null label first
    tags: tuple[str, ...]
    open_root: bool = False  # whether the root may have several children
    longest: int = 400  # words in a sentence
    kind: str = "span-chart"
    language: str = ""  # the code of the language that it parses, such as en; empty where nobody said


class NeuralParser:
    """Parses words with a `ParserNetwork`, or with what gives scores of the same shapes."""

    def __init__(self, config: ModelConfig, network: nn.Module, pieces: Pieces) -> None:
        self.config = config
        self.network = network.eval()
        self.pieces = pieces
        self.name = config.name
        self.version = config.version
        self.labels = tuple(sorted({link for chain in config.labels for link in chain.split("+") if link} | {ROOT}))
        self._chains = [["(" + link for link in chain.split("+") if link] for chain in config.labels]
        self._tags = ["(" + tag for tag in config.tags]

    @classmethod
    def load(cls, folder: str | Path) -> NeuralParser:
        """The parser of a model folder."""
        folder = Path(folder)
        if not folder.is_dir():
            raise ConfigError("there is no such model folder", Place(str(folder)), "check the name")
        config = read_config(ModelConfig, folder / "config.json")
        network = ParserNetwork(config.encoder, config.network)
        weights.load(network, folder / "model.safetensors")
        return cls(config, network, Pieces.load(folder / "tokenizer.json"))

    def save(self, folder: str | Path, precision: str = "int8") -> None:
        """Write the model folder; `precision` of the matrices is `int8`, `fp16` or `fp32`."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        weights.save(self.network, folder / "model.safetensors", precision)
        with write_whole(folder / "tokenizer.json") as stream:
            stream.write(self.pieces.tokenizer.to_str())
        with write_whole(folder / "config.json") as stream:
            json.dump(to_dict(self.config), stream, indent=1, ensure_ascii=False)
            stream.write("\n")

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        """The trees of sentences that are already split into words, in their order."""
        encoded = [self._encode(words, number) for number, words in enumerate(sentences)]
        trees: list[Tree | None] = [None] * len(sentences)
        for numbers in batches_by_length([len(one.pieces) for one in encoded], BATCH_PIECES):
            batch = [encoded[number] for number in numbers]
            for number, tree in zip(numbers, self._parse(batch, [sentences[n] for n in numbers]), strict=True):
                trees[number] = tree
        return [tree for tree in trees if tree is not None]

    def _encode(self, words: Sequence[str], number: int) -> Encoded:
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

    @torch.inference_mode()
    def _parse(self, batch: list[Encoded], sentences: list[Sequence[str]]) -> list[Tree]:
        tensors = collate(batch, self.pieces.pad)
        size = max(tensors.lengths)
        scores, tags = self.network(tensors)
        if not self.config.open_root:
            close_roots(scores, tensors.lengths, size)
        best, label = scores.max(dim=2)
        spans = chart.decode(to_chart(best, size), tensors.lengths)
        labels = label.numpy()
        tag_ids = tags.argmax(dim=2).tolist()
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
