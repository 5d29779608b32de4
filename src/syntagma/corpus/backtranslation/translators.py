"""Translation models out of folders: text in one language in, texts in another out.

Two kinds of folders are known: models of CTranslate2 with a sentencepiece file, and Marian models of Hugging Face,
which are converted to CTranslate2 (int8) before they are used.  Nothing in a folder is executed: sentencepiece files
are data, and weights are read as tensors only.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from syntagma.errors import InputError, MissingExtra, Place
from syntagma.files import atomic_folder
from syntagma.settings import Settings, read_mapping
from syntagma.text.piecefiles import find_source_file

MARIAN_FILES: Final = ("source.spm", "target.spm", "vocab.json")
_SPACE = "\u2581"
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_ROOM = 2.0, 10
"""A translation has at most twice the pieces of its source, and ten more: a loop ends there."""


@dataclass(frozen=True)
class Decoding(Settings):
    """How translations are chosen: by beam search, or drawn from the `top_k` likeliest pieces where that is not 0."""

    beam: int = 4
    candidates: int = 1
    top_k: int = 0
    temperature: float = 1.0
    batch: int = 128
    """Hypotheses that are decoded together."""

    @property
    def width(self) -> int:
        """How many hypotheses a text has while it is translated."""
        return self.candidates if self.top_k else max(self.beam, self.candidates)


class Translator(Protocol):
    """The interface of a translator."""

    def translate(self, texts: Sequence[str], decoding: Decoding, seed: int) -> list[list[str]]:
        """Up to `candidates` different translations of each text, the best first; the seed decides what is drawn."""
        ...


class Ctranslate2Translator:
    """A model in the form of CTranslate2, with a sentencepiece file beside it or elsewhere."""

    def __init__(self, folder: Path, pieces: Path) -> None:
        self.folder = folder
        ctranslate2, sentencepiece = _libraries()
        self._engine = ctranslate2
        try:
            self._pieces: Any = sentencepiece.SentencePieceProcessor(model_file=str(pieces))
        except (RuntimeError, OSError):
            raise InputError("it is no sentencepiece file", Place(str(pieces)), "copy the whole model again") from None
        self._translator: Any = self._load()
        settings = read_mapping(folder / "config.json") if (folder / "config.json").exists() else {}
        self._end = [] if settings.get("add_source_eos", True) else [settings.get("eos_token", "</s>")]

    def _load(self) -> Any:
        try:
            return self._engine.Translator(str(self.folder), compute_type="int8", inter_threads=1, intra_threads=1)
        except (RuntimeError, ValueError) as error:
            what = f"CTranslate2 cannot load this model ({str(error).splitlines()[0]})"
            raise InputError(what, Place(str(self.folder)), "copy or convert the whole model again") from None

    def translate(self, texts: Sequence[str], decoding: Decoding, seed: int) -> list[list[str]]:
        """Up to `candidates` different translations of each text, the best first; the seed decides what is drawn."""
        if decoding.top_k:
            self._engine.set_random_seed(seed)
            self._translator = (
                self._load()
            )  # the generator of a loaded model's thread keeps the seed that it began with
        sources: list[list[str]] = [[*pieces, *self._end] for pieces in self._pieces.encode(list(texts), out_type=str)]
        order = sorted(range(len(sources)), key=lambda number: (len(sources[number]), number))
        translations: dict[int, list[str]] = {}
        size = max(1, decoding.batch // decoding.width)
        for start in range(0, len(order), size):
            numbers = order[start : start + size]
            results = self._translate_batch([sources[number] for number in numbers], decoding)
            translations.update(zip(numbers, results, strict=True))
        return [translations[number] for number in range(len(texts))]

    def _translate_batch(self, sources: list[list[str]], decoding: Decoding) -> list[list[str]]:
        ratio, more = _ROOM
        if decoding.top_k:
            choice = {"beam_size": 1, "sampling_topk": decoding.top_k, "sampling_temperature": decoding.temperature}
        else:
            choice = {"beam_size": decoding.width}
        try:
            results = self._translator.translate_batch(
                sources,
                num_hypotheses=decoding.candidates,
                max_decoding_length=int(ratio * max(map(len, sources))) + more,
                **choice,
            )
        except RuntimeError as error:
            if "position" not in str(error):
                raise
            if len(sources) == 1:  # longer than the model can read or write: it has no translation
                return [[]]
            half = len(sources) // 2
            return self._translate_batch(sources[:half], decoding) + self._translate_batch(sources[half:], decoding)
        return [list(dict.fromkeys(map(join_pieces, result.hypotheses))) for result in results]


def join_pieces(pieces: Sequence[str]) -> str:
    """The text that sentencepieces spell.

    >>> join_pieces(["▁We", "▁can", "not", "."])
    'We cannot.'
    """
    return " ".join("".join(pieces).replace(_SPACE, " ").split())


@dataclass(frozen=True)
class TranslatorFolder:
    """A model that can be loaded, in this process or another: its weights, and its sentencepiece file for sources."""

    model: Path
    pieces: Path

    def load(self) -> Translator:
        """The model, ready to translate with one thread."""
        return Ctranslate2Translator(self.model, self.pieces)


def open_folder(folder: str | Path, converted: Path) -> TranslatorFolder:
    """The model in a folder of either kind; a Marian model is converted into `converted`, if it is not there yet."""
    given = Path(folder)
    kind = kind_of(given)
    _libraries()
    if kind == "ctranslate2":
        return TranslatorFolder(given.absolute(), find_source_file(given).absolute())
    if not converted.exists():
        convert_marian(given, converted)
    return TranslatorFolder(converted.absolute(), (given / "source.spm").absolute())


def kind_of(folder: Path) -> str:
    """`ctranslate2` or `marian`; a folder that is neither is an error that says what it lacks."""
    if not folder.is_dir():
        what = "this is a file, not a folder" if folder.exists() else "there is no such folder"
        raise InputError(what, Place(str(folder)), "give the folder of a translation model")
    if (folder / "model.bin").is_file():
        find_source_file(folder)
        return "ctranslate2"
    if not (folder / "config.json").is_file():
        what = "it holds no translation model (neither CTranslate2's model.bin nor a config.json)"
        raise InputError(what, Place(str(folder)), "give a CTranslate2 folder, or a Marian model of Hugging Face")
    kind = read_mapping(folder / "config.json").get("model_type")
    if kind != "marian":
        what = f"it holds a model of the kind {kind!r}, not Marian"
        raise InputError(what, Place(str(folder)), "give a Marian model, or convert this one to CTranslate2 before")
    missing = [name for name in MARIAN_FILES if not (folder / name).is_file()]
    if not any((folder / name).is_file() for name in _WEIGHTS):
        missing.append(" or ".join(_WEIGHTS))
    if missing:
        raise InputError(f"this Marian model lacks {', '.join(missing)}", Place(str(folder)), "copy the whole folder")
    return "marian"


def convert_marian(folder: Path, out: Path) -> None:
    """Write a Marian model of Hugging Face as a CTranslate2 folder, in int8."""
    _libraries()
    from ctranslate2.converters import TransformersConverter
    from transformers.utils import logging

    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        with atomic_folder(out) as part, warnings.catch_warnings(action="ignore"):
            TransformersConverter(os.fspath(folder.absolute())).convert(
                os.fspath(part), quantization="int8", force=True
            )
    except InputError:
        raise
    except Exception as error:  # the library has an error for each of many causes
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".:")
        raise InputError(f"it cannot be converted ({reason})", Place(str(folder)), "copy the whole model") from None
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _libraries() -> tuple[Any, Any]:
    try:
        import ctranslate2
        import sentencepiece  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise MissingExtra(error.name or "ctranslate2", "backtranslate", "back-translation") from None
    return ctranslate2, sentencepiece
