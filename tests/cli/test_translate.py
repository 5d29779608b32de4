"""`syntagma translate`: which model it takes, what it says, and what it refuses."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from syntagma.cli import app, translate
from syntagma.errors import ConfigError
from syntagma.network import purpose
from syntagma.network.purpose import Purpose

GERMAN, CHINESE, ENGLISH = "Ich habe das Buch nicht gelesen.", "我没有读过这本书。", "I have not read the book."
MODELS = {
    "translate-de-en": Purpose("translate", "de", "en"),
    "translate-en-de": Purpose("translate", "en", "de"),
    "translate-zh-en": Purpose("translate", "zh", "en"),
}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What `generate` was called with, which is not run."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(translate, "generate", lambda **given: calls.append(given))
    return calls


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purpose, "bundled_purposes", lambda task: dict(MODELS))


def run(*arguments: str, stdin: bytes = b"") -> str:
    """Run the command; what it says on standard error."""
    done = CliRunner().invoke(app, ["translate", *arguments], input=stdin, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stderr


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize(
    ("arguments", "model", "said"),
    [
        ([GERMAN], "translate-de-en", "the text looks like German: translate-de-en"),
        ([CHINESE], "translate-zh-en", "the text looks like Chinese: translate-zh-en"),
        (["我沒有讀過這本書。"], "translate-zh-en", "looks like Chinese"),
        (["他 用 Microsoft PowerPoint 做 演示 。"], "translate-zh-en", "looks like Chinese"),
        ([ENGLISH], "translate-en-de", "from English to German"),
        (["--to", "de", ENGLISH], "translate-en-de", "looks like English"),
        (["--to", "en", "Tom"], "translate-de-en", "the text's language is not clear: translate-de-en"),
        (["--from", "zh", "Tom"], "translate-zh-en", ""),
        (["--from", "zh-TW", "--to", "EN", "Tom"], "translate-zh-en", ""),
        (["--from", "en", GERMAN], "translate-en-de", ""),
        (["--model", "translate-de-en", GERMAN], "translate-de-en", ""),
        (["--model", "translate-de-en", "--from", "de", ENGLISH], "translate-de-en", ""),
        (
            ["--model", "translate-de-en", ENGLISH],
            "translate-de-en",
            "looks like English, but the model translate-de-en reads German; --from de says that it is right",
        ),
    ],
)
def test_the_model_is_chosen(taken: list[dict[str, Any]], arguments: list[str], model: str, said: str) -> None:
    told = run(*arguments)
    assert [call["model"] for call in taken] == [model]
    assert told.startswith("syntagma: the text") if said else told == ""
    assert said in told


@pytest.mark.usefixtures("several")
def test_a_file_decides_by_its_lines(taken: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"Tom.\n{CHINESE}\n{CHINESE}\n", encoding="utf-8")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(CHINESE.encode()))
    (tmp_path / "c.jsonl").write_text(json.dumps({"source": CHINESE, "must": ["the book is not"]}), encoding="utf-8")
    (tmp_path / "d.txt").write_bytes(b"\xff\xfe\n" + GERMAN.encode())
    for name in ("a.txt", "b.txt.gz", "c.jsonl", "d.txt", "absent.txt"):
        run("-i", str(tmp_path / name))
    chosen = ["translate-zh-en"] * 3 + ["translate-de-en"] * 2
    assert [call["model"] for call in taken] == chosen


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_looked_at_and_left_there(monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    data = f"{CHINESE}\n".encode() * 50
    stream = io.BufferedReader(io.BytesIO(gzip.compress(data) if packed else data))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream, encoding="utf-8"))
    assert translate._sample(None, "-")[0] == CHINESE
    rest = stream.read()
    assert (gzip.decompress(rest) if packed else rest) == data


def test_standard_input_that_is_broken_gzip_has_no_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BufferedReader(io.BytesIO(b"\x1f\x8b\0\0abc"))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream, encoding="utf-8"))
    assert translate._sample(None, "-") == []


def test_a_named_pipe_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert translate._sample(None, str(tmp_path / "pipe")) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from", "ro", "x"], r"^no bundled model translates from Romanian; `syntagma reproduce small-ro-en --data"),
        (["--from", "en", "--to", "de", "x"], r"from English to German; `syntagma reproduce small-en-de --data DIR`"),
        (["--to", "de", "x"], r"translates to German; `syntagma reproduce small-en-de"),
        (["--from", "cs", "x"], r"from the language 'cs'; train one of your own pairs with the recipe translate-small"),
        (["Nu știu dacă el va veni mâine."], r"^the text looks like Romanian, and no .*; say --from if it is not, or"),
        ([ENGLISH], r"^the text looks like English already; say its language with --from, or another .* with --to"),
        (["--from", "de", "--to", "de", "x"], r"both languages are German"),
        (["--from", "42", "x"], r"--from '42' is no code of a language; give one such as de, en or zh"),
        (["--model", "translate-de-en", "--from", "zh", "x"], r"translates from German to English, but --from is zh"),
    ],
)
def test_what_is_refused(taken: list[dict[str, Any]], arguments: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        run(*arguments)
    assert "\n" not in str(raised.value)
    assert taken == []


def test_as_a_user_meets_it() -> None:
    command = [sys.executable, "-m", "syntagma", "translate"]
    done = subprocess.run(command, input="Das ist mein Buch.\n", capture_output=True, text=True, check=True)
    assert done.stdout == "This is my book.\n"
    assert done.stderr == (
        "syntagma: the text looks like German: translate-de-en translates it from German to English "
        "(--from says another language)\n"
    )
