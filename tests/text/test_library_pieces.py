"""Our own segmentations give what the `tokenizers` library gives for the vocabularies of the bundled models."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from syntagma.hub import find_folder
from syntagma.parse.pieces import WordPieces
from syntagma.text.sentencepieces import SPACE, SentencePieces
from syntagma.text.subwords import Subwords

tokenizers: Any = pytest.importorskip("tokenizers")
LETTERS = st.sampled_from(" abcdeinrstABC'.,-!0129äéßΣσİıñ中文あж½ﬁ’“—€😀\u0308\u200b\xad\t\r\x0b\x1c")
UNITS = st.one_of(
    st.text(LETTERS, min_size=1, max_size=12),
    st.sampled_from([" mistake", "n't", " Geschwindigkeitsbegrenzung", "aaaaaaa", " the", "x" * 120]),
)


@cache
def library(name: str, kind: str = "model") -> Any:
    return tokenizers.Tokenizer.from_file(str(find_folder(name, "model", kind) / "tokenizer.json"))


@cache
def subwords(name: str) -> Subwords:
    return Subwords.load(find_folder(name, "model", "model") / "tokenizer.json")


@given(UNITS)
def test_byte_pairs(unit: str) -> None:
    units = {unit, unit.strip(" ")} - {""}
    for text in units:
        expected = library("translate-de-en").encode(text, add_special_tokens=False).ids
        assert list(subwords("translate-de-en")._segment(text)) == expected


@cache
def unigram() -> tuple[SentencePieces, list[str], Any]:
    vocabulary = subwords("paraphrase-en")
    assert isinstance(vocabulary, SentencePieces)
    scores = {piece.text: piece.target for piece in vocabulary.pieces if piece.target is not None}
    entries = [(" unknown", max(scores.values())), *scores.items()]
    return vocabulary, ["", *scores], tokenizers.Tokenizer(tokenizers.models.Unigram(entries, unk_id=0))


@given(UNITS)
@example("日本語 and 日本")
def test_sentencepieces(unit: str) -> None:
    vocabulary, names, theirs = unigram()
    encoded = theirs.encode(unit.replace(" ", SPACE), add_special_tokens=False)
    expected = [(names[number], unit[slice(*span)]) for number, span in zip(encoded.ids, encoded.offsets, strict=True)]
    assert vocabulary._segment_target(unit) == expected


@cache
def word_pieces() -> WordPieces:
    folder = find_folder("parser-en", "parser", "network")
    return WordPieces((folder / "tokenizer.json").read_text(encoding="utf-8"))


@given(UNITS)
@example("Café's\u200b 東京")
def test_word_pieces(unit: str) -> None:
    theirs = library("parser-en", "network")
    theirs.no_truncation()
    assert word_pieces()(unit) == theirs.encode(unit, add_special_tokens=False).ids
