"""A model folder written once more: in another precision, with graphs, another card, other settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from syntagma.errors import MissingExtra, Place
from syntagma.hub import WEIGHTS
from syntagma.network.folder import ModelError, ModelFolder
from syntagma.network.weightfile import WeightFile, stored_precision
from syntagma.text.lexicon import Lexicon


def export_network(
    folder: ModelFolder, out: Path, card: str, about: Mapping[str, Any], precision: str | None, words: Lexicon | None
) -> None:
    """Write a network of ours with its graphs; where the precision stays, so do the weights, byte for byte."""
    from_stored = stored_precision(WeightFile.open(folder.path / WEIGHTS))
    wanted = precision or ("fp16" if from_stored == "fp32" else from_stored)
    _need("onnx")
    if wanted != from_stored:
        _need("torch")
    from syntagma.network.packing import pack_weights
    from syntagma.network.storage import from_pretrained, load_weights, write_folder

    pretrained = from_pretrained(folder.path)  # which also says what is wrong with the weights
    same = wanted == from_stored
    weights = load_weights(folder.path / WEIGHTS) if same else pack_weights(pretrained.network.state_dict(), wanted)
    values = {"model": folder.config.to_dict(), "tokenizer": folder.vocabulary.fingerprint, "about": dict(about)}
    write_folder(out, weights, folder.vocabulary, card, values, words)


def export_backbone(folder: ModelFolder, out: Path, card: str, about: Mapping[str, Any], precision: str | None) -> None:
    """Write a pretrained model's folder once more; it has no graphs."""
    if precision == "int8":
        raise ModelError("a backbone has no int8 weights", Place(str(folder.path)), "give --precision fp32 or fp16")
    _need("torch")
    from syntagma.network.packing import pack_weights
    from syntagma.network.storage import load_weights, write_folder

    weights = load_weights(folder.path / WEIGHTS)
    floats = {name: weight for name, weight in weights.items() if weight.is_floating_point()}
    write_folder(
        out,
        weights | pack_weights(floats, precision or "fp16"),
        folder.vocabulary,
        card,
        {**folder.values, "about": dict(about)},
    )


def _need(package: str) -> None:
    """An error that names the extra where a package is missing."""
    try:
        __import__(package)
    except ImportError:
        raise MissingExtra(package, "train", "exporting a model") from None
