"""Every command that takes -i reads a file, a pipe, a FIFO, standard input and gzip alike, each once."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from corpus.backtranslation.conftest import MANY, make_translator
from network.backbone.tiny import make_base
from search_models import TEXTS, random_model
from syntagma.cli import app
from syntagma.network.storage import save_pretrained
from syntagma.text import Subwords, split

Output = Callable[..., str]
SENTENCES = "".join(f"He made {number} mistakes.\n" for number in range(30)).encode()
TREES = "".join(f"(S (NP (PRP I)) (VP (VBD saw) (NP (CD {number}))))\n" for number in range(300)).encode()
CLAUSES = "".join(f"He slept because it rained {number} times.\n" for number in range(30)).encode()
INPUTS = {
    "alternate": CLAUSES,
    "generate": SENTENCES,
    "paraphrase": SENTENCES,
    "translate": SENTENCES,
    "parse": SENTENCES,
    "levels": TREES,
    "backtranslate": SENTENCES,
}
LOOSE = [*(f"skip={name}" for name in MANY), "min_similarity=0", "min_sentences=0", "--workers=1"]


def reading(command: Any, name: str = "") -> Iterator[str]:
    """The names of the commands that take -i."""
    for inner, one in getattr(command, "commands", {}).items():
        yield from reading(one, f"{name} {inner}".strip())
    if any("-i" in parameter.opts for parameter in command.params):
        yield name


READING = list(reading(typer.main.get_command(app)))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs") / "model"
    subwords = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
    about = {"search": {"max_depth": 3, "max_tokens": 8, "beam": 1}}
    save_pretrained(folder, random_model(subwords, 4), subwords, "# Random\n", about=about)
    return folder


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("translator")
    return make_translator(make_base(folder / "marian", "marian"), folder / "ctranslate2")


@pytest.fixture
def output(request: pytest.FixtureRequest, tmp_path: Path) -> Output:
    """Run a command on a source; what it writes, to standard output or into its folder."""

    def run(name: str, source: str, stdin: bytes = b"") -> str:
        arguments = [*name.split(), "-i", source]
        if name in ("generate", "paraphrase", "translate"):
            arguments += ["--model", str(request.getfixturevalue("model"))]
        if name == "backtranslate":
            folder = str(request.getfixturevalue("translator"))
            shutil.rmtree(tmp_path / "made", ignore_errors=True)
            arguments += ["--there", folder, "--back", folder, "--out", str(tmp_path / "made"), *LOOSE]
        done = CliRunner().invoke(app, arguments, input=stdin, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout if name != "backtranslate" else judged(tmp_path / "made")

    return run


def judged(made: Path) -> str:
    """The pairs, and the rejects without the file that they come from."""
    pairs = ["\t".join(line.split("\t")[:2]) for line in (made / "pairs.tsv").read_text().splitlines()]
    rejects = [json.loads(line) for line in (made / "rejects.jsonl").read_text().splitlines()]
    return "\n".join(pairs + [json.dumps(reject | {"file": None}) for reject in rejects])


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
def test_a_pipe_loses_nothing(name: str, output: Output, tmp_path: Path) -> None:
    data = INPUTS[name]
    plain, fifo = tmp_path / "in.txt", tmp_path / "fifo"
    plain.write_bytes(data)
    expected = output(name, str(plain))
    assert expected.count("\n") >= min(data.count(b"\n"), 10)

    reading, writing = os.pipe()
    writer = feed(data, lambda: writing)
    assert output(name, f"/dev/fd/{reading}") == expected  # as <(...) and /dev/stdin are
    writer.join()
    os.close(reading)

    os.mkfifo(fifo)
    writer = feed(data, lambda: os.open(fifo, os.O_WRONLY))
    assert output(name, str(fifo)) == expected
    writer.join()

    (tmp_path / "in.gz").write_bytes(gzip.compress(data))
    assert output(name, str(tmp_path / "in.gz")) == expected
    assert output(name, "-", data) == expected
    assert output(name, "-", gzip.compress(data)) == expected


def test_the_list_of_commands_is_whole() -> None:
    assert set(READING) == INPUTS.keys()


def test_a_long_file_is_counted_without_being_read_twice(output: Output, tmp_path: Path) -> None:
    """A regular file of many lines goes to several processes; what was read to count it is not lost."""
    lines = "".join(f"He made {number} mistakes.\n" for number in range(530))
    (tmp_path / "in.txt").write_text(lines)
    assert output("generate", str(tmp_path / "in.txt")).count("\n") == 530
