"""Where each weight stands in a safetensors file, without reading the weights and without torch."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path

from syntagma.errors import Place, SyntagmaError
from syntagma.hub import WEIGHTS
from syntagma.network.config import ModelConfig

_DTYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "I8": "int8", "U8": "uint8", "I64": "int64"}
_WIDEST_HEADER = 100_000_000
_MOST_POSITIONS = 1 << 27
"""Numbers in a table of positions, which is computed and not stored."""


class WeightError(SyntagmaError):
    """A file of weights that cannot be used."""


@dataclass(frozen=True, slots=True)
class WeightEntry:
    """A weight's type, shape, and place in the file in bytes from its beginning."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    length: int


class WeightFile(dict[str, WeightEntry]):
    """The entries of a safetensors file by name."""

    def __init__(self, path: Path, entries: dict[str, WeightEntry]) -> None:
        super().__init__(entries)
        self.path = path

    @staticmethod
    def open(path: Path) -> WeightFile:
        """Read the head of a file; `WeightError` where it is none or reaches beyond the file's end."""
        remedy = "restore or download it again"
        try:
            size = path.stat().st_size
            with path.open("rb") as stream:
                (width,) = struct.unpack("<Q", stream.read(8))
                if width > min(size, _WIDEST_HEADER):
                    raise ValueError("its head is longer than the file")
                head = json.loads(stream.read(width))
            start = 8 + width
            entries = {}
            for name, values in head.items():
                if name == "__metadata__":
                    continue
                begin, end = values["data_offsets"]
                if not 0 <= begin <= end <= size - start:
                    raise ValueError(f"{name} reaches beyond its end")
                entries[name] = WeightEntry(
                    _DTYPES[values["dtype"]], tuple(values["shape"]), start + begin, end - begin
                )
        except OSError as error:
            raise WeightError(f"it cannot be opened ({error.strerror})", Place(str(path)), remedy) from None
        except (ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
            raise WeightError(f"it cannot be read as weights ({error})", Place(str(path)), remedy) from None
        return WeightFile(path, entries)


def stored_precision(weights: WeightFile) -> str:
    """In which of `fp32`, `fp16` and `int8` a file has its weights."""
    kinds = {entry.dtype for entry in weights.values()}
    return "int8" if "int8" in kinds else "fp32" if "float32" in kinds else "fp16"


def check_size(folder: Path, config: ModelConfig) -> None:
    """Refuse a configuration that cannot be that of the weights beside it, before memory is asked for."""
    layers = config.source_layers + config.context_layers + config.decoder_layers
    least = config.width * (config.vocabulary + layers * (4 * config.width + 2 * config.feed_forward))
    there = sum(math.prod(entry.shape) for entry in WeightFile.open(folder / WEIGHTS).values())
    if least > 2 * there or config.max_positions * config.width > _MOST_POSITIONS:
        what = "it describes a much larger network than the weights beside it are"
        raise WeightError(what, Place(str(folder / "config.json")), "use the config.json that belongs to them")
