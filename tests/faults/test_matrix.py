"""Long commands killed at random moments, or out of room: given again, they end as if nothing had happened."""

from __future__ import annotations

import hashlib
import multiprocessing
import random
import shutil
import signal
import time
from collections.abc import Iterator
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from faults.child import run
from search_models import random_model
from syntagma.corpus import Corpus
from syntagma.network.storage import save_pretrained
from train.toy import make_corpus

KILLS = 5
PREPARE = (
    "prepare pairs.tsv --trees pairs.trees --out out/made --workers 1 --vocab-size 330 --chunk-rows 12 --dev 8 --seed 3"
)
TRAIN = (
    "train --preset tiny --data corpus --out out/made --quiet steps=24 batch_tokens=400 warmup=4 validate_every=7 "
    "save_every=3 log_every=3 keep_best=2 threads=1"
)
COMMANDS = {
    "prepare": PREPARE,
    "train": TRAIN,
    "distill": "distill corpus --teacher teacher --out out/made --workers 1 --batch-size 2",
    "generate": "generate --model teacher -i sources.txt --out out/made --nbest 2 --batch-size 2 --resume",
}
RESULTS = {
    "prepare": ["made"],
    "train": ["made/model.safetensors", "made/tokenizer.json"],
    "distill": ["made", "made.pairs"],
    "generate": ["made"],
}


@pytest.fixture(scope="module")
def processes() -> Iterator[ForkServerContext]:
    """Processes that begin with everything already loaded."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["faults.child", "syntagma.train.run", "syntagma.train.distillation", "torch._dynamo"]
    )
    yield context
    forkserver._forkserver._stop()  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus, its pairs and trees, a teacher, and sources."""
    folder = tmp_path_factory.mktemp("faults")
    corpus: Corpus = make_corpus(folder)
    network = random_model(corpus.subwords, 2, "seq2seq")
    about = {"search": {"beam": 2, "max_tokens": 12, "score": "mean"}}
    save_pretrained(folder / "teacher", network, corpus.subwords, "# A teacher\n", about=about)
    sources = [pair.source for pair in corpus.split("train")]
    (folder / "sources.txt").write_text("\n".join(sources) + "\n")
    return folder


class Runs:
    """One command, begun again and again in one folder."""

    def __init__(self, name: str, material: Path, folder: Path, processes: ForkServerContext) -> None:
        shutil.copytree(material, folder)
        self.name, self.folder, self.processes = name, folder, processes
        self.out = folder / "out"
        self.out.mkdir()

    def begin(self, largest: int | None = None) -> multiprocessing.context.ForkServerProcess:
        arguments = COMMANDS[self.name].split()
        process = self.processes.Process(target=run, args=(arguments, self.folder, largest))
        process.start()
        return process

    def end(self, largest: int | None = None) -> int | None:
        process = self.begin(largest)
        process.join(120)
        return process.exitcode

    def size(self) -> int:
        """Bytes written so far; what is removed meanwhile does not matter."""
        total = 0
        for path in self.out.rglob("*"):
            try:
                total += path.stat().st_size
            except OSError:
                continue
        return total

    def told(self) -> str:
        return (self.folder / "told").read_text()

    def result(self) -> dict[str, str]:
        paths = [self.out / name for name in RESULTS[self.name]]
        files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*")))]
        return {
            str(file.relative_to(self.out)): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in files
            if file.is_file()
        }


@pytest.fixture(scope="module")
def whole(material: Path, tmp_path_factory: pytest.TempPathFactory, processes: ForkServerContext) -> dict[str, Runs]:
    """Each command, never stopped."""
    folder = tmp_path_factory.mktemp("whole")
    runs = {name: Runs(name, material, folder / name, processes) for name in COMMANDS}
    for one in runs.values():
        assert one.end() == 0, one.told()
    return runs


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_random_moments(
    name: str, whole: dict[str, Runs], material: Path, tmp_path: Path, processes: ForkServerContext
) -> None:
    chance = random.Random(f"kills of {name}")
    runs = Runs(name, material, tmp_path / "run", processes)
    kills = 0
    for share in sorted(chance.random() for _ in range(KILLS)):
        process = runs.begin()
        until = share * whole[name].size()
        while process.is_alive() and runs.size() < until:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.02)
        process.kill()
        process.join()
        kills += process.exitcode == -signal.SIGKILL
    assert kills >= 2
    assert runs.end() == 0, runs.told()
    assert runs.result() == whole[name].result()
    assert "Traceback" not in runs.told()
    assert not list(runs.out.rglob("*.part"))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_out_of_room(
    name: str, whole: dict[str, Runs], material: Path, tmp_path: Path, processes: ForkServerContext
) -> None:
    """A file that may not grow further is what a full disk is to a program: a write that fails."""
    largest = max(path.stat().st_size for path in whole[name].out.rglob("*") if path.is_file())
    runs = Runs(name, material, tmp_path / "run", processes)
    for share in (0.02, 0.4, 0.9):
        assert runs.end(largest=max(200, int(share * largest))) == 1
        told = [line for line in runs.told().splitlines() if line.strip()]
        assert "Traceback" not in runs.told()
        assert told[-1].startswith("syntagma: ")
        assert "file too large" in " ".join(told[-3:]).lower()
    assert runs.end() == 0, runs.told()
    assert runs.result() == whole[name].result()
