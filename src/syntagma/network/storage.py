"""Model folders (`network/folder.py`) read into torch and written.

Loading reports everything that is wrong with the weights at once: missing, unknown and misshapen ones.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from syntagma.errors import Place
from syntagma.files import atomic_write
from syntagma.hub import CHECKSUM, WEIGHTS, check_checksum, hash_file
from syntagma.network.config import ModelConfig
from syntagma.network.folder import FORMAT, READS, WORDS, ModelError, ModelFolder, read_config, words_in
from syntagma.network.interface import Learns
from syntagma.network.network import Network
from syntagma.network.packing import Precision, pack_weights, unpack_weights
from syntagma.network.weightfile import WeightFile, check_size
from syntagma.text.lexicon import Lexicon
from syntagma.text.vocabulary import Vocabulary

__all__ = [
    "FORMAT", "READS", "WORDS", "ModelError", "Pretrained", "check_weights", "from_pretrained",
    "hash_weights", "load_weights", "read_config", "save_pretrained", "words_in", "write_folder",
]  # fmt: skip


AnyNetwork = TypeVar("AnyNetwork", bound=Learns, covariant=True)


@dataclass(frozen=True)
class Pretrained(Generic[AnyNetwork]):
    """A network with the vocabulary that it was trained with, and what its folder says about it."""

    network: AnyNetwork
    subwords: Vocabulary
    about: dict[str, Any]
    words: Lexicon | None = None
    """The words that it has met, where its folder lists them."""

    @property
    def config(self) -> ModelConfig:
        """The network's configuration."""
        return self.network.config


def save_pretrained(
    folder: str | Path,
    network: Network,
    subwords: Vocabulary,
    card: str,
    *,
    about: Mapping[str, Any] | None = None,
    precision: Precision = "fp32",
    words: Lexicon | None = None,
) -> None:
    """Write a model folder; `about` (how to search, what it was trained on) goes into its config.json.

    The configuration is written last, so a folder that has one is complete.
    """
    weights = pack_weights(network.state_dict(), precision)
    values = {"model": network.config.to_dict(), "tokenizer": subwords.fingerprint, "about": dict(about or {})}
    write_folder(Path(folder), weights, subwords, card, values, words)


def write_folder(
    folder: Path,
    weights: Mapping[str, Tensor],
    vocabulary: Vocabulary,
    card: str,
    values: Mapping[str, Any],
    words: Lexicon | None = None,
) -> None:
    """Write the files of a model folder, `values` with the format into its config.json, which comes last."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").unlink(missing_ok=True)
    part = folder / ".model.safetensors.part"
    save_file(dict(weights), part)
    part.replace(folder / WEIGHTS)
    vocabulary.save(folder / "tokenizer.json")
    shutil.copymode(folder / "tokenizer.json", folder / WEIGHTS)  # which the library makes private
    graphs = write_graphs(folder, ModelConfig.from_dict(values["model"])) if "backbone" not in values else {}
    if words is not None:
        words.save(folder / WORDS)
    with atomic_write(folder / "README.md") as stream:
        stream.write(card)
    with atomic_write(folder / "config.json") as stream:
        sums = {CHECKSUM: hash_file(folder / WEIGHTS), "graphs": graphs}
        json.dump({**values, "format": FORMAT, **sums}, stream, indent=2, ensure_ascii=False)
        stream.write("\n")


def write_graphs(folder: Path, config: ModelConfig) -> dict[str, str]:
    """Write the graphs of the network whose weights are in a folder; their checksums by name.

    Without the package `onnx` there are none: a folder that training made is not lost for want of it, torch runs it,
    and `syntagma export` adds them.
    """
    try:
        from syntagma.network.graphs.networks import build_graphs
    except ImportError:
        return {}
    checksums = {}
    for name, data in build_graphs(config, WeightFile.open(folder / WEIGHTS)).items():
        with atomic_write(folder / f"{name}.onnx", "wb") as stream:
            stream.write(data)
        checksums[name] = hashlib.sha256(data).hexdigest()
    return checksums


def from_pretrained(name: str | Path) -> Pretrained[Network]:
    """The network of a model folder in torch: a bundled one's name, a folder, or an id on the model hub."""
    folder = ModelFolder.open(name)
    vocabulary = folder.vocabulary
    weights = load_weights(folder.path / WEIGHTS)
    check_size(folder.path, folder.config)
    network = Network(folder.config)
    network.load_state_dict(_fitting(weights, network, folder.path / WEIGHTS), assign=True)
    check_checksum(folder.path, folder.values)
    return Pretrained(network.eval(), vocabulary, folder.about, folder.words)


def load_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a file."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        what = f"it cannot be read as weights ({error})"
        raise ModelError(what, Place(str(path)), "restore or download it again") from None


def _fitting(packed: Mapping[str, Tensor], network: Network, path: Path) -> dict[str, Tensor]:
    """The weights as float32, checked against what the network has."""
    weights = unpack_weights(packed)
    wanted = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    problems = check_weights(wanted, {name: tuple(tensor.shape) for name, tensor in weights.items()})
    if problems:
        raise ModelError("; ".join(problems), Place(str(path)), "use the config.json that belongs to it")
    return weights


def check_weights(wanted: Mapping[str, tuple[int, ...]], stored: Mapping[str, tuple[int, ...]]) -> list[str]:
    """All differences between the weights that are wanted and those that are there, a sentence a kind."""
    problems = []
    if missing := sorted(wanted.keys() - stored.keys()):
        problems.append(f"missing weights: {', '.join(missing)}")
    if unknown := sorted(stored.keys() - wanted.keys()):
        problems.append(f"unknown weights: {', '.join(unknown)}")
    misshapen = [
        f"{n} is {stored[n]}, not {wanted[n]}" for n in sorted(wanted.keys() & stored.keys()) if wanted[n] != stored[n]
    ]
    if misshapen:
        problems.append(f"misshapen weights: {', '.join(misshapen)}")
    return problems


def hash_weights(weights: Mapping[str, Tensor]) -> str:
    """The same for equal weights under equal names."""
    digest = hashlib.sha256()
    for name, weight in sorted(weights.items()):
        digest.update(name.encode())
        digest.update(weight.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()[:16]
