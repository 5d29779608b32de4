"""Folders of translation models: what is read, what is refused, and that what is drawn can be drawn again."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from syntagma.corpus.backtranslation.translators import Decoding, kind_of, open_folder
from syntagma.errors import InputError, MissingExtra

TEXTS = ["Ich sah den Fisch.", "du", "", "der Hund fraß ein Haus und wer weiß es?", "☃"]


def test_both_kinds_of_folder_translate_alike(marian: Path, ctranslate2: Path, tmp_path: Path) -> None:
    assert (kind_of(marian), kind_of(ctranslate2)) == ("marian", "ctranslate2")
    converted = open_folder(marian, tmp_path / "converted")
    again = open_folder(marian, tmp_path / "converted")  # which is there now
    given = open_folder(ctranslate2, tmp_path / "unused")
    assert not (tmp_path / "unused").exists()
    results = [folder.load().translate(TEXTS, Decoding(beam=3), 1) for folder in (converted, again, given)]
    assert results[0] == results[1] == results[2]
    assert [len(texts) for texts in results[0]] == [1] * len(TEXTS)


def test_greedy_translation_is_the_models_own(marian: Path, ctranslate2: Path, tmp_path: Path) -> None:
    """What CTranslate2 writes, with our segmentation around it, is what the library writes with its own."""
    import warnings

    import torch
    import transformers as hf

    with warnings.catch_warnings(action="ignore"):
        tokenizer = hf.MarianTokenizer.from_pretrained(marian)
    model = hf.MarianMTModel.from_pretrained(marian).eval()
    ours = open_folder(ctranslate2, tmp_path / "unused").load().translate(TEXTS[:1], Decoding(beam=1), 1)[0][0]
    ids = tokenizer(TEXTS[0], return_tensors="pt")
    with torch.inference_mode():
        theirs = model.generate(
            **ids, do_sample=False, num_beams=1, max_new_tokens=8, bad_words_ids=[[tokenizer.pad_token_id]]
        )
    text = tokenizer.decode(theirs[0], skip_special_tokens=True)
    assert text
    assert ours[:4] == text[:4]  # int8 may go its own way in time


def test_the_seed_and_the_order_decide_what_is_drawn(ctranslate2: Path, tmp_path: Path) -> None:
    translator = open_folder(ctranslate2, tmp_path / "unused").load()
    drawing = Decoding(candidates=3, top_k=20, temperature=2.0)
    first, again, other = (translator.translate(TEXTS, drawing, seed) for seed in (4, 4, 5))
    assert first == again
    assert first != other
    assert max(map(len, first)) > 1
    assert all(len(set(texts)) == len(texts) <= 3 for texts in first)


def test_batches_by_length_come_back_in_order(ctranslate2: Path, tmp_path: Path) -> None:
    translator = open_folder(ctranslate2, tmp_path / "unused").load()
    single = [translator.translate([text], Decoding(beam=2), 1)[0][0] for text in TEXTS]
    together = translator.translate(TEXTS, Decoding(beam=2, batch=4), 1)
    assert len({len(text) for text in single}) > 2
    for alone, (text,) in zip(single, together, strict=True):
        assert text.startswith(alone)  # where a loop ends depends on the longest source of the batch
    assert translator.translate([], Decoding(), 1) == []


def test_a_text_that_is_too_long_has_no_translation_and_others_have_theirs(ctranslate2: Path, tmp_path: Path) -> None:
    translator = open_folder(ctranslate2, tmp_path / "unused").load()
    results = translator.translate([*TEXTS, "der Hund " * 100], Decoding(beam=2), 1)
    assert results[-1] == []
    assert [bool(texts) for texts in results[:-1]] == [True] * len(TEXTS)


def test_folders_that_are_no_models(marian: Path, ctranslate2: Path, tmp_path: Path) -> None:
    def refused(folder: Path, match: str) -> None:
        with pytest.raises(InputError, match=match):
            open_folder(folder, tmp_path / "converted")

    refused(tmp_path / "none", "there is no such folder; give the folder of a translation model")
    (tmp_path / "file").touch()
    refused(tmp_path / "file", "this is a file, not a folder")
    empty = tmp_path / "empty"
    empty.mkdir()
    refused(empty, "it holds no translation model")
    (empty / "config.json").write_text(json.dumps({"model_type": "bart"}))
    refused(empty, "a model of the kind 'bart', not Marian")
    (empty / "config.json").write_text(json.dumps({"model_type": "marian"}))
    refused(empty, r"lacks source\.spm, target\.spm, vocab\.json, model\.safetensors or pytorch_model\.bin")

    part = tmp_path / "part"
    shutil.copytree(ctranslate2, part)
    (part / "source.spm").unlink()
    refused(part, "has no sentencepiece file beside it; copy it there under one of the names sentencepiece.model")
    (part / "source.spm").write_bytes(b"no such thing")
    with pytest.raises(InputError, match="it is no sentencepiece file"):
        open_folder(part, tmp_path / "converted").load()
    shutil.copy(ctranslate2 / "source.spm", part)
    (part / "model.bin").write_bytes(b"cut short")
    with pytest.raises(InputError, match="CTranslate2 cannot load this model"):
        open_folder(part, tmp_path / "converted").load()

    broken = tmp_path / "broken"
    shutil.copytree(marian, broken)
    (broken / "model.safetensors").write_bytes(b"no weights")
    refused(broken, "it cannot be converted")
    assert not (tmp_path / "converted").exists()


def test_a_missing_library_is_named(ctranslate2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(MissingExtra, match=r"back-translation needs the package ctranslate2"):
        open_folder(ctranslate2, tmp_path / "unused")
