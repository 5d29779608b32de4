"""Model folders of backbones, and the one place where any model folder is opened.

`config.json` says under `backbone` what the model is based on.  With all weights in it, a folder stands alone; with
adapters, it needs its base: where it was in training, or at `base` inside the folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syntagma.errors import BackboneError, Place
from syntagma.hub import check_checksum, find_folder
from syntagma.network import storage
from syntagma.network.backbone.base import Base, Kind, adapt, load_base
from syntagma.network.backbone.lora import add_adapters, merged
from syntagma.network.backbone.network import Backbone, Causal, EncoderDecoder
from syntagma.network.config import Architecture, ModelConfig
from syntagma.network.interface import Learns
from syntagma.network.storage import Pretrained
from syntagma.settings import read_mapping
from syntagma.text.pretrained import PretrainedVocabulary
from syntagma.text.vocabulary import Vocabulary, load_vocabulary


@dataclass(frozen=True)
class Origin:
    """The model that a backbone is based on, as `config.json` tells it."""

    base: str
    fingerprint: str
    kind: Kind
    prefix: tuple[int, ...]
    lora: int
    """The rank of its adapters; 0 where all weights are its own."""
    shape: dict[str, Any]
    """The library's configuration of the model."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**self.__dict__, "prefix": list(self.prefix)}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Origin:
        """From what `to_dict` gave."""
        return Origin(**{**values, "prefix": tuple(values["prefix"])})


def make_backbone(
    name: str,
    labels: tuple[str, ...],
    architecture: Architecture = "concat",
    *,
    lora: int = 0,
    max_positions: int | None = None,
    seq2seq_objective: bool = False,
) -> tuple[Backbone, PretrainedVocabulary, Origin]:
    """A pretrained model ready to be trained on trees with those labels; `lora` is the rank of adapters, 0 for none;
    `seq2seq_objective` as in `ModelConfig`."""
    base = load_base(name)
    vocabulary, config, prefix = adapt(base, labels, architecture, max_positions, seq2seq_objective)
    origin = Origin(name, base.fingerprint, base.kind, prefix, lora, base.model.config.to_dict())
    return _network(base, config, prefix, vocabulary, lora), vocabulary, origin


def _network(
    base: Base, config: ModelConfig, prefix: tuple[int, ...], vocabulary: PretrainedVocabulary, lora: int
) -> Backbone:
    model = add_adapters(base.model, lora, vocabulary.controls.ids) if lora else base.model
    return _kinds[base.kind](model, config, vocabulary, prefix)


_kinds: dict[str, type[EncoderDecoder] | type[Causal]] = {"encoder-decoder": EncoderDecoder, "causal": Causal}


# -- saving


def save_backbone(
    folder: str | Path,
    network: Backbone,
    vocabulary: Vocabulary,
    origin: Origin,
    card: str,
    about: Mapping[str, Any] | None = None,
) -> None:
    """Write a model folder; its configuration is written last, so a folder that has one is complete."""
    weights = {name: weight.cpu().contiguous() for name, weight in network.state_dict().items()}
    values = {
        "model": network.config.to_dict(),
        "tokenizer": vocabulary.fingerprint,
        "backbone": origin.to_dict(),
        "about": dict(about or {}),
    }
    storage.write_folder(Path(folder), weights, vocabulary, card, values)


# -- loading


def from_pretrained(name: str | Path) -> Pretrained[Learns]:
    """The model of that name, ours or a backbone: a bundled one, a folder, or an id on the model hub."""
    folder = find_folder(name, "model", "model")
    values = read_mapping(folder / "config.json")
    if isinstance(engine := values.get("engine"), dict) and engine.get("name") == "ctranslate2":
        what = "it was exported for CTranslate2, which is no longer an engine of ours"
        raise storage.ModelError(what, Place(str(folder)), "use the model that it was exported from")
    if "backbone" not in values:
        return storage.from_pretrained(folder)
    if values.get("format") not in storage.READS:
        what = f"its format is {values.get('format', 'none')}, this version reads {storage.FORMAT}"
        raise storage.ModelError(what, Place(str(folder)), "update Syntagma")
    config, about = storage.read_config(folder, values)
    origin = Origin.from_dict(values["backbone"])
    vocabulary = _vocabulary(folder, values)
    assert isinstance(vocabulary, PretrainedVocabulary)
    network = (
        _adapted(folder, config, origin, vocabulary) if origin.lora else _whole(folder, config, origin, vocabulary)
    )
    check_checksum(folder, values)
    return Pretrained(network.eval(), vocabulary, about)


def _vocabulary(folder: Path, values: Mapping[str, Any]) -> Vocabulary:
    vocabulary = load_vocabulary(folder / "tokenizer.json")
    if vocabulary.fingerprint != values.get("tokenizer"):
        what = "its tokenizer.json is not the one it was trained with"
        raise storage.ModelError(what, Place(str(folder)), "restore that file")
    return vocabulary


def _whole(folder: Path, config: ModelConfig, origin: Origin, vocabulary: PretrainedVocabulary) -> Backbone:
    """A model whose weights are all in the folder."""
    import transformers

    shape = transformers.AutoConfig.for_model(**origin.shape)
    both = origin.kind == "encoder-decoder"
    maker: Any = transformers.AutoModelForSeq2SeqLM if both else transformers.AutoModelForCausalLM
    network = _kinds[origin.kind](maker.from_config(shape), config, vocabulary, origin.prefix)
    return _with_weights(network, folder)


def _adapted(folder: Path, config: ModelConfig, origin: Origin, vocabulary: PretrainedVocabulary) -> Backbone:
    """A model whose adapters are in the folder, added into its base."""
    inside = [path for path in (folder / "base", *folder.glob("base.gguf")) if path.exists()]
    name = str(inside[0]) if inside else origin.base
    try:
        base = load_base(name)
    except BackboneError as error:
        what = f"its base {origin.base!r} cannot be loaded ({error.what})"
        raise BackboneError(what, Place(str(folder)), f"put it, or a link to it, at {folder / 'base'}") from None
    if base.fingerprint != origin.fingerprint:
        what = f"its adapters were trained on another base than {name!r}"
        raise BackboneError(what, Place(str(folder)), f"put the base {origin.base!r} at {folder / 'base'}")
    adapt(base, vocabulary.labels, config.architecture)
    network = _with_weights(_network(base, config, origin.prefix, vocabulary, origin.lora), folder)
    return _kinds[origin.kind](merged(network.model), config, vocabulary, origin.prefix)


def _with_weights(network: Backbone, folder: Path) -> Backbone:
    path = folder / "model.safetensors"
    weights = storage.load_weights(path)
    wanted = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    problems = storage.check_weights(wanted, {name: tuple(tensor.shape) for name, tensor in weights.items()})
    if problems:
        raise storage.ModelError("; ".join(problems), Place(str(path)), "use the config.json that belongs to it")
    network.load_state_dict(weights)
    return network
