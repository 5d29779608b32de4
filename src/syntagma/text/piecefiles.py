"""The sentencepiece files of a pretrained model's folder: how sources and targets are segmented.

A Marian model has two files, `source.spm` and `target.spm`.  A CTranslate2 model often has one
(`sentencepiece.model`).  If that file knows nearly all of the model's vocabulary, it serves both sides.  If not, it is
the sources' alone, and the targets' scores come from `shared_vocabulary.json`, which Marian orders by frequency: by
Zipf's law the n-th piece has a probability proportional to 1/n.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Final, NamedTuple

from syntagma.errors import InputError, Place
from syntagma.text.sentencepieces import read_sentencepieces

SOURCE_FILES: Final = ("sentencepiece.model", "source.spm", "spm.model", "source.model")
"""Names of the only sentencepiece file of a folder; the first that is there counts."""
TOKENIZER: Final = "tokenizer.json"
"""The pieces of a T5 model, with their scores."""
SHARED_VOCABULARY: Final = "shared_vocabulary.json"
_BOTH_SIDES: Final = 0.95
"""The share of a vocabulary that a file must know to serve both sides."""
_FIRST_SCORE: Final = -2.0


class PieceScores(NamedTuple):
    """The scores of pieces in the segmentation of sources and of targets."""

    source: dict[str, float]
    target: dict[str, float]
    shared: bool
    """Whether the targets' list holds the sources' pieces as well."""


def read_piece_scores(folder: str | Path) -> PieceScores:
    """The segmentation of both sides by the files of a folder."""
    folder = Path(folder)
    if (folder / "target.spm").is_file() or (folder / "vocab.json").is_file():  # a Marian model has both
        source, target = (read_sentencepieces(folder / f"{side}.spm") for side in ("source", "target"))
        return PieceScores(source, target, shared=False)
    if (folder / TOKENIZER).is_file():  # a T5 model has one list for both sides
        scores = {piece: score for piece, score in read_unigram(folder / TOKENIZER) if score}
        return PieceScores(scores, scores, shared=True)
    source = read_sentencepieces(find_source_file(folder))
    if not (folder / SHARED_VOCABULARY).is_file():
        return PieceScores(source, source, shared=True)
    vocabulary = read_vocabulary(folder / SHARED_VOCABULARY)
    by_rank = {
        piece: _FIRST_SCORE - math.log(rank)
        for rank, piece in enumerate(vocabulary, 1)
        if not (piece.startswith("<") and piece.endswith(">") and len(piece) > 2)
    }
    known = sum(piece in source for piece in by_rank)
    return PieceScores(source, source if known >= _BOTH_SIDES * len(by_rank) else by_rank, shared=True)


def read_unigram(path: Path) -> list[tuple[str, float]]:
    """The pieces of a unigram model in a `tokenizer.json` and their scores, in the order of their ids.

    What is no text, such as the end, has a score of 0.
    """
    try:
        model = json.loads(path.read_text(encoding="utf-8"))["model"]
        if model["type"] != "Unigram":
            raise ValueError(f"its pieces are of the kind {model['type']}")
        return [(str(piece), float(score)) for piece, score in model["vocab"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"no pieces can be read in it ({error})", Place(str(path)), "copy the whole model again"
        ) from None


def find_source_file(folder: Path) -> Path:
    """The sentencepiece file that segments a folder's sources."""
    for name in SOURCE_FILES:
        if (folder / name).is_file():
            return folder / name
    what = "this model has no sentencepiece file beside it"
    raise InputError(what, Place(str(folder)), f"copy it there under one of the names {', '.join(SOURCE_FILES)}")


def read_vocabulary(path: Path) -> list[str]:
    """The pieces of a CTranslate2 vocabulary, in the order of their ids."""
    try:
        pieces = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"it cannot be read ({error})", Place(str(path)), "copy the whole model again") from None
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        raise InputError("this is no list of pieces", Place(str(path)), "copy the whole model again")
    return pieces
