"""The default parser in torch, to train it and to save it as a model folder."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

import torch
from torch import nn

from syntagma.errors import ConfigError, Place
from syntagma.files import atomic_write
from syntagma.hub import WEIGHTS, hash_file
from syntagma.network.weightfile import WeightFile, stored_precision
from syntagma.parse import weights
from syntagma.parse.network import ParserNetwork, collate
from syntagma.parse.neural import NeuralParser, Scored
from syntagma.parse.pieces import EncodedSentence, Pieces
from syntagma.parse.shape import ParserConfig
from syntagma.runtime.device import dtype_of, find_device


class TrainableParser(NeuralParser):
    """A chart parser over a `ParserNetwork`, or over anything that gives scores of the same shapes."""

    def __init__(self, config: ParserConfig, network: nn.Module, pieces: Pieces) -> None:
        super().__init__(config, self._score, pieces)
        self.network = network.eval()
        self.device = next((weight.device for weight in network.parameters()), torch.device("cpu"))

    @classmethod
    def load(
        cls, folder: str | Path, threads: int = 1, device: str = "cpu", precision: str | None = None
    ) -> TrainableParser:
        """The parser of a model folder; torch has its own setting of threads."""
        folder = Path(folder)
        if not folder.is_dir():
            raise ConfigError("there is no such model folder", Place(str(folder)), "check the name")
        config = ParserConfig.load(folder / "config.json")
        network = ParserNetwork(config.encoder, config.network)
        weights.load(network, folder / WEIGHTS, config.weights_sha256)
        return cls(config, network, Pieces.load(folder / "tokenizer.json")).to(find_device(device), precision)

    def to(self, device: torch.device, precision: str | None = None) -> Self:
        """The same parser, its network on a device and in a precision."""
        self.device = device
        self.network.to(device, dtype_of(precision))
        return self

    @torch.inference_mode()
    def _score(self, sentences: Sequence[EncodedSentence]) -> Scored:
        scores, tags = self.network(collate(list(sentences), self.pieces.pad).to(self.device))
        values, labels = scores[:, :, 1:].max(dim=2)
        return Scored(values.float().cpu().numpy(), labels.cpu().numpy() + 1, tags.argmax(dim=2).cpu().numpy())

    def save(self, folder: str | Path, precision: str = "int8", stored: Path | None = None) -> None:
        """Write the model folder with its graph; `precision` of the matrices is `int8`, `fp16` or `fp32`.

        Where the file `stored` has the weights in that precision already, it is copied.  The configuration is written
        last, so a folder that has one is complete.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").unlink(missing_ok=True)
        if stored is not None and stored_precision(WeightFile.open(stored)) == precision:
            shutil.copyfile(stored, folder / WEIGHTS)
        else:
            weights.save(self.network, folder / WEIGHTS, precision)
        with atomic_write(folder / "tokenizer.json") as stream:
            stream.write(self.pieces.tokenizer.text)
        graphs = write_graph(folder, self.config)
        config = replace(self.config, graphs=graphs, weights_sha256=hash_file(folder / WEIGHTS))
        with atomic_write(folder / "config.json") as stream:
            json.dump(config.to_dict(), stream, indent=1, ensure_ascii=False)
            stream.write("\n")


def write_graph(folder: Path, config: ParserConfig) -> dict[str, str]:
    """Write the graph of the parser whose weights are in a folder; its checksum by its name.

    Without the package `onnx` there is none, and torch runs the parser.
    """
    try:
        from syntagma.parse.graph import parser_graph
    except ImportError:
        return {}
    data = parser_graph(config, WeightFile.open(folder / WEIGHTS))
    with atomic_write(folder / "parser.onnx", "wb") as stream:
        stream.write(data)
    return {"parser": hashlib.sha256(data).hexdigest()}
