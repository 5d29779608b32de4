"""Models by name: in the package, in a folder, or on the Hugging Face hub."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from syntagma.errors import ConfigError, MissingExtra, Place
from syntagma.settings import read_mapping

WEIGHTS = "model.safetensors"
CHECKSUM = "weights_sha256"
"""The entry of config.json with the checksum of the weights."""
FILES = ("config.json", WEIGHTS, "tokenizer.json", "words.txt", "README.md", "*.onnx")
"""The files of a model's folder; nothing else is fetched."""
_MARIAN_FILES = ("config.json", "model.safetensors", "pytorch_model.bin", "vocab.json", "source.spm", "target.spm")
_CTRANSLATE2_FILES = ("model.bin", "shared_vocabulary.json", "sentencepiece.model", "spm.model", "source.model")
PRETRAINED_FILES = (*_MARIAN_FILES, *_CTRANSLATE2_FILES, "tokenizer.json")
"""The files of pretrained models' folders, as Hugging Face and as CTranslate2 store them."""

_BUNDLED = Path(__file__).parent / "bundled"


class NotFound(ConfigError):
    """A model that is nowhere to be found."""


def find_folder(name: str | Path, kind: str, key: str) -> Path:
    """The folder of a `kind` of model ("model", "parser"), whose config.json has the entry `key`."""
    folder = Path(name)
    if (folder / "config.json").is_file():
        return folder
    if str(name) in bundled(key):
        return _BUNDLED / str(name)
    if folder.is_dir():
        raise NotFound(f"the folder {str(name)!r} holds no config.json", remedy=f"give the folder of a finished {kind}")
    if re.fullmatch(r"[\w.-]+/[\w.-]+", str(name)) and not str(name).startswith("."):
        return fetch(str(name), kind)
    known = ", ".join(bundled(key)) or "none in this build"
    raise NotFound(f"there is no {kind} {str(name)!r}", remedy=f"give a folder, a hub id, or a bundled name ({known})")


def bundled(key: str) -> list[str]:
    """The names of the models in the package whose config.json has the entry `key`."""
    return sorted(path.parent.name for path in _BUNDLED.glob("*/config.json") if key in read_mapping(path))


def hash_file(path: Path) -> str:
    """The SHA-256 of a file."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_checksum(folder: Path, values: Mapping[str, Any]) -> None:
    """Raise where a folder's weights are not those whose checksum its config.json has; older folders have none."""
    path, expected = folder / WEIGHTS, values.get(CHECKSUM)
    if expected is not None and path.is_file() and hash_file(path) != expected:
        what = "it is not the file that config.json has the checksum of"
        raise ConfigError(what, Place(str(path)), "restore or download it again")


def hash_folder(folder: Path) -> str:
    """A hash, the same for folders with equal files under equal names."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)} {path.stat().st_size} ".encode())
        digest.update(bytes.fromhex(hash_file(path)))
    return digest.hexdigest()[:16]


def fetch(name: str, kind: str, files: tuple[str, ...] = FILES) -> Path:
    """The folder of a model on the Hugging Face hub."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        purpose = f"{name!r} is no folder here, and fetching it from the hub"
        raise MissingExtra("huggingface_hub", "train", purpose) from None
    try:
        return Path(snapshot_download(name, allow_patterns=list(files)))
    except Exception as error:  # no network, no such name, no access: the library has an error for each
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        what = f"{name!r} is no folder here, and it cannot be fetched from the hub ({reason})"
        raise NotFound(what, remedy=f"check the name of the {kind} and the network, or give a folder") from None
