"""Models in the form of CTranslate2 as initial weights: load, validate, turn into a Marian model.

A folder holds `model.bin` (version 6: named arrays, in fp32, fp16, bf16, int16 or int8 with scales), `config.json`,
`shared_vocabulary.json`, and sentencepiece files.  Queries, keys and values are one matrix there.  Nothing in a file
is executed; all that is wrong with its weights is said at once.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from syntagma.errors import Place
from syntagma.network.layers import sinusoids
from syntagma.network.marian import MarianModel
from syntagma.network.storage import ModelError, check_weights
from syntagma.settings import read_mapping
from syntagma.text.piecefiles import SHARED_VOCABULARY, read_vocabulary

VERSION: Final = 6
SPECIFICATION: Final = "TransformerSpec"
REVISION: Final = 7
_TYPES: Final = (torch.float32, torch.int8, torch.int16, torch.int32, torch.float16, torch.bfloat16)
_ACTIVATIONS: Final = {0: "relu", 2: "swish", 3: "gelu"}
_EMBEDDINGS: Final = "decoder/embeddings/weight"
_POSITIONS: Final = "decoder/position_encodings/encodings"
_SAME_WEIGHTS: Final = {
    "decoder/projection/weight": _EMBEDDINGS,
    "encoder/embeddings_0/weight": _EMBEDDINGS,
    "encoder/position_encodings/encodings": _POSITIONS,
}
"""Weights that must be those of another name: a network of ours has one table of embeddings."""
_LINEAR: Final = {
    "self_attention/linear_0": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "self_attention/linear_1": ("self_attn.out_proj",),
    "attention/linear_0": ("encoder_attn.q_proj",),
    "attention/linear_1": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "attention/linear_2": ("encoder_attn.out_proj",),
    "ffn/linear_0": ("fc1",),
    "ffn/linear_1": ("fc2",),
}
"""CTranslate2's linear layers, and Marian's, which stand one below the other in them."""
_NORMS: Final = {
    "self_attention/layer_norm": "self_attn_layer_norm",
    "attention/layer_norm": "encoder_attn_layer_norm",
    "ffn/layer_norm": "final_layer_norm",
}
_START_ROW: Final = "<pad>"
_REMEDY: Final = "convert the model again with a CTranslate2 of version 3 or 4"


def is_ctranslate2(folder: Path) -> bool:
    """Whether a folder holds a model in the form of CTranslate2."""
    return (folder / "model.bin").is_file()


def read_ctranslate2(folder: str | Path) -> MarianModel:
    """The model in a folder, with its weights as floats under the names that Hugging Face's Marian has for them."""
    folder = Path(folder)
    path = folder / "model.bin"
    variables = read_variables(path)
    pieces = _pieces(folder)
    place = Place(str(path))
    if variables.get(_EMBEDDINGS, torch.zeros(())).dim() != 2:
        what = f"it has no matrix {_EMBEDDINGS}, so it is no translation model"
        raise ModelError(what, place, "give a sequence-to-sequence Transformer model")
    settings = _settings(variables)
    problems = [
        *_wrong_weights(variables, len(pieces)),
        *_unequal_weights(variables),
        *_wrong_settings(settings, variables[_EMBEDDINGS].shape[1]),
    ]
    if not problems:
        weights = {name: _floats(variables, name) for name in variables if _is_weight(name)}
        problems = [*_wrong_values(weights)]
    if problems:
        raise ModelError("; ".join(problems), place, _REMEDY)
    return _marian(folder, weights, settings, pieces)


# -- the file


def read_variables(path: Path) -> dict[str, Tensor]:
    """The arrays of a `model.bin` as they are stored."""
    try:
        data = path.read_bytes()
        return _BinaryReader(data).read()
    except OSError as error:
        raise ModelError(f"it cannot be opened ({error.strerror})", Place(str(path)), "check the path") from None
    except (struct.error, ValueError) as error:
        what = f"it cannot be read as a CTranslate2 model ({error})"
        raise ModelError(what, Place(str(path)), "copy it again, or " + _REMEDY) from None


class _BinaryReader:
    """Reads the little-endian fields of a file one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def read(self) -> dict[str, Tensor]:
        version = self.number("<I")
        if version != VERSION:
            raise ValueError(f"it begins with the version {version}, not {VERSION}")
        name, revision = self.string(), self.number("<I")
        if (name, revision) != (SPECIFICATION, REVISION):
            raise ValueError(f"it holds a {name} of revision {revision}, not a {SPECIFICATION} of revision {REVISION}")
        variables = dict(self.variable() for _ in range(self.number("<I")))
        for _ in range(self.number("<I")):  # equal arrays are stored once
            alias, origin = self.string(), self.string()
            if origin not in variables:
                raise ValueError(f"{alias} is said to equal {origin}, which is not there")
            variables[alias] = variables[origin]
            if f"{origin}_scale" in variables:
                variables[f"{alias}_scale"] = variables[f"{origin}_scale"]
        if self.position != len(self.data):
            raise ValueError(f"{len(self.data) - self.position} bytes follow its end")
        return variables

    def variable(self) -> tuple[str, Tensor]:
        name = self.string()
        shape = [self.number("<I") for _ in range(self.number("<B"))]
        kind, size = self.number("<B"), self.number("<I")
        if kind >= len(_TYPES):
            raise ValueError(f"{name} has the unknown type {kind}")
        count = 1
        for dimension in shape:
            count *= dimension
        if size != count * _TYPES[kind].itemsize:
            raise ValueError(f"{name} has {size} bytes, which do not make the shape {tuple(shape)}")
        content = bytearray(self.bytes(size))
        tensor = torch.frombuffer(content, dtype=_TYPES[kind]) if count else torch.zeros(0, dtype=_TYPES[kind])
        return name, tensor.reshape(shape)

    def string(self) -> str:
        return self.bytes(self.number("<H")).removesuffix(b"\0").decode("utf-8")

    def number(self, form: str) -> int:
        return int(struct.unpack(form, self.bytes(struct.calcsize(form)))[0])

    def bytes(self, size: int) -> bytes:
        if self.position + size > len(self.data):
            raise ValueError("it ends in the middle")
        self.position += size
        return self.data[self.position - size : self.position]


def _pieces(folder: Path) -> list[str]:
    path = folder / SHARED_VOCABULARY
    if not path.is_file():
        what = f"it has no {SHARED_VOCABULARY}, and our networks have one vocabulary for both sides"
        raise ModelError(what, Place(str(folder)), "give a model whose languages share a vocabulary")
    return read_vocabulary(path)


# -- validation


def _is_weight(name: str) -> bool:
    return name.endswith(("/weight", "/bias", "/gamma", "/beta", "/encodings"))


def _settings(variables: Mapping[str, Tensor]) -> dict[str, float]:
    """The single numbers; the factor of embeddings, where it is only said that there is one, is the width's root."""
    settings = {name: float(weight.item()) for name, weight in variables.items() if weight.dim() == 0}
    for name in ("encoder/scale_embeddings", "decoder/scale_embeddings"):
        if settings.get(name) and not variables[name].is_floating_point():
            settings[name] = math.sqrt(variables[_EMBEDDINGS].shape[1])
    return settings


def _layers(names: Mapping[str, object], side: str) -> int:
    matches = (re.match(rf"{side}/layer_(\d+)/", name) for name in names)
    return max((int(match[1]) + 1 for match in matches if match), default=0)


def _wrong_weights(variables: Mapping[str, Tensor], pieces: int) -> list[str]:
    """List arrays that are missing, unknown or misshapen."""
    wanted = {}
    for name, shape in _shapes(variables, pieces):
        wanted[name] = shape
        weight = variables.get(name)
        if weight is not None and not weight.is_floating_point():
            wanted[f"{name}_scale"] = shape[:1] if weight.dtype == torch.int8 else ()
    shapes = {name: tuple(weight.shape) for name, weight in variables.items() if weight.dim() or name in wanted}
    return check_weights(wanted, shapes)


def _shapes(variables: Mapping[str, Tensor], pieces: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The arrays that a Transformer must have whose sizes are those of its embeddings and its first inner layer."""
    width = variables[_EMBEDDINGS].shape[1]
    yield "decoder/projection/bias", (pieces,)
    positions = variables.get(_POSITIONS)
    count = positions.shape[0] if positions is not None and positions.dim() else 512
    for name, shape in ((_EMBEDDINGS, (pieces, width)), (_POSITIONS, (count, width))):
        yield from (
            (other, shape) for other in (name, *(same for same, origin in _SAME_WEIGHTS.items() if origin == name))
        )
    for side in ("encoder", "decoder"):
        first = variables.get(f"{side}/layer_0/ffn/linear_0/weight")
        inner = first.shape[0] if first is not None and first.dim() else 4 * width
        for number in range(max(_layers(variables, side), 1)):
            for name, parts in _LINEAR.items():
                if side == "encoder" and name.startswith("attention/"):
                    continue
                rows = inner if name == "ffn/linear_0" else len(parts) * width
                yield f"{side}/layer_{number}/{name}/weight", (rows, inner if name == "ffn/linear_1" else width)
                yield f"{side}/layer_{number}/{name}/bias", (rows,)
            for name in _NORMS:
                if side == "decoder" or not name.startswith("attention/"):
                    yield f"{side}/layer_{number}/{name}/gamma", (width,)
                    yield f"{side}/layer_{number}/{name}/beta", (width,)


def _unequal_weights(variables: Mapping[str, Tensor]) -> Iterator[str]:
    for name, origin in _SAME_WEIGHTS.items():
        pairs = [(variables.get(f"{name}{end}"), variables.get(f"{origin}{end}")) for end in ("", "_scale")]
        if any(ours is not None and other is not None and not torch.equal(ours, other) for ours, other in pairs):
            yield f"{name} are other weights than {origin}"


def _wrong_settings(settings: Mapping[str, float], width: int) -> Iterator[str]:
    """List settings of another network than Marian's."""
    wanted = {"pre_norm": 0, "scale_embeddings": width**0.5, "alibi": 0}
    for side in ("encoder", "decoder"):
        for name, value in wanted.items():
            if not math.isclose(actual := settings.get(f"{side}/{name}", value), value, rel_tol=1e-3):
                yield f"{side}/{name} is {actual:g}, not {value:g} as in Marian"
        if settings.get(f"{side}/activation") not in _ACTIVATIONS:
            yield f"{side}/activation is none of {', '.join(_ACTIVATIONS.values())}"
        if settings.get(f"{side}/num_heads", 0) < 1:
            yield f"{side}/num_heads is missing"
    if len({settings.get(f"{side}/activation") for side in ("encoder", "decoder")}) > 1:
        yield "the encoder's activation is not the decoder's"


def _wrong_values(weights: Mapping[str, Tensor]) -> Iterator[str]:
    if broken := [name for name, weight in weights.items() if not torch.isfinite(weight).all()]:
        yield f"weights that are not finite: {', '.join(sorted(broken))}"
    positions = weights[_POSITIONS]
    count, width = positions.shape
    if not torch.allclose(positions, sinusoids(count, width, width // 2), atol=2e-2):
        yield f"{_POSITIONS} are not Marian's sinusoids"


# -- the weights


def _floats(variables: Mapping[str, Tensor], name: str) -> Tensor:
    """An array as floats: what is quantised is divided by its scale, a row's own in int8."""
    weight = variables[name].float()
    scale = variables.get(f"{name}_scale")
    return weight if scale is None else weight / scale.float().reshape(-1, *[1] * (weight.dim() - 1))


def _marian(
    folder: Path, weights: Mapping[str, Tensor], settings: Mapping[str, float], pieces: list[str]
) -> MarianModel:
    embeddings, bias = weights[_EMBEDDINGS], weights["decoder/projection/bias"]
    rows = {piece: number for number, piece in enumerate(pieces)}
    config = read_mapping(folder / "config.json") if (folder / "config.json").is_file() else {}
    if settings.get("decoder/start_from_zero_embedding"):  # a row of zeros, as Hugging Face has for it
        rows[_START_ROW] = len(pieces)
        embeddings = torch.cat([embeddings, embeddings.new_zeros(1, embeddings.shape[1])])
        bias = torch.cat([bias, bias.new_zeros(1)])
        start = _START_ROW
    else:
        start = config.get("decoder_start_token") or "<s>"
    end = config.get("eos_token") or "</s>"
    if missing := [piece for piece in (start, end) if piece not in rows]:
        what = f"its vocabulary lacks {' and '.join(missing)}, which config.json names"
        raise ModelError(what, Place(str(folder)), "copy the whole model again")
    renamed = {"model.shared.weight": embeddings, "final_logits_bias": bias[None]}
    for side in ("encoder", "decoder"):
        for number in range(_layers(weights, side)):
            renamed |= _layer(weights, f"{side}/layer_{number}", f"model.{side}.layers.{number}")
    return MarianModel(folder, _config(weights, settings) | _special(rows, start, end), renamed, rows)


def _layer(weights: Mapping[str, Tensor], theirs: str, marian: str) -> dict[str, Tensor]:
    renamed = {}
    for name, parts in _LINEAR.items():
        for kind in ("weight", "bias"):
            if (whole := weights.get(f"{theirs}/{name}/{kind}")) is not None:
                for part, rows in zip(parts, whole.chunk(len(parts)), strict=True):
                    renamed[f"{marian}.{part}.{kind}"] = rows.contiguous()
    for name, norm in _NORMS.items():
        for theirs_kind, kind in (("gamma", "weight"), ("beta", "bias")):
            if (weight := weights.get(f"{theirs}/{name}/{theirs_kind}")) is not None:
                renamed[f"{marian}.{norm}.{kind}"] = weight
    return renamed


def _config(weights: Mapping[str, Tensor], settings: Mapping[str, float]) -> dict[str, Any]:
    """The model's settings as Hugging Face's `config.json` has them."""
    config: dict[str, Any] = {
        "d_model": weights[_EMBEDDINGS].shape[1],
        "max_position_embeddings": weights[_POSITIONS].shape[0],
        "activation_function": _ACTIVATIONS[int(settings["encoder/activation"])],
    }
    for side in ("encoder", "decoder"):
        config[f"{side}_layers"] = _layers(weights, side)
        config[f"{side}_attention_heads"] = int(settings[f"{side}/num_heads"])
        config[f"{side}_ffn_dim"] = weights[f"{side}/layer_0/ffn/linear_0/weight"].shape[0]
    return config


def _special(rows: Mapping[str, int], start: str, end: str) -> dict[str, int]:
    return {"decoder_start_token_id": rows[start], "eos_token_id": rows[end], "vocab_size": len(rows)}
