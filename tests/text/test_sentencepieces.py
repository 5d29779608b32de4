"""Pieces of a Marian model as a vocabulary of ours."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network.test_marian import SOURCE_PIECES, TARGET_PIECES, TEXTS, write_sentencepieces
from syntagma.errors import InputError, SyntagmaError
from syntagma.levels import PART, Label
from syntagma.text.sentencepieces import SentencePieces, Unigram, read_sentencepieces, without_spaces
from syntagma.text.subwords import Subwords
from syntagma.text.vocabulary import load_vocabulary
from syntagma.text.words import Word, split


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pieces")
    write_sentencepieces(folder / "source.spm", SOURCE_PIECES)
    write_sentencepieces(folder / "target.spm", TARGET_PIECES)
    return folder


@pytest.fixture(scope="module")
def pieces(folder: Path) -> SentencePieces:
    return SentencePieces.choose(folder, [(text, split(text).words) for text in TEXTS], 400, min_count=1)


def spelled(pieces: Subwords, ids: list[int]) -> list[str]:
    return [pieces.piece(number).decode() for number in ids]


def test_sources_and_targets_have_their_own_pieces(pieces: SentencePieces) -> None:
    assert spelled(pieces, pieces.encode("I can't eat.")) == [" I", " ca", "n", "'", "t", " e", "at", "."]
    assert spelled(pieces, pieces.encode_target("I can't eat.")) == [" I", " ca", "n", "'", "t", " eat", "."]


def test_only_targets_pieces_can_be_written(pieces: SentencePieces) -> None:
    source, target = pieces.encode("I can't eat."), pieces.encode_target("I can't eat.")
    assert max(target) < pieces.outputs <= max(source) < pieces.size


def test_shared_pieces(folder: Path) -> None:
    shared = SentencePieces.choose(
        folder, [(text, split(text).words) for text in TEXTS], 400, min_count=1, two_sided=False
    )
    assert shared.encode("I can't eat.") == shared.encode_target("I can't eat.")
    assert shared.outputs == shared.size


def test_a_lone_space_is_one_with_the_piece_after_it(tmp_path: Path) -> None:
    for side in ("source", "target"):
        write_sentencepieces(tmp_path / f"{side}.spm", ["▁I", "▁", "ra", "n", "▁eat", ".", "a", "p", "r"])
    chosen = SentencePieces.choose(tmp_path, [("I ran.", split("I ran.").words)] * 2, 400, min_count=1, two_sided=False)
    assert spelled(chosen, chosen.encode("I ran.")) == [" I", " ra", "n", "."]
    assert spelled(chosen, chosen.encode("I arn.")) == [" I", " a", "r", "n", "."]
    assert all(chosen.is_word(number) for number in range(chosen.first_text_id + 256, chosen.size))


def test_a_joined_piece_begins_as_its_parts(tmp_path: Path) -> None:
    from syntagma.network.marian import known_rows

    pieces = ["▁I", "▁", "ra", "n", "."]
    for side in ("source", "target"):
        write_sentencepieces(tmp_path / f"{side}.spm", pieces)
    chosen = SentencePieces.choose(tmp_path, [("I ran.", split("I ran.").words)] * 2, 400, two_sided=False)
    rows = {piece: number for number, piece in enumerate(pieces)}
    scores = read_sentencepieces(tmp_path / "target.spm")
    found = known_rows(chosen, rows, lambda: Unigram(scores))
    _, joined, *_ = chosen.encode("I ran.")
    assert (chosen.piece(joined), found[joined]) == (b" ra", [1, 2])


def test_the_least_frequent_go_first(folder: Path, pieces: SentencePieces) -> None:
    fewer = SentencePieces.choose(folder, [(text, split(text).words) for text in TEXTS], pieces.size - 1, min_count=1)
    assert fewer.size == pieces.size - 1
    assert set(fewer.pieces) < set(pieces.pieces)
    assert fewer.decode(fewer.encode("I can't eat.")) == "I can't eat."


@given(st.text())
def test_any_text_comes_back(pieces: SentencePieces, text: str) -> None:
    for encode in (pieces.encode, pieces.encode_target):
        try:
            ids = encode(text)
        except InputError:
            assert any("\ud800" <= sign <= "\udfff" for sign in text)
            continue
        if encode == pieces.encode_target:
            assert pieces.decode(ids) == text
        else:  # in its compatibility form, where only that has pieces
            shown = unicodedata.normalize("NFKC", without_spaces(text))
            assert unicodedata.normalize("NFKC", pieces.decode(ids)) == shown
        assert all(number >= pieces.first_text_id for number in ids)


@pytest.mark.parametrize("text", ["⟨NP⟩", "<NP>", " ⟨NP⟩", "▁", "▁eat", "<0x41>", " unknown", "😀", "中文"])
def test_no_text_reaches_a_control_token(pieces: SentencePieces, text: str) -> None:
    for ids in (pieces.encode(text), pieces.encode_target(text)):
        assert min(ids) >= pieces.first_text_id
        assert pieces.decode(ids) == text


def test_contexts_and_infills(pieces: SentencePieces) -> None:
    tokens = [PART, Word("I", " "), PART, Word("eat", " "), Label("NP"), Word(".", "")]
    ids = pieces.encode_tokens(tokens)
    assert pieces.decode_tokens(ids) == tokens
    assert pieces.label_id("NP") in ids


def test_saved_and_loaded(pieces: SentencePieces, tmp_path: Path) -> None:
    pieces.save(tmp_path / "tokenizer.json")
    for loaded in (Subwords.load(tmp_path / "tokenizer.json"), load_vocabulary(tmp_path / "tokenizer.json")):
        assert isinstance(loaded, SentencePieces)
        assert loaded.fingerprint == pieces.fingerprint
        assert loaded.outputs == pieces.outputs
        assert loaded.encode("I can't eat.") == pieces.encode("I can't eat.")


def test_reads_what_sentencepiece_writes(folder: Path) -> None:
    scores = read_sentencepieces(folder / "source.spm")
    assert list(scores) == SOURCE_PIECES
    assert scores["▁ca"] == pytest.approx(-1.1)


@pytest.mark.parametrize("data", [b"", b"no such file", b"\x0a\x7f\x0a", b"\xff" * 40])
def test_other_files_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.spm").write_bytes(data)
    with pytest.raises(SyntagmaError, match="sentencepiece"):
        read_sentencepieces(tmp_path / "a.spm")


CHINESE = ["▁", "▁我", "我", "没有", "沒有", "读", "讀", "过", "這", "书", "書", "。", "?", "▁T", "T", "o", "m", ","]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("我没有读过书。", [" 我", "没有", "读", "过", "书", "。"]),
        ("我 没有 读过　书 。", [" 我", "没有", "读", "过", "书", "。"]),
        ("　我没有读过书。 ", [" 我", "没有", "读", "过", "书", "。"]),
        ("我沒有讀這書？", [" 我", "沒有", "讀", "這", "書", "?"]),
        ("我，Ｔｏｍ", [" 我", ",", "T", "o", "m"]),
        ("我 Tom 书", [" 我", " T", "o", "m", " ", "书"]),
    ],
)
def test_chinese_sources(tmp_path: Path, text: str, wanted: list[str]) -> None:
    write_sentencepieces(tmp_path / "source.spm", CHINESE)
    write_sentencepieces(tmp_path / "target.spm", TARGET_PIECES)
    sources = ["我没有读过书。", "沒有讀這書？", "我 Tom，Tom 书"]
    pieces = SentencePieces.choose(tmp_path, [(source, split("I eat.").words) for source in sources], 400, min_count=1)
    assert spelled(pieces, pieces.encode(text)) == wanted
