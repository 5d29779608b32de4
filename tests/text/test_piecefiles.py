"""How the folders of pretrained models segment sources and targets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from network.test_marian import SOURCE_PIECES, TARGET_PIECES, write_sentencepieces
from syntagma.errors import InputError
from syntagma.text.piecefiles import read_piece_scores
from syntagma.text.sentencepieces import SentencePieces
from syntagma.text.words import split

CHINESE = ["▁", "我", "吃", "我吃", "。"]
ENGLISH = ["▁I", "▁eat", ".", "▁e", "at", "t", "a", "I"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A CTranslate2 folder with the sources' file alone, as OPUS-MT's packages are."""
    write_sentencepieces(tmp_path / "sentencepiece.model", CHINESE)
    vocabulary = ["</s>", "<unk>", *dict.fromkeys([*ENGLISH, *CHINESE])]
    (tmp_path / "shared_vocabulary.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    return tmp_path


def test_targets_are_segmented_by_the_rank_of_their_pieces(folder: Path) -> None:
    scores = read_piece_scores(folder)
    assert scores.shared
    assert set(scores.source) == set(CHINESE)
    assert set(scores.target) == {*ENGLISH, *CHINESE}
    assert scores.target["▁I"] > scores.target["▁eat"] > scores.target["。"]


def test_pieces_that_no_target_uses_are_not_written(folder: Path) -> None:
    pieces = SentencePieces.choose(folder, [("我吃。", split("I eat.").words)], 400, min_count=1)
    source, target = pieces.encode("我吃。"), pieces.encode_target("I eat.")
    assert [pieces.piece(number).decode() for number in source] == [" ", "我吃", "。"]
    assert [pieces.piece(number).decode() for number in target] == [" I", " eat", "."]
    assert max(target) < pieces.outputs <= min(source)
    assert pieces.decode(pieces.encode_target("我吃")) == "我吃"  # in bytes


def test_full_width_signs_of_sources_are_read_as_sentencepiece_reads_them(folder: Path) -> None:
    write_sentencepieces(folder / "sentencepiece.model", [*CHINESE, "?", "12"])
    pieces = SentencePieces.choose(folder, [("我吃１２？", split("I eat.").words)], 400, min_count=1)
    assert [pieces.piece(number).decode() for number in pieces.encode("我吃１２？")] == [" ", "我吃", "12", "?"]
    assert pieces.decode(pieces.encode_target("？")) == "？"


def test_a_file_that_knows_the_vocabulary_serves_both_sides(folder: Path) -> None:
    write_sentencepieces(folder / "sentencepiece.model", [*ENGLISH, *CHINESE])
    scores = read_piece_scores(folder)
    assert scores.target == scores.source


def test_a_file_without_a_vocabulary_serves_both_sides(folder: Path) -> None:
    (folder / "shared_vocabulary.json").unlink()
    assert read_piece_scores(folder).target == read_piece_scores(folder).source


def test_two_files(tmp_path: Path) -> None:
    write_sentencepieces(tmp_path / "source.spm", SOURCE_PIECES)
    write_sentencepieces(tmp_path / "target.spm", TARGET_PIECES)
    scores = read_piece_scores(tmp_path)
    assert (set(scores.source), set(scores.target), scores.shared) == (set(SOURCE_PIECES), set(TARGET_PIECES), False)


def test_half_a_marian_folder_is_refused(tmp_path: Path) -> None:
    write_sentencepieces(tmp_path / "source.spm", SOURCE_PIECES)
    (tmp_path / "vocab.json").write_text("{}")
    with pytest.raises(InputError, match=r"target\.spm: it cannot be opened"):
        read_piece_scores(tmp_path)


@pytest.mark.parametrize("text", ["[1, 2]", '{"a": 1}', "no json"])
def test_a_vocabulary_that_is_none(folder: Path, text: str) -> None:
    (folder / "shared_vocabulary.json").write_text(text)
    with pytest.raises(InputError, match=r"shared_vocabulary\.json: .*; copy the whole model again"):
        read_piece_scores(folder)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no sentencepiece file beside it; copy it there"):
        read_piece_scores(tmp_path)
