"""A tiny corpus, and what other processes do in these tests (by name, so not in a test's own file)."""

from __future__ import annotations

import json
import os
import resource
from itertools import islice, product
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from syntagma.corpus import Corpus, CorpusOptions, Input, prepare
from syntagma.runs.checkpoint import CheckpointError
from syntagma.train import TrainConfig, train

SUBJECTS = ("I", "you", "the dog", "a cat", "my friend")
VERBS = ("saw", "liked", "ate", "found")
OBJECTS = ("the fish", "an apple", "a house", "the mat", "it", "the dog", "some bread")


def make_corpus(folder: Path, *, pairs: int | None = None, **changes: Any) -> Corpus:
    """Sentences of a toy grammar, each with another one as its paraphrase; only the first so many `pairs`."""
    lines, trees = [], []
    for number, (subject, verb, thing) in enumerate(islice(product(SUBJECTS, VERBS, OBJECTS), pairs)):
        place = " on the mat" if number % 3 == 0 else ""
        lines.append(f"{thing} was what {subject} {verb}{place}\t{subject} {verb} {thing}{place} .")
        tail = f" (PP (IN on) {_phrase('the mat')})" if place else ""
        trees.append(f"(TOP (S {_phrase(subject)} (VP (VBD {verb}) {_phrase(thing)}{tail}) (. .)))")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pairs.tsv").write_text("\n".join(lines) + "\n")
    (folder / "pairs.trees").write_text("\n".join(trees) + "\n")
    options: dict[str, Any] = {
        "inputs": (Input(str(folder / "pairs.tsv")),), "parser": f"brackets:{folder / 'pairs.trees'}",
        "vocab_size": 330, "dev": 20, "seed": 1,
    }  # fmt: skip
    return prepare(CorpusOptions(**options | changes), folder / "corpus", workers=1)


def _phrase(words: str) -> str:
    return f"(NP {' '.join(f'(NN {word})' for word in words.split())})"


def read_log(out: Path, *drop: str) -> list[dict[str, Any]]:
    """The log without what the clock decides."""
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    timed = {"seconds", "tokens_per_second", *drop}
    return [{name: value for name, value in line.items() if name not in timed} for line in lines]


def train_as_torchrun(rank: int, port: int, config: TrainConfig, out: Path) -> None:
    """One process of two, with the environment that `torchrun --nproc-per-node 2` gives it."""
    os.environ |= {
        "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0",
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": "test",
    }  # fmt: skip
    train(config, out, quiet=True)


def train_without_room(config: TrainConfig, out: Path, told: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    try:
        train(config, out, quiet=True)
    except CheckpointError as error:
        told.send(str(error))
