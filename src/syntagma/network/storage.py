"""Models as folders: `config.json`, `model.safetensors`, `tokenizer.json`, `README.md`, and `words.txt` where a
model has a list of its words.  Nothing in them is executed.

Loading reports everything that is wrong with the weights at once: missing, unknown and misshapen ones.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from syntagma.config import read_mapping
from syntagma.errors import Place, SyntagmaError
from syntagma.files import write_whole
from syntagma.hub import CHECKSUM, WEIGHTS, check_checksum, find_folder, hash_file
from syntagma.network.config import ModelConfig
from syntagma.network.interface import Learns
from syntagma.network.network import Network
from syntagma.text.lexicon import Lexicon
from syntagma.text.vocabulary import Vocabulary, load_vocabulary

FORMAT = 1
WORDS = "words.txt"
_MOST_POSITIONS = 1 << 27
"""Numbers in a table of positions, which is computed and not stored."""


class ModelError(SyntagmaError):
    """A model folder that cannot be used."""


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
    dtype: Literal["float32", "float16"] = "float32",
    words: Lexicon | None = None,
) -> None:
    """Write a model folder; `about` (how to search, what it was trained on) goes into its config.json.

    The configuration is written last, so a folder that has one is complete.
    """
    weights = {name: tensor.detach().cpu().to(getattr(torch, dtype)) for name, tensor in network.state_dict().items()}
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
    if words is not None:
        words.save(folder / WORDS)
    with write_whole(folder / "README.md") as stream:
        stream.write(card)
    sums = {CHECKSUM: hash_file(folder / WEIGHTS)}
    with write_whole(folder / "config.json") as stream:
        json.dump({"format": FORMAT, **values, **sums}, stream, indent=2, ensure_ascii=False)
        stream.write("\n")


def copy_folder(
    folder: Path, out: Path, card: str, about: Mapping[str, Any], dtype: Literal["float32", "float16"]
) -> None:
    """A model folder once more, whatever network it holds, with another card, other settings and weights as `dtype`."""
    weights = load_weights(folder / WEIGHTS)
    kept = {name: one.to(getattr(torch, dtype)) if one.is_floating_point() else one for name, one in weights.items()}
    values = read_mapping(folder / "config.json") | {"about": dict(about)}
    write_folder(out, kept, load_vocabulary(folder / "tokenizer.json"), card, values)


def from_pretrained(name: str | Path) -> Pretrained[Network]:
    """The model of that name: a bundled one, a folder, or an id on the model hub (which needs `huggingface_hub`)."""
    folder = find_folder(name, "model", "model")
    values = read_mapping(folder / "config.json")
    if values.get("format") != FORMAT:
        found = values.get("format", "none")
        raise ModelError(
            f"its format is {found}, this version reads {FORMAT}",
            Place(str(folder)),
            "update Syntagma or convert it again",
        )
    config, about = read_config(folder, values)
    subwords = load_vocabulary(folder / "tokenizer.json")
    if subwords.fingerprint != values.get("tokenizer") or subwords.size != config.vocabulary:
        raise ModelError(
            "its tokenizer.json is not the one it was trained with", Place(str(folder)), "restore that file"
        )
    weights = load_weights(folder / WEIGHTS)
    _check_size(folder, config, weights)
    network = Network(config)
    network.load_state_dict(_fitting(weights, network, folder / WEIGHTS), assign=True)
    check_checksum(folder, values)
    return Pretrained(network.eval(), subwords, about, words_in(folder))


def read_config(folder: Path, values: Mapping[str, Any]) -> tuple[ModelConfig, dict[str, Any]]:
    """The shape of a model, and what is said about it, of its config.json."""
    about = values.get("about", {})
    if not isinstance(about, dict):
        raise ModelError("'about' is no mapping", Place(str(folder / "config.json")), "restore that file")
    try:
        return ModelConfig.from_dict(values.get("model", {})), about
    except SyntagmaError as error:
        raise error.at(file=str(folder / "config.json")) from None


def _check_size(folder: Path, config: ModelConfig, weights: Mapping[str, Tensor]) -> None:
    """Refuse numbers that cannot be true before memory is asked for."""
    layers = config.source_layers + config.context_layers + config.decoder_layers
    least = config.width * (config.vocabulary + layers * (4 * config.width + 2 * config.feed_forward))
    there = sum(weight.numel() for weight in weights.values())
    if least > 2 * there or config.max_positions * config.width > _MOST_POSITIONS:
        what = "it describes a much larger network than the weights beside it are"
        raise ModelError(what, Place(str(folder / "config.json")), "use the config.json that belongs to them")


def words_in(folder: Path) -> Lexicon | None:
    """The words that a model folder lists, if it does."""
    return Lexicon.load(folder / WORDS) if (folder / WORDS).is_file() else None


def load_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a file."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        what = f"it cannot be read as weights ({error})"
        raise ModelError(what, Place(str(path)), "restore or download it again") from None


def _fitting(weights: Mapping[str, Tensor], network: Network, path: Path) -> dict[str, Tensor]:
    """The weights as float32, checked against what the network has."""
    wanted = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    problems = check_weights(wanted, {name: tuple(tensor.shape) for name, tensor in weights.items()})
    if problems:
        raise ModelError("; ".join(problems), Place(str(path)), "use the config.json that belongs to it")
    return {name: tensor.float() for name, tensor in weights.items()}


def check_weights(wanted: Mapping[str, tuple[int, ...]], found: Mapping[str, tuple[int, ...]]) -> list[str]:
    """All differences between the weights that are wanted and those that are there, a sentence a kind."""
    problems = []
    if missing := sorted(wanted.keys() - found.keys()):
        problems.append(f"missing weights: {', '.join(missing)}")
    if unknown := sorted(found.keys() - wanted.keys()):
        problems.append(f"unknown weights: {', '.join(unknown)}")
    misshapen = [
        f"{n} is {found[n]}, not {wanted[n]}" for n in sorted(wanted.keys() & found.keys()) if wanted[n] != found[n]
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
