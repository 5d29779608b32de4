"""Sentencepiece files as tokenizers of the `tokenizers` library, for models that have nothing else (Marian's).

A Marian model has a sentencepiece file for each of its two languages and one list of ids for both.  So one language's
tokenizer knows only the pieces of its own file, under the ids of the common list.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from syntagma.errors import BackboneError, MissingExtra, Place
from syntagma.text.pretrained import HIDDEN

_UNIGRAM = 1
_NORMAL = 1


def read_sentencepiece(path: str | Path, ids: Mapping[str, int], unknown: str) -> Tokenizer:
    """The tokenizer of a sentencepiece file whose pieces have those ids; `unknown` is the piece for all else."""
    model = _parse(path)
    if model.trainer_spec.model_type != _UNIGRAM:
        what = "it is no unigram model of sentencepiece, and other kinds cannot be used"
        raise BackboneError(what, Place(str(path)), "use a model with a tokenizer.json, such as BART or T5")
    own = {piece.piece: piece.score for piece in model.pieces if piece.type == _NORMAL}
    # What is unknown scores less than the lowest entry, so those that are not its own must not be the lowest.
    highest = max(own.values(), default=0.0)
    entries = [(f"{HIDDEN}{index}", highest) for index in range(max(ids.values()) + 1)]
    for piece, index in ids.items():
        entries[index] = (piece, own[piece]) if piece in own else (HIDDEN + piece, highest)
    tokenizer = Tokenizer(models.Unigram(entries, unk_id=ids[unknown], byte_fallback=False))
    steps: list[Any] = [normalizers.Replace(Regex(" {2,}"), " ")]
    if model.normalizer_spec.precompiled_charsmap:
        steps.insert(0, normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap))
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="never")
    return tokenizer


def _parse(path: str | Path) -> Any:
    try:
        from sentencepiece import sentencepiece_model_pb2
    except ImportError:
        raise MissingExtra("sentencepiece", "hf", "reading a Marian tokenizer") from None
    model = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]
    model.ParseFromString(Path(path).read_bytes())  # the library has read it before, so it is one
    return model
