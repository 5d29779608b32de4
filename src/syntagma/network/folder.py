"""Model folders, read without torch.

A folder holds `config.json`, `model.safetensors`, `tokenizer.json`, `README.md`, the graphs that ONNX Runtime runs
(`encoder.onnx` and others, which take their weights from `model.safetensors`), and `words.txt` where a model has a list
of its words.  Nothing in them is executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from syntagma.aliases import renamed
from syntagma.errors import Place, SyntagmaError
from syntagma.hub import find_folder
from syntagma.network.config import ModelConfig
from syntagma.network.purpose import Purpose
from syntagma.settings import read_mapping
from syntagma.text.lexicon import Lexicon
from syntagma.text.vocabulary import Vocabulary, load_vocabulary

FORMAT = 2
READS = (1, 2)
"""Formats that are read; folders of format 1 have no graphs."""
WORDS = "words.txt"


class ModelError(SyntagmaError):
    """A model folder that cannot be used."""


@dataclass(frozen=True)
class ModelFolder:
    """A model's configuration and what is known about it; its vocabulary, and the words that it has met, where listed,
    are read when they are first asked for."""

    path: Path
    values: dict[str, Any]
    config: ModelConfig

    @staticmethod
    def open(name: str | Path) -> ModelFolder:
        """The model of that name: a bundled one, a folder, or an id on the hub (which needs `huggingface_hub`)."""
        folder = find_folder(name, "model", "model")
        values = read_mapping(folder / "config.json")
        if values.get("format") not in READS:
            what = f"its format is {values.get('format', 'none')}, this version reads {' and '.join(map(str, READS))}"
            raise ModelError(what, Place(str(folder)), "update Syntagma or convert it again")
        config, _ = read_config(folder, values)
        return ModelFolder(folder, values, config)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that it was trained with."""
        vocabulary = load_vocabulary(self.path / "tokenizer.json")
        same_size = vocabulary.size == self.config.vocabulary or not self.is_native
        if vocabulary.fingerprint != self.values.get("tokenizer") or not same_size:
            what = "its tokenizer.json is not the one it was trained with"
            raise ModelError(what, Place(str(self.path)), "restore that file")
        return vocabulary

    @cached_property
    def words(self) -> Lexicon | None:
        """The words that it has met."""
        return words_in(self.path)

    @property
    def about(self) -> dict[str, Any]:
        """How to search it, what it was trained on."""
        return dict(self.values.get("about", {}))

    @property
    def purpose(self) -> Purpose:
        """Its task and its languages."""
        return Purpose.of(self.about, self.path.resolve().name)

    @property
    def is_native(self) -> bool:
        """Whether it is a network of ours, not a pretrained one or another engine's."""
        return "backbone" not in self.values and "engine" not in self.values

    @property
    def graphs(self) -> dict[str, str]:
        """The checksums of its graphs by name; none where it was written without them."""
        graphs = self.values.get("graphs", {})
        if not isinstance(graphs, dict):
            raise ModelError("'graphs' is no mapping", Place(str(self.path / "config.json")), "restore that file")
        return dict(graphs)


def read_config(folder: Path, values: Mapping[str, Any]) -> tuple[ModelConfig, dict[str, Any]]:
    """The shape of a model, and what is said about it, of its config.json."""
    about = values.get("about", {})
    if not isinstance(about, dict):
        raise ModelError("'about' is no mapping", Place(str(folder / "config.json")), "restore that file")
    try:
        model = values.get("model", {})
        if isinstance(model, Mapping):
            model = renamed("ModelConfig", model, warn=True)
        return ModelConfig.from_dict(model), about
    except SyntagmaError as error:
        raise error.at(file=str(folder / "config.json")) from None


def words_in(folder: Path) -> Lexicon | None:
    """The words that a model folder lists, if it does."""
    return Lexicon.load(folder / WORDS) if (folder / WORDS).is_file() else None
