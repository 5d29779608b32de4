"""Every command that takes -i reads a file, a pipe, a FIFO, standard input and gzip alike, each once."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from search_models import TEXTS, random_model
from syntagma.cli import app
from syntagma.network.storage import save_pretrained
from syntagma.text import Subwords, split

SENTENCES = "".join(f"He made {number} mistakes.\n" for number in range(30)).encode()
TREES = "".join(f"(S (NP (PRP I)) (VP (VBD saw) (NP (CD {number}))))\n" for number in range(300)).encode()
INPUTS = {
    "generate": SENTENCES,
    "paraphrase": SENTENCES,
    "translate": SENTENCES,
    "parse": SENTENCES,
    "levels": TREES,
}


def reading(command: Any, name: str = "") -> Iterator[str]:
    """The names of the commands that take -i and write to standard output; `backtranslate` makes a folder."""
    for inner, one in getattr(command, "commands", {}).items():
        yield from reading(one, f"{name} {inner}".strip())
    if name != "backtranslate" and any("-i" in parameter.opts for parameter in command.params):
        yield name


READING = list(reading(typer.main.get_command(app)))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs") / "model"
    subwords = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
    about = {"search": {"max_depth": 3, "max_tokens": 8, "beam": 1}}
    save_pretrained(folder, random_model(subwords, 4), subwords, "# Random\n", about=about)
    return folder


def output(name: str, model: Path, source: str, stdin: bytes = b"") -> str:
    arguments = [*name.split(), "-i", source]
    if name in ("generate", "paraphrase", "translate"):
        arguments += ["--model", str(model)]
    done = CliRunner().invoke(app, arguments, input=stdin, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def feed(data: bytes, opened: Callable[[], int]) -> threading.Thread:
    """Write into a pipe in pieces, as a slow program does, and close it."""

    def write() -> None:
        with os.fdopen(opened(), "wb", buffering=0) as stream:
            for at in range(0, len(data), 777):
                stream.write(data[at : at + 777])

    thread = threading.Thread(target=write)
    thread.start()
    return thread


@pytest.mark.parametrize("name", READING)
def test_a_pipe_loses_nothing(name: str, model: Path, tmp_path: Path) -> None:
    data = INPUTS[name]
    plain, fifo = tmp_path / "in.txt", tmp_path / "fifo"
    plain.write_bytes(data)
    expected = output(name, model, str(plain))
    assert expected.count("\n") >= min(data.count(b"\n"), 10)

    reading, writing = os.pipe()
    writer = feed(data, lambda: writing)
    assert output(name, model, f"/dev/fd/{reading}") == expected  # as <(...) and /dev/stdin are
    writer.join()
    os.close(reading)

    os.mkfifo(fifo)
    writer = feed(data, lambda: os.open(fifo, os.O_WRONLY))
    assert output(name, model, str(fifo)) == expected
    writer.join()

    (tmp_path / "in.gz").write_bytes(gzip.compress(data))
    assert output(name, model, str(tmp_path / "in.gz")) == expected
    assert output(name, model, "-", data) == expected
    assert output(name, model, "-", gzip.compress(data)) == expected


def test_the_list_of_commands_is_whole() -> None:
    assert set(READING) == INPUTS.keys()


def test_a_long_file_is_counted_without_being_read_twice(model: Path, tmp_path: Path) -> None:
    """A regular file of many lines goes to several processes; what was read to count it is not lost."""
    lines = "".join(f"He made {number} mistakes.\n" for number in range(530))
    (tmp_path / "in.txt").write_text(lines)
    assert output("generate", model, str(tmp_path / "in.txt")).count("\n") == 530
