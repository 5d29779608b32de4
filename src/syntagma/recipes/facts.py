"""Figures of a row that no single sentence has: a model's size, its speed, how much it writes."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from syntagma.files import atomic_write
from syntagma.hub import WEIGHTS
from syntagma.network.folder import ModelFolder
from syntagma.network.weightfile import WeightFile
from syntagma.search import Generator
from syntagma.search.parallel import SearchWork
from syntagma.search.steered import Text
from syntagma.tree import Tree

Facts = dict[str, float]
FACTS = ("params", "speed", "output_tokens")
"""Millions of parameters; sentences a second of one process with one thread; tokens that are written for an output,
brackets, labels and separators among them."""

_MEASURED = 100
"""Sentences that are timed, at most."""
_WARM = 4
_RUNS = 3
"""The best of so many counts: what else runs on a machine makes a program slower and never faster."""


def parameters_of(model: Path) -> float:
    """The millions of weights in a model's folder, without the scales of int8."""
    entries = WeightFile.open(model / WEIGHTS)
    return sum(math.prod(entry.shape) for name, entry in entries.items() if not name.endswith("scale")) / 1e6


def speed_of(work: SearchWork, texts: Sequence[Text]) -> float:
    """Sentences a second of one process with one thread, start-up aside."""
    generator = Generator.from_pretrained(work.model, threads=1)
    options = generator.defaults.changed(work.options)
    measured = texts[:_MEASURED]
    list(generator.stream(measured[:_WARM], options=options, nbest=work.nbest))
    seconds = []
    for _ in range(_RUNS):
        start = time.perf_counter()
        list(generator.stream(measured, options=options, nbest=work.nbest))
        seconds.append(time.perf_counter() - start)
    return len(measured) / min(seconds)


def tokens_of(model: Path, records: Sequence[Mapping[str, Any]]) -> float:
    """The mean number of tokens written for an output: pieces of words, two a constituent, and one a level."""
    vocabulary = ModelFolder.open(model).vocabulary
    counts = []
    for record in records:
        for output in record["hypotheses"][:1]:
            tree = output.get("tree")
            walk = Tree.read(tree).walk if tree else []
            constituents = max(0, sum(item[0] == "(" for item in walk) - 1)
            levels = max(0, len(output.get("levels", ())) - 1)
            counts.append(len(vocabulary.encode(output["text"])) + 2 * constituents + levels)
    return sum(counts) / max(len(counts), 1)


def stored_facts(outputs: Path, mark: str | None = None) -> Facts | None:
    """The facts that are kept beside a row's outputs, whatever they were made from, or None where `mark` is another."""
    path = _path(outputs)
    if not path.exists():
        return None
    kept = json.loads(path.read_text(encoding="utf-8"))
    return kept["facts"] if mark is None or kept["mark"] == mark else None


def store_facts(outputs: Path, mark: str, facts: Facts) -> None:
    """Keep the facts of a row, with what they were made from, so that a table can be made again without its models."""
    with atomic_write(_path(outputs)) as stream:
        json.dump({"facts": facts, "mark": mark}, stream)


def _path(outputs: Path) -> Path:
    return outputs.with_suffix(".facts.json")
