"""Subwords that come from a pretrained model's sentencepiece files, one for sources and one for targets.

A Marian model reads its sources in the pieces of one file and writes its targets in those of another; both share one
list of embeddings.  To start from such a model is to keep its pieces: only those that a corpus uses, so that the
vocabulary stays small, and the 256 bytes, so that any text comes back.  Ids: control tokens and labels, bytes, pieces
of targets, and last the pieces of sources alone, which a decoder never writes (`outputs` is where they begin).

As in `Subwords`, words are segmented one by one, with the space before them.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from syntagma.errors import ConfigError, InputError, Place
from syntagma.files import atomic_write
from syntagma.protobuf import fields
from syntagma.text.subwords import CONTROLS, MOST_REMEMBERED, Subwords, units_of
from syntagma.text.vocabulary import PIECES_KIND
from syntagma.text.words import Sentence, Word, split
from syntagma.tree.transform import KEPT_LABELS

SPACE: Final = "▁"
_UNIGRAM: Final = 1
_NORMAL: Final = 1
_UNKNOWN_PENALTY: Final = 10.0
"""How much less than the least likely piece a character scores that has none, as in sentencepiece."""
_CHUNK = re.compile(r" ?\S+|\s")
_SIGN = (
    r"[\u2e80-\u2fff\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"  # full-width punctuation
)
_APART = re.compile(rf"(?:^|(?<={_SIGN}))\s+(?={_SIGN})|(?<={_SIGN})\s+$")


class Piece(NamedTuple):
    """A piece with its scores in the segmentation of targets and of sources; None where that one lacks it."""

    text: str
    target: float | None
    source: float | None


class SentencePieces(Subwords):
    """The pieces of two sentencepiece models, cut down to those that a corpus uses."""

    def __init__(self, labels: Sequence[str], pieces: Sequence[Sequence[Any]]) -> None:
        """`pieces` are the values of a `Piece` each."""
        names = (*CONTROLS, *labels)
        self._rows = pieces
        self._first_byte = len(names)
        self._first_piece = len(names) + 256
        spelled = [text.replace(SPACE, " ").encode() for text, _, _ in pieces]
        self._set_up(labels, [b""] * len(names) + [bytes([byte]) for byte in range(256)] + spelled)
        self.outputs = self._first_piece + sum(target is not None for _, target, _ in pieces)
        self._two_sided = any(source is not None for _, _, source in pieces)
        self._known_source: dict[str, tuple[int, ...]] = {}

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """All pieces, in the order of their ids."""
        return tuple(map(Piece._make, self._rows))

    # -- making, saving, loading

    @staticmethod
    def choose(
        folder: str | Path,
        sentences: Iterable[tuple[str, Sequence[Word]]],
        size: int = 24_000,
        labels: Collection[str] = KEPT_LABELS,
        min_count: int = 2,
        two_sided: bool = True,
    ) -> SentencePieces:
        """The pieces of a pretrained model's folder that pairs (source, target's words) use, the most frequent first.

        Pieces of one character are kept whatever their count.  A space before a word is no piece of a target by itself,
        as it is in T5's ` a`: it is one with the piece after it, since a search writes words.  Where the model's two
        languages are to be one, sources may be segmented like targets (`two_sided=False`).  Where one list of scores is
        for both sides, as in many CTranslate2 folders, pieces that no target uses count as the sources' alone.
        """
        from syntagma.text.piecefiles import read_piece_scores

        source, target, shared = read_piece_scores(folder)
        units: dict[str, Counter[str]] = {"source": Counter(), "target": Counter()}
        for text, words in sentences:
            units["source"].update(_chunks(text) if two_sided else _units(split(text).words))
            units["target"].update(_units(words))
        target = _without_lone_space(target, units["target"] if two_sided else units["target"] | units["source"])
        both = _count_pieces(units["source"], Unigram(source if two_sided else target, normalise=two_sided))
        written = _count_pieces(units["target"], Unigram(target))
        both.update(written)
        if two_sided and shared:
            target = {piece: target[piece] for piece in written}
        kept = {piece for piece in both if len(piece.removeprefix(SPACE)) <= 1}
        characters = set().union(*units["source"], *units["target"])
        kept |= {piece for sign in characters for piece in (sign, SPACE + sign) if piece in target}
        room = size - len(CONTROLS) - len(labels) - 256
        for piece, count in sorted(both.items(), key=lambda item: (-item[1], item[0])):
            if len(kept) >= room or count < min_count:
                break
            kept.add(piece)
        ordered = sorted(kept, key=lambda piece: (piece not in target, -both[piece], piece))
        scores = source if two_sided else {}
        return SentencePieces(tuple(labels), [Piece(text, target.get(text), scores.get(text)) for text in ordered])

    def save(self, path: str | Path) -> None:
        """Write `tokenizer.json`, which says its kind."""
        with atomic_write(path) as stream:
            json.dump(self._values(), stream, ensure_ascii=False)
            stream.write("\n")

    @staticmethod
    def from_values(values: Mapping[str, Any]) -> SentencePieces:
        """From what `save` wrote."""
        return SentencePieces(tuple(values["labels"]), values["pieces"])

    def _values(self) -> dict[str, Any]:
        return {"kind": PIECES_KIND, "labels": list(self.labels), "pieces": self._rows}

    @cached_property
    def fingerprint(self) -> str:
        """A hash, the same for equal vocabularies."""
        return hashlib.sha256(json.dumps(self._values()).encode()).hexdigest()[:16]

    # -- text

    def encode(self, text: str | Sentence) -> list[int]:
        """The ids of a text as a source."""
        if not self._two_sided:
            return self.encode_target(text)
        ids: list[int] = []
        for chunk in _chunks(str(text)):
            known = self._known_source.get(chunk)
            if known is None:
                known = self._spell(chunk, self._segment_source)
                if len(self._known_source) < MOST_REMEMBERED:
                    self._known_source[chunk] = known
            ids += known
        return ids

    def encode_target(self, text: str | Sentence) -> list[int]:
        """The ids of a text as a target."""
        return super().encode(text)

    def _segment(self, unit: str) -> tuple[int, ...]:
        return self._spell(unit, self._segment_target)

    def _spell(self, unit: str, segment: Unigram) -> tuple[int, ...]:
        """The ids of a unit: of its pieces, and of the bytes of what has no piece."""
        ids: list[int] = []
        for piece, text in segment(unit):
            if piece:
                ids.append(self._piece_ids[piece])
            else:
                try:
                    ids += [self._first_byte + byte for byte in text.encode()]
                except UnicodeEncodeError:
                    what = f"{unit!r} holds half a surrogate pair, which is no text"
                    raise InputError(what, remedy="save the text as UTF-8") from None
        return tuple(ids)

    @cached_property
    def _piece_ids(self) -> dict[str, int]:
        return {text: number for number, (text, _, _) in enumerate(self._rows, self._first_piece)}

    @cached_property
    def _segment_target(self) -> Unigram:
        return Unigram({text: target for text, target, _ in self._rows if target is not None})

    @cached_property
    def _segment_source(self) -> Unigram:
        return Unigram({text: source for text, _, source in self._rows if source is not None}, normalise=True)


class Unigram:
    """The likeliest pieces of a unit by their scores; what has none comes as an empty piece.

    With `normalise`, what has none is looked up in its compatibility form (NFKC), as sentencepiece does: a full-width
    `？` is then the piece `?`.
    """

    def __init__(self, scores: Mapping[str, float], normalise: bool = False) -> None:
        self._normalise = normalise
        self._scores = scores
        self._longest = max(map(len, scores), default=1)
        self._unknown = min(scores.values(), default=0.0) - _UNKNOWN_PENALTY

    def __call__(self, unit: str) -> list[tuple[str, str]]:
        """The pieces of a unit, and the text that each stands for."""
        segments: list[tuple[str, str]] = []
        for number, run in enumerate(unit.split(SPACE)):  # the sign that pieces write a space with is no piece itself
            if number:
                segments.append(("", SPACE))
            for piece, text in self._best_path(run):
                segments += (self._normalised(text) if not piece else None) or [(piece, text)]
        return segments

    def _best_path(self, run: str) -> list[tuple[str, str]]:
        """The segmentation with the highest sum of scores; what is unknown side by side is one segment."""
        text = run.replace(" ", SPACE)
        scores = self._scores
        best: list[tuple[float, int, str] | None] = [None] * (
            len(text) + 1
        )  # score, start, piece of those ending there
        best[0] = (0.0, 0, "")
        for start in range(len(text)):
            so_far = best[start][0]  # type: ignore[index]  # each character is a piece or unknown
            for end in range(start + 1, min(start + self._longest, len(text)) + 1):
                piece = text[start:end]
                score = scores.get(piece)
                if score is None:
                    if end > start + 1:
                        continue
                    score, piece = self._unknown, ""
                known = best[end]
                if known is None or so_far + score > known[0]:
                    best[end] = (so_far + score, start, piece)
        segments: list[tuple[str, str]] = []
        end = len(text)
        while end:
            _, start, piece = best[end]  # type: ignore[misc]
            if not piece and segments and not segments[-1][0]:
                segments[-1] = ("", run[start:end] + segments[-1][1])
            else:
                segments.append((piece, run[start:end]))
            end = start
        return segments[::-1]

    def _normalised(self, text: str) -> list[tuple[str, str]] | None:
        """The pieces of a text's compatibility form, if it is another and has some."""
        usual = unicodedata.normalize("NFKC", text) if self._normalise else text
        segments = self(usual) if usual != text else []
        return segments if segments and all(piece for piece, _ in segments) else None


def _chunks(text: str) -> list[str]:
    """A source as its runs of characters between white space, each with the space before it.

    >>> _chunks("I can't."), _chunks("我 没有 读过 这 本 书 。")
    ([' I', " can't."], [' 我没有读过这本书。'])
    """
    return _CHUNK.findall(f" {without_spaces(text)}")


def without_spaces(text: str) -> str:
    """A text without the white space around Chinese and Japanese characters, which some corpora have between words.

    >>> without_spaces("　你 好 ， Tom 先生 ！")
    '你好， Tom 先生！'
    """
    return _APART.sub("", text)


def _units(words: Sequence[Word]) -> Iterator[str]:
    for number, word in enumerate(words):
        yield from units_of(word, first=number == 0)


def _without_lone_space(scores: Mapping[str, float], units: Counter[str]) -> dict[str, float]:
    """Scores by which the same units are segmented alike, but for a space by itself, which is joined to what follows.

    >>> scores = {SPACE: -2.0, "a": -1.0, "b": -3.0, f"{SPACE}b": -4.0}
    >>> sorted(_without_lone_space(scores, Counter([" a", " ba"])).items())
    [('a', -1.0), ('b', -3.0), ('▁a', -3.0), ('▁b', -4.0)]
    """
    if SPACE not in scores:
        return dict(scores)
    segment = Unigram(scores)
    joined = {
        SPACE + piece: scores[SPACE] + score for piece, score in scores.items() if len(piece) == 1 and piece != SPACE
    }
    for unit in units:
        for (piece, _), (after, _) in pairwise(segment(unit)):
            if piece == SPACE and after and after[0] != SPACE:
                joined[SPACE + after] = scores[SPACE] + scores[after]
    return {piece: score for piece, score in (joined | dict(scores)).items() if piece != SPACE}


def _count_pieces(units: Counter[str], segment: Unigram) -> Counter[str]:
    counts: Counter[str] = Counter()
    for unit, count in units.items():
        for piece, _ in segment(unit):
            if piece:
                counts[piece] += count
    return counts


def read_sentencepieces(path: str | Path) -> dict[str, float]:
    """The ordinary pieces of a sentencepiece file (a unigram model) with their scores; nothing is executed."""
    place, remedy = Place(str(path)), "give the file of a unigram model, such as Marian's source.spm"
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"it cannot be opened ({error.strerror})", place, "check the path") from None
    pieces: dict[str, float] = {}
    kind: Any = _UNIGRAM
    value: Any
    try:
        for field, value in fields(data):
            if field == 1:
                entry: dict[int, Any] = dict(fields(value))
                if entry.get(3, _NORMAL) == _NORMAL:
                    (score,) = struct.unpack("<f", entry.get(2, b"\0\0\0\0"))
                    pieces[entry[1].decode("utf-8")] = score
            elif field == 2:
                kind = dict(fields(value)).get(3, _UNIGRAM)
    except (IndexError, KeyError, struct.error, UnicodeDecodeError, TypeError, ValueError):
        raise InputError("this is not a sentencepiece file", place, remedy) from None
    if kind != _UNIGRAM or not pieces:
        raise ConfigError("it is no unigram model of sentencepiece", place, remedy)
    return pieces
