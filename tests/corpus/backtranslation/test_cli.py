"""The command from end to end with tiny random models: all ways in, kills, and what a user gets wrong."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from corpus.backtranslation.conftest import MANY
from syntagma.cli import app
from syntagma.corpus import CorpusOptions, Input
from syntagma.corpus.readers import Rows
from syntagma.errors import SyntagmaError

LOOSE = [f"skip={name}" for name in MANY] + ["min_similarity=0", "min_sentences=0"]


def run(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["backtranslate", *map(str, arguments)], input=stdin)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    draw = random.Random(3)
    words = ["I", "you", "the", "dog", "a", "cat", "fish", "bread", "mat", "saw", "liked", "ate", "found", "house"]
    path = tmp_path / "news.txt"
    path.write_text("".join(" ".join(draw.choices(words, k=draw.randint(3, 8))) + ".\n" for _ in range(60)))
    return path


def test_text_from_files_arguments_and_standard_input(
    marian: Path, ctranslate2: Path, text: Path, tmp_path: Path
) -> None:
    models = ["--there", marian, "--back", ctranslate2, "--workers", 1, *LOOSE]
    result = run("-i", text, *models, "sample=5", "--candidates", 2, "--out", tmp_path / "file", "--json")
    assert result.exit_code == 0, result.stderr
    about = json.loads(result.stdout)
    lines = [line.split("\t") for line in (tmp_path / "file" / "pairs.tsv").read_text().splitlines()]
    assert about["counts"]["rows"] == 60
    assert len(lines) == about["counts"]["kept"] == about["origins"]["news"] > 0
    assert about["counts"]["candidates"] == about["counts"]["kept"] + about["counts"]["candidates_rejected"]
    assert {about["models"][name]["kind"] for name in ("there", "back")} == {"marian", "ctranslate2"}
    assert {len(line) for line in lines} == {5}
    read = list(Rows(CorpusOptions((Input(str(tmp_path / "file" / "pairs.tsv")),))))  # as `prepare` reads them
    assert [[row.source, row.target] for row in read] == [line[:2] for line in lines]

    content = text.read_text()
    given = run(*content.splitlines(), *models, "--out", tmp_path / "arguments", "--json")
    piped = run(*models, "--out", tmp_path / "piped", "--json", stdin=content)
    assert given.exit_code == piped.exit_code == 0, given.stderr + piped.stderr
    assert json.loads(given.stdout)["counts"] == json.loads(piped.stdout)["counts"]
    shown = run("-i", text, *models, "--out", tmp_path / "shown")
    assert "pairs kept" in shown.stderr
    assert shown.stdout == ""


def test_workers_change_nothing(ctranslate2: Path, text: Path, tmp_path: Path) -> None:
    for workers in (1, 2):
        arguments = ["-i", text, "--there", ctranslate2, "--back", ctranslate2, *LOOSE, "sample=5"]
        result = run(*arguments, "chunk_rows=15", "--workers", workers, "--out", tmp_path / str(workers))
        assert result.exit_code == 0, result.stderr
    for name in ("pairs.tsv", "rejects.jsonl", "about.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_changes_nothing(ctranslate2: Path, text: Path, tmp_path: Path) -> None:
    with warnings.catch_warnings(action="ignore"):
        pytest.importorskip("ray.data")
    for executor, workers in (("local", 1), ("ray", 2)):
        arguments = [
            "-i",
            text,
            "--there",
            ctranslate2,
            "--back",
            ctranslate2,
            *LOOSE,
            "--sample",
            5,
            "--executor",
            executor,
        ]
        result = run(*arguments, "chunk_rows=15", "--workers", workers, "--out", tmp_path / executor)
        assert result.exit_code == 0, result.stderr
    for name in ("pairs.tsv", "rejects.jsonl", "about.json"):
        assert (tmp_path / "local" / name).read_bytes() == (tmp_path / "ray" / name).read_bytes()


def test_killed_at_random_moments_it_ends_with_the_same_bytes(ctranslate2: Path, text: Path, tmp_path: Path) -> None:
    arguments = ["-i", text, "--there", ctranslate2, "--back", ctranslate2, *LOOSE, "sample=5", "chunk_rows=3"]
    assert run(*arguments, "--workers", 1, "--out", tmp_path / "whole").exit_code == 0
    out, draw, kills = tmp_path / "out", random.Random(os.getpid()), 0
    command = [
        sys.executable,
        "-m",
        "syntagma",
        "backtranslate",
        *map(str, arguments),
        "--workers",
        "1",
        "--out",
        str(out),
    ]
    for moment in sorted(draw.sample(range(1, 80), 3)):  # so many files are there when the run is killed
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and sum(len(names) for _, _, names in os.walk(out)) < moment:
            time.sleep(0.001)
        kills += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert kills
    last = subprocess.run(command, capture_output=True, check=False)
    assert last.returncode == 0, last.stderr.decode()
    for name in ("pairs.tsv", "rejects.jsonl", "about.json"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert not (out / "work").exists()


def test_what_a_user_gets_wrong(ctranslate2: Path, text: Path, tmp_path: Path) -> None:
    def sentence(*arguments: object) -> str:
        result = run(*arguments, "--out", tmp_path / "out")
        assert isinstance(result.exception, SyntagmaError), result.exception
        return str(result.exception)

    back = ["--back", ctranslate2]
    assert sentence("-i", text, *back).startswith("text needs a model into another language; give --there FOLDER")
    assert sentence("--bitext", text, "--there", "a", *back).startswith("a bitext has its foreign sentences already")
    assert sentence("A text.", "-i", text, *back).startswith("there are several kinds of input")
    assert sentence("-i", text, "columns=0,1", "--there", "a", *back) == "columns= is for a bitext; leave it out"
    assert (
        sentence("-i", "none.txt", "--there", ctranslate2, *back) == "none.txt: there is no such file; check the path"
    )
    missing = sentence("-i", text, "--there", "none", *back)
    assert missing == "none: there is no such folder; give the folder of a translation model"
    assert "there is no executor 'spark'" in sentence("-i", text, "--there", ctranslate2, *back, "--executor", "spark")
    assert run("-i", text).exit_code == 2
