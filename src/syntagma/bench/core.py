"""`syntagma bench core`: reading trees and making levels against `nltk.Tree.fromstring`; memory of a long stream."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from syntagma.bench.report import Measurement, best_of
from syntagma.errors import MissingExtra
from syntagma.files import read_lines
from syntagma.levels import levels
from syntagma.tree import Tree, prune

SMALL, LARGE = 10_000, 1_000_000


def run(data: Path | None = None, *, quick: bool = False) -> Iterator[Measurement]:
    """Rows for reading, reading with levels, and the growth of memory from 10,000 to 1,000,000 trees.

    `data` is a file of trees, one a line; without it, trees are made up.
    """
    try:
        import nltk
    except ImportError:
        raise MissingExtra("nltk", "bench", "the comparison") from None
    lines = list(islice(read_lines(data), SMALL)) if data else list(islice(made_trees(seed=1), SMALL))

    def read() -> None:
        for line in lines:
            Tree.read(line)

    def read_and_level() -> None:
        for line in lines:
            for _ in levels(prune(Tree.read(line))):
                pass

    def peer() -> None:
        for line in lines:
            nltk.Tree.fromstring(line)

    read_time, both_time, peer_time = best_of(5, read, read_and_level, peer)
    count = len(lines)
    yield Measurement(
        "read trees", count / read_time, "trees/s", "nltk reading", count / peer_time, peer_time / read_time
    )
    yield Measurement(
        "read trees and make levels",
        count / both_time,
        "trees/s",
        "nltk reading",
        count / peer_time,
        peer_time / both_time,
    )
    if not quick:
        small, large = (_peak_megabytes(lines, size) for size in (SMALL, LARGE))
        yield Measurement(
            f"peak memory of `levels` on {LARGE:,} trees", large, "MB", f"on {SMALL:,} trees", small, small / large
        )


def _peak_megabytes(lines: list[str], count: int) -> float:
    """The most memory that `syntagma levels` held while it read `count` trees from its standard input."""
    command = [sys.executable, "-m", "syntagma", "levels"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stdin is not None
    with process.stdin as stream:
        for line in islice(cycle(lines), count):
            stream.write(line.encode() + b"\n")
        stream.flush()
        # Not the rusage of the child: that also counts the memory of this process before the child's program began.
        status = Path(f"/proc/{process.pid}/status").read_text()
    if process.wait():
        raise RuntimeError(f"`syntagma levels` ended with {process.returncode}")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024


def made_trees(seed: int) -> Iterator[str]:
    """Random trees of about a sentence's size, for machines without a treebank."""
    chance = random.Random(seed)
    while True:
        yield f"(TOP {_made('S', chance, 6)})"


def _made(label: str, chance: random.Random, depth: int) -> str:
    kinds = {"S": ["NP", "VP"], "VP": ["VB", "NP", "PP"], "PP": ["IN", "NP"], "NP": ["DT", "JJ", "NN"]}
    inside = []
    for kind in kinds[label]:
        if kind in kinds and depth:
            inside.append(_made(kind, chance, depth - 1))
        elif kind not in kinds and (kind != "JJ" or chance.random() < 0.4):
            inside.append(f"({kind} {kind.lower()}{chance.randrange(500)})")
    if label == "NP" and depth and chance.random() < 0.25:
        inside.append(_made("PP", chance, depth - 1))
    return f"({label} {' '.join(inside) or '(NN thing)'})"
