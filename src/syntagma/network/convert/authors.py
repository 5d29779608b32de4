"""The authors' checkpoints (fairseq `.pt`) into model folders: load, validate, save.

A checkpoint is untrusted: it is read by torch's weights-only reader, with inert stand-ins for the classes of its
training settings, so nothing in it is executed; anything else that it asks for is refused.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from syntagma.errors import Place
from syntagma.network.config import ModelConfig
from syntagma.network.network import Network
from syntagma.network.storage import ModelError, check_weights
from syntagma.text.authors import AuthorsSubwords

_INERT = (
    "argparse.Namespace",
    "omegaconf.base.ContainerMetadata",
    "omegaconf.base.Metadata",
    "omegaconf.dictconfig.DictConfig",
    "omegaconf.listconfig.ListConfig",
    "omegaconf.nodes.AnyNode",
    "typing.Any",
)


class _Inert:
    """Stands for a class of the checkpoint's settings: keeps what it is given and does nothing."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __setstate__(self, state: object) -> None:
        if isinstance(state, dict):
            self.__dict__.update(state)


def convert(checkpoint: str | Path, dictionary: str | Path, codes: str | Path) -> tuple[Network, AuthorsSubwords]:
    """The network and vocabulary of a checkpoint of the authors' program."""
    weights, settings = read_checkpoint(checkpoint)
    subwords = AuthorsSubwords.read(dictionary, codes)
    config = _config(weights, settings, subwords, str(checkpoint))
    network = Network(config)
    renamed = _rename(weights)
    wanted = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    if problems := check_weights(wanted, {name: tuple(tensor.shape) for name, tensor in renamed.items()}):
        raise ModelError("; ".join(problems), Place(str(checkpoint)), "only checkpoints of the authors' program fit")
    network.load_state_dict(renamed)
    return network.eval(), subwords


def read_checkpoint(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The weights and the model's settings of a fairseq checkpoint."""
    allowed: list[Any] = [(type("Inert", (_Inert,), {}), name) for name in _INERT]
    try:
        with torch.serialization.safe_globals([*allowed, dict, list, int, defaultdict]):
            values = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise ModelError(f"it cannot be opened ({error.strerror})", Place(str(path)), "check the path") from None
    except Exception:  # whatever a damaged or crafted file makes the reader raise
        what = "it is not a checkpoint, or it asks to run code, which is refused"
        raise ModelError(what, Place(str(path)), "give a .pt file of the authors' program") from None
    if not isinstance(values, dict) or not isinstance(values.get("model"), dict):
        raise ModelError("it holds no model", Place(str(path)), "give a .pt file of the authors' program")
    return values["model"], _settings(values)


def _settings(values: dict[str, Any]) -> dict[str, Any]:
    """The model's settings, from `args` or `cfg.model`, whichever the checkpoint has."""
    settings = values.get("args")
    if settings is None:
        content = getattr(values.get("cfg"), "_content", None) or values.get("cfg") or {}
        settings = content.get("model") if isinstance(content, dict) else None
    settings = getattr(settings, "_val", settings)
    content = getattr(settings, "_content", None)
    if isinstance(content, dict):
        return {name: getattr(value, "_val", value) for name, value in content.items()}
    return dict(vars(settings)) if hasattr(settings, "__dict__") else dict(settings or {})


def _config(weights: dict[str, Tensor], settings: dict[str, Any], subwords: AuthorsSubwords, name: str) -> ModelConfig:
    try:
        vocabulary, width = weights["encoder.embed_tokens.weight"].shape
        inner = weights["encoder.layers.0.fc1.weight"].shape[0]
        heads = settings["encoder_attention_heads"]
    except KeyError as error:
        raise ModelError(
            f"it has no {error.args[0]!r}", Place(name), "give a checkpoint of the authors' program"
        ) from None
    if vocabulary != subwords.size:
        what = f"its vocabulary has {vocabulary} entries, the dictionary gives {subwords.size}"
        raise ModelError(what, Place(name), "give the dictionary it was trained with")
    for setting, expected in (("encoder_normalize_before", False), ("decoder_normalize_before", False)):
        if settings.get(setting, expected) != expected:
            raise ModelError(f"its setting {setting} is {settings[setting]}", Place(name), "only post-norm models fit")
    return ModelConfig(
        vocabulary=vocabulary,
        width=width,
        heads=heads,
        feed_forward=inner,
        source_layers=_count(weights, "encoder.layers."),
        context_layers=_count(weights, "encoder.ctx_layers."),
        decoder_layers=_count(weights, "decoder.layers."),
        dropout=float(settings.get("dropout", 0.1)),
        activation="gelu" if settings.get("activation_fn") == "gelu" else "relu",
        norm="post",
        max_positions=int(settings.get("max_source_positions") or 1024),
        first_position=2,
        context_marks=(subwords._start, subwords.end),
        pad=subwords.pad,
        start=subwords.end,
        end=subwords.end,
        sep=subwords.sep,
        part=subwords.part,
        labels=tuple(subwords.label_id(label) for label in ("T", *subwords.labels)),
    )


def _count(weights: dict[str, Tensor], prefix: str) -> int:
    return len({name[len(prefix) :].split(".")[0] for name in weights if name.startswith(prefix)})


_LAYER_NAMES = {
    "self_attn": "self_attention.attention",
    "self_attn_layer_norm": "self_attention.norm",
    "tree_attn": "context_attention.attention",
    "tree_attn_layer_norm": "context_attention.norm",
    "encoder_attn": "source_attention.attention",
    "encoder_attn_layer_norm": "source_attention.norm",
    "fc1": "feed_forward.inner",
    "fc2": "feed_forward.outer",
    "final_layer_norm": "feed_forward.norm",
}
_STACKS = {
    "encoder.layers": "source_encoder.layers",
    "encoder.ctx_layers": "context_encoder.layers",
    "decoder.layers": "decoder",
}
_IGNORED = (
    "version",
    "embed_positions._float_tensor",
    "decoder.embed_tokens.weight",
    "decoder.output_projection.weight",
)


def _rename(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights under our names; keys and values, which we compute together, are stacked.

    Names that are not known stay as they are, so that the check that follows lists them.
    """
    renamed: dict[str, Tensor] = {"embedding.weight": weights["encoder.embed_tokens.weight"].float()}
    keys: dict[str, Tensor] = {}
    values: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if name.endswith(_IGNORED) or name == "encoder.embed_tokens.weight":
            continue
        stack = next((prefix for prefix in _STACKS if name.startswith(prefix + ".")), None)
        parts = name[len(stack) + 1 :].split(".") if stack else []
        if stack is None or len(parts) < 3 or parts[1] not in _LAYER_NAMES:
            renamed[name] = tensor
            continue
        layer, sublayer, *rest = parts
        place = f"{_STACKS[stack]}.{layer}.{_LAYER_NAMES[sublayer]}"
        if rest[0] in ("k_proj", "v_proj"):
            (keys if rest[0] == "k_proj" else values)[f"{place}.memory.{rest[1]}"] = tensor.float()
        else:
            ours = {"q_proj": "query", "out_proj": "output"}.get(rest[0])
            renamed[f"{place}.{ours}.{rest[1]}" if ours else f"{place}.{rest[0]}"] = tensor.float()
    return renamed | {name: torch.cat([keys[name], values[name]]) for name in keys}
