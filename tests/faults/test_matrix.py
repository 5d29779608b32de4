"""Long commands killed at random moments, or out of room: given again, they end as if nothing had happened."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import random
import re
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import yaml

from corpus.backtranslation.conftest import MANY, make_translator
from faults.child import NO_FAULT, Cost, Fault, run
from faults.disk import KEPT, PAGE, pages
from network.backbone.tiny import make_base
from search_models import random_model
from syntagma.corpus import Corpus
from syntagma.network.storage import save_pretrained
from train.toy import make_corpus

KILLS = 20
"""Of each command, by SIGKILL: half before a random operation on its files, half at a random moment of computing."""
TRAINING = {
    "steps": 8, "batch_tokens": 200, "warmup": 2, "validate_every": 3, "save_every": 2, "log_every": 2, "keep_best": 2,
    "threads": 1, "width": 16,
}  # fmt: skip
COMMANDS = {
    "prepare": "prepare pairs.tsv --trees pairs.trees --out out/made --workers 1 --vocab-size 330 "
    "--dev 4 chunk_rows=12 seed=3",
    "train": "train --preset tiny --data corpus --out out/made --quiet "
    + " ".join(f"{name}={value}" for name, value in TRAINING.items()),
    "distill": "distill corpus --teacher teacher --out out/made --workers 1 --batch-size 2",
    "generate": "generate --model teacher -i sources.txt --out out/made --nbest 2 --batch-size 2 --resume",
    "backtranslate": "backtranslate -i sources.txt --there translator --back translator --out out/made --workers 1 "
    "--chunk-rows 3 --sample 5 --min-similarity 0 --min-sentences 0 "
    + " ".join(f"--skip-filter {name}" for name in MANY),
    "reproduce": "reproduce recipe.yaml --data . --out out/made --resamples 5",
}
RESULTS = {
    "prepare": ["made"],
    "train": ["made/model.safetensors", "made/tokenizer.json"],
    "distill": ["made", "made.pairs"],
    "generate": ["made"],
    "backtranslate": ["made"],
    "reproduce": ["made/corpus", "made/models/guided/model.safetensors", "made/outputs", "made/tables.jsonl"],
}
PAIRS = 24
"""Of the toy corpus, as many as a run of a second can go through."""


@pytest.fixture(scope="module")
def processes() -> Iterator[ForkServerContext]:
    """Processes that begin with everything already loaded."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        [
            "faults.child", "syntagma.train.run", "syntagma.train.distillation", "syntagma.recipes.run",
            "syntagma.corpus.backtranslation.build", "syntagma.runtime.onnx", "syntagma.search.generator",
            "syntagma.parse.facade", "typer._adapters", "torch._dynamo", "onnxruntime", "ctranslate2", "sentencepiece",
        ]
    )  # fmt: skip
    yield context
    forkserver._forkserver._stop()  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus, its pairs and trees, a teacher, a translator, a recipe, and sources."""
    folder = tmp_path_factory.mktemp("faults")
    corpus: Corpus = make_corpus(folder, pairs=PAIRS, dev=4)
    network = random_model(corpus.subwords, 2, "seq2seq")
    about = {"search": {"beam": 2, "max_tokens": 12, "score": "mean"}}
    save_pretrained(folder / "teacher", network, corpus.subwords, "# A teacher\n", about=about)
    sources = [pair.source for pair in corpus.split("train")]
    (folder / "sources.txt").write_text("\n".join(sources) + "\n")
    make_translator(make_base(tmp_path_factory.mktemp("marian"), "marian"), folder / "translator")
    recipe = {
        "title": "A few pairs",
        "hours": "none",
        "train": {"pairs": "pairs.tsv"},
        "tests": {"test": {"pairs": "test.tsv"}},
        "same_language": True,
        "prepare": {"vocab_size": 330, "keep_overlap": True, "dev": 4, "parser": "brackets:pairs.trees"},
        "training": {"preset": "tiny", **TRAINING, "steps": 4},
        "systems": {"guided": {}},
        "rows": {"guided": {"system": "guided", "beam": 2}, "greedy": {"system": "guided", "beam": 1}},
        "metrics": ["bleu", "ibleu"],
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe, sort_keys=False))
    (folder / "test.tsv").write_text("".join((folder / "pairs.tsv").read_text().splitlines(keepends=True)[:4]))
    return folder


def kill_after(process: BaseProcess, seconds: float) -> None:
    """Kill a process as soon as it has computed for so long, unless it ends before."""
    assert process.pid is not None
    clock = (~process.pid << 3) | 2  # clock_getcpuclockid(3), which Python does not have
    with suppress(OSError):  # the process has ended
        while process.is_alive():
            if time.clock_gettime(clock) >= seconds:
                process.kill()
                break
            time.sleep(0.0005)


class Runs:
    """One command, begun again and again in one folder."""

    def __init__(self, name: str, material: Path, folder: Path, processes: ForkServerContext) -> None:
        shutil.copytree(material, folder)
        self.name, self.folder, self.processes = name, folder, processes
        self.out = folder / "out"
        self.begin_anew()

    def begin_anew(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()

    def end(self, fault: Fault = NO_FAULT) -> int | None:
        """Run the command; its exit code, or the signal that has ended it, negative."""
        arguments = COMMANDS[self.name].split()
        process = self.processes.Process(target=run, args=(arguments, self.folder, fault))
        process.start()
        if fault.seconds:
            kill_after(process, fault.seconds)
        process.join(600)
        assert process.exitcode is not None, "it takes too long"
        if (kept := self.folder / KEPT).exists():
            shutil.rmtree(self.out)
            kept.rename(self.out)
        return process.exitcode

    def told(self) -> str:
        return (self.folder / "told").read_text()

    def cost(self) -> Cost:
        return Cost(*json.loads((self.folder / "cost").read_text()))

    def result(self) -> dict[str, str]:
        paths = [self.out / name for name in RESULTS[self.name]]
        files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*")))]
        return {
            str(file.relative_to(self.out)): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in files
            if file.is_file()
        }


@pytest.fixture(scope="module")
def whole(
    request: pytest.FixtureRequest,
    material: Path,
    tmp_path_factory: pytest.TempPathFactory,
    processes: ForkServerContext,
) -> Runs:
    """A command that was never stopped."""
    runs = Runs(request.param, material, tmp_path_factory.mktemp("whole") / "run", processes)
    assert runs.end() == 0, runs.told()
    assert runs.result()
    return runs


def moments(name: str, cost: Cost) -> list[Fault]:
    """Where a command is killed: the same operations in every run of the tests."""
    chance = random.Random(f"kills of {name}")
    half = KILLS // 2
    operations = [Fault(operation=chance.randint(1, cost.operations)) for _ in range(half)]
    return operations + [Fault(seconds=chance.uniform(0.01, cost.seconds)) for _ in range(KILLS - half)]


def killed(runs: Runs, fault: Fault) -> Fault:
    """Begin the command and kill it; where it was done before its moment came, once more and earlier."""
    while True:
        runs.begin_anew()
        end = runs.end(fault)
        if end == -signal.SIGKILL:
            return fault
        assert end == 0, (fault, runs.told())
        assert fault.seconds > 0.001, fault
        fault = Fault(seconds=0.7 * fault.seconds)


@pytest.mark.slow
@pytest.mark.parametrize("whole", COMMANDS, indirect=True)
def test_killed_at_random_moments(whole: Runs, material: Path, tmp_path: Path, processes: ForkServerContext) -> None:
    runs = Runs(whole.name, material, tmp_path / "run", processes)
    expected = whole.result()
    for chosen in moments(whole.name, whole.cost()):
        fault = killed(runs, chosen)
        assert runs.end() == 0, (fault, runs.told())
        assert runs.result() == expected, fault
        assert "Traceback" not in runs.told()
        assert not list(runs.out.rglob("*.part")), fault


@pytest.mark.slow
@pytest.mark.parametrize("whole", COMMANDS, indirect=True)
def test_out_of_room(whole: Runs, material: Path, tmp_path: Path, processes: ForkServerContext) -> None:
    """A disk is full three times, ever later; with room again, the command ends as if it had never been."""
    needed = pages(whole.out)
    runs = Runs(whole.name, material, tmp_path / "run", processes)
    for share in (0.02, 0.4, 0.9):
        assert runs.end(Fault(room=PAGE * max(1, int(share * needed)))) == 1, runs.told()
        check_told(runs)
    assert runs.end() == 0, runs.told()
    assert runs.result() == whole.result()


@pytest.mark.slow
@pytest.mark.parametrize("whole", COMMANDS, indirect=True)
def test_writing_fails(whole: Runs, material: Path, tmp_path: Path, processes: ForkServerContext) -> None:
    """The same where the system lets nobody mount a small disk."""
    runs = Runs(whole.name, material, tmp_path / "run", processes)
    assert runs.end(Fault(room=300, injected=True)) == 1, runs.told()
    check_told(runs)
    assert runs.end() == 0, runs.told()
    assert runs.result() == whole.result()


def check_told(runs: Runs) -> None:
    """See that the last line is the sentence on a full disk."""
    told = [line for line in runs.told().splitlines() if line.strip()]
    assert "Traceback" not in runs.told()
    assert told[-1].startswith("syntagma: "), told
    assert re.search("no space left on device|the disk is full", told[-1]), told
