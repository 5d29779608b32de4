from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from search_models import TEXTS, random_model
from syntagma.cli import app
from syntagma.network.storage import save_pretrained
from syntagma.search import Generator, Output
from syntagma.text import Subwords, split

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    subwords = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
    about = {"search": {"max_depth": 4, "max_tokens": 10}}
    save_pretrained(tmp_path / "model", random_model(subwords, 4), subwords, "# Random\n", about=about)
    return tmp_path / "model"


def test_generate(syntagma: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"I ate an apple.\n\n\xff\nHe can't.\n")
    done = syntagma("generate", "--model", model, "-i", "in.txt", "--json", "--nbest", "2", "threads=1", check=1)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["source"] for record in records] == ["I ate an apple.", "", None, "He can't."]
    assert [len(record["hypotheses"]) for record in records] == [2, 0, 0, 2]
    assert "in.txt, line 3, column 1: the byte 0xff is not UTF-8 text" in done.stderr
    assert done.stderr.count("line 3") == 1
    best = records[0]["hypotheses"][0]
    assert set(best) == {"text", "score", "tree", "levels"}
    assert best["tree"].startswith("(TOP ")
    assert best["levels"][0] == "<T>"
    assert records[0]["hypotheses"][1]["score"] <= best["score"]

    told = syntagma("generate", "--model", model, "--trace", "profile=true", "--beam", "2", "I ate an apple.")
    traced = told.stdout
    *parts, network, whole = (float(line.rsplit(" ", 1)[1].rstrip("%")) for line in told.stderr.splitlines())
    assert sum(parts) == pytest.approx(100, abs=1)
    assert 0 < network < whole == 100
    assert "<T> -> " in traced

    steered = syntagma(
        "generate",
        "--model",
        model,
        "--start",
        "<NP> ate .",
        "--must",
        "apple",
        "--beam",
        "3",
        "--nbest",
        "2",
        "I ate.",
    )
    first, second = steered.stdout.split("\n")[:2]
    assert first != second
    assert "apple" in first.lower()
    assert first.endswith(" ate.")
    drawn = syntagma("generate", "--model", model, "sample=true", "temperature=2", "--nbest", "3", "--json", "I").stdout
    assert len(json.loads(drawn)["hypotheses"]) == 3


def test_generate_errors(syntagma: Run, model: Path) -> None:
    assert "there is no model 'nothing'" in syntagma("generate", "--model", "nothing", "x", check=1).stderr
    unclosed = syntagma("generate", "--model", model, "--template", "(S (NP)", "x", check=1)
    assert unclosed.stderr == "syntagma: column 1: the bracket opened here is never closed; add the missing ')'\n"
    assert "give --out" in syntagma("generate", "--model", model, "--resume", "x", check=1).stderr
    alone = syntagma("generate", "--model", model, "temperature=0.5", "x", check=2)
    assert "give sample=true as well" in " ".join(alone.stderr.split())
    for wrong, sentence in (
        ("batch_size=0", "'batch_size' cannot be 0; give a number of at least 1"),
        ("batch_size=few", "'batch_size' cannot be 'few'; give a value: whole number or auto"),
        ("alhpa=0.5", "'alhpa' is not a setting of this command; did you mean 'alpha'?"),
    ):
        assert syntagma("generate", "--model", model, wrong, "x", check=1).stderr == f"syntagma: {sentence}\n"


def test_resume_is_not_content_with_another_runs_file(syntagma: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("I ate.\nHe saw.\n")
    common = ("generate", "--model", model, "-i", "in.txt", "--out", "made", "--resume")
    syntagma(*common)
    made = (tmp_path / "made").read_bytes()
    assert syntagma(*common).stderr == "syntagma: made is finished already; --overwrite makes it anew\n"
    told = syntagma(*common, "--nbest", "3", check=1).stderr
    assert told.startswith("syntagma: made: the finished run here is another (")
    assert "nbest was 1, now 3" in told
    (tmp_path / "in.txt").write_text("I ate.\nHe saw.\nShe left.\n")
    told = syntagma(*common, check=1).stderr
    assert told.startswith("syntagma: made: it was made from another input, of 2 lines; ")
    assert (tmp_path / "made").read_bytes() == made


def test_export_halves_the_weights_and_keeps_how_to_search(syntagma: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text("# To share\n")
    chosen = ("beam=2", "forbid_copy=true", "--card", "card.md")
    syntagma("export", "--model", model, "--out", "shared", *chosen)
    half, whole = ((folder / "model.safetensors").stat().st_size for folder in (tmp_path / "shared", model))
    assert half < 0.6 * whole
    assert (tmp_path / "shared" / "README.md").read_text() == "# To share\n"
    about = json.loads((tmp_path / "shared" / "config.json").read_text())["about"]
    assert about["search"] == {"max_depth": 4, "max_tokens": 10, "beam": 2, "forbid_copy": True}
    made = syntagma("paraphrase", "--model", tmp_path / "shared", "--nbest", "2", "I ate.").stdout.splitlines()
    assert (
        made[:2]
        == syntagma("generate", "--model", tmp_path / "shared", "--nbest", "2", "I ate.").stdout.splitlines()[:2]
    )
    for wrong, what in (
        (("bream=2",), "'beam'"), (("--weights", "int4"), "int4"), (("--card", "no.md"), "no.md"),
        ((), "it exists already"),
    ):  # fmt: skip
        out = "shared" if not wrong else "other"
        assert what in syntagma("export", "--model", model, "--out", out, *wrong, check=1).stderr


def test_the_precision_of_an_export(syntagma: Run, model: Path, tmp_path: Path) -> None:
    former = syntagma("export", "--model", model, "--out", "whole", "--weights", "float32")
    assert former.stderr.splitlines()[0] == "syntagma: --weights float32 is now --precision fp32"
    syntagma("export", "--model", model, "--out", "small", "--precision", "int8")
    texts = [
        syntagma("generate", "--model", folder, "I ate.").stdout
        for folder in (model, tmp_path / "whole", tmp_path / "small")
    ]
    assert texts[0] == texts[1]
    assert len(texts[2].splitlines()) == 1


def test_export_lists_the_words_that_a_model_knows(syntagma: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("I ate an apple.\n")
    no_list = syntagma("export", "--model", model, "--out", "plain", "coin=false", check=1).stderr
    assert no_list == (
        "syntagma: 'coin' is now known_words_only=True; the old name goes with the next release\n"
        "syntagma: known_words_only needs the words that the model knows; give --words\n"
    )
    syntagma("export", "--model", model, "--out", "shared", "known_words_only=true", "--words", "texts.txt")
    assert (tmp_path / "shared" / "words.txt").read_text().split() == ["an", "apple", "ate", "i"]
    syntagma("export", "--model", tmp_path / "shared", "--out", "again")  # which keeps them
    written = syntagma("generate", "--model", tmp_path / "again", "--nbest", "3", "I can't.").stdout
    assert set(re.findall("[a-z]+", written.lower())) <= {"an", "apple", "ate", "i", "can", "t", "ca", "n"}
    assert "no list" in syntagma("generate", "--model", model, "known_words_only=true", "I ate.", check=1).stderr


def test_a_note_that_many_lines_have_is_not_said_of_each(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stream(self: Generator, texts: Iterable[str], **options: object) -> Iterator[list[Output]]:
        for text in texts:
            yield [Output(text, 0.0, None, (), note="as it was")]

    monkeypatch.setattr(Generator, "stream", stream)
    (tmp_path / "in.txt").write_text("a\n" * 5)
    done = CliRunner().invoke(app, ["generate", "--model", str(model), "-i", str(tmp_path / "in.txt")])
    assert done.stdout == "a\n" * 5
    assert done.stderr.splitlines() == [
        *(f"syntagma: line {number}: as it was" for number in (1, 2, 3)),
        "syntagma: 2 more lines: as it was",
    ]
