"""`syntagma bench metrics`: figures against sacrebleu's BLEU alone, tree edit distance against apted and edist."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import accumulate, cycle, islice
from pathlib import Path

from syntagma.bench.report import Measurement, best_of
from syntagma.errors import InputError, MissingExtra, Place
from syntagma.files import read_lines
from syntagma.tree import Tree

SEGMENTS, LARGE = 5_000, 100_000
PAIRS, NODES = 200, 15


def run(data: Path | None = None, *, quick: bool = False) -> Iterator[Measurement]:
    """Rows for the time of BLEU, ROUGE and D_lex together, for edit distance, and for memory on 100,000 segments.

    `data` is a file of source<TAB>target lines; without it, sentences are made up.
    """
    pairs = list(islice(cycle(_read_pairs(data) if data else made_pairs(2_000)), SEGMENTS))
    yield from _figures(pairs)
    yield from _edit_distance()
    if not quick:
        small, large = (_peak_megabytes(pairs, size) for size in (SEGMENTS, LARGE))
        yield Measurement(
            f"peak memory of `evaluate` on {LARGE:,} segments", large, "MB", f"on {SEGMENTS:,}", small, small / large
        )


def _figures(pairs: list[tuple[str, str]]) -> Iterator[Measurement]:
    from sacrebleu.metrics.bleu import BLEU

    from syntagma.metrics import Bleu, DLex, Metric, Rouge, Segment
    from syntagma.metrics.evaluation import evaluate

    hyps, refs = [a for a, _ in pairs], [b for _, b in pairs]

    def ours(*kinds: type[Metric]) -> Callable[[], object]:
        return lambda: evaluate([kind() for kind in kinds], ((Segment(a, (b,), a),) for a, b in pairs))

    def theirs() -> object:
        return BLEU(tokenize="none", force=True).corpus_score(hyps, [refs])

    alone, all_three, peer = best_of(5, ours(Bleu), ours(Bleu, Rouge, DLex), theirs)
    count = len(pairs)
    yield Measurement("BLEU", count / alone, "segments/s", "sacrebleu's BLEU", count / peer, peer / alone)
    yield Measurement(
        "BLEU + ROUGE + D_lex", count / all_three, "segments/s", "sacrebleu's BLEU", count / peer, peer / all_three
    )


def _edit_distance() -> Iterator[Measurement]:
    """Single-threaded, the same random trees for all; caches are emptied before every run."""
    from syntagma.tree import edit

    chance = random.Random(1)
    pairs = [(made_tree(chance, NODES), made_tree(chance, NODES)) for _ in range(PAIRS)]

    def ours() -> None:
        edit._distance.cache_clear()
        edit._layouts.cache_clear()
        for a, b in pairs:
            edit.edit_distance(a, b)

    for name, peer in (("apted", _apted(pairs)), ("edist", _edist(pairs))):
        own_time, peer_time = best_of(3, ours, peer)
        rate, rates = PAIRS / own_time, PAIRS / peer_time
        yield Measurement(f"edit distance of {NODES}-node trees", rate, "pairs/s", name, rates, peer_time / own_time)


def _apted(pairs: list[tuple[Tree, Tree]]) -> Callable[[], None]:
    try:
        from apted import APTED
        from apted.helpers import Tree as Peer
    except ImportError:
        raise MissingExtra("apted", "bench", "the comparison") from None

    def braces(tree: Tree) -> str:
        return "".join("}" if item == ")" else "{" + item[1:] for item in tree.walk)

    made = [(Peer.from_text(braces(a)), Peer.from_text(braces(b))) for a, b in pairs]

    def run_all() -> None:
        for a, b in made:
            APTED(a, b).compute_edit_distance()

    return run_all


def _edist(pairs: list[tuple[Tree, Tree]]) -> Callable[[], None]:
    try:
        from edist import ted
    except ImportError:
        raise MissingExtra("edist", "bench", "the comparison") from None

    made = [(*adjacency(a), *adjacency(b)) for a, b in pairs]

    def run_all() -> None:
        for labels_a, below_a, labels_b, below_b in made:
            ted.standard_ted(labels_a, below_a, labels_b, below_b)

    return run_all


def adjacency(tree: Tree) -> tuple[list[str], list[list[int]]]:
    """The labels in preorder and, for each node, where its children are.

    >>> adjacency(Tree("NP", [Tree("DT"), Tree("NN")]))
    (['NP', 'DT', 'NN'], [[1, 2], [], []])
    """
    labels: list[str] = []
    below: list[list[int]] = []
    opened: list[int] = []
    for item in tree.walk:
        if item == ")":
            opened.pop()
            continue
        if opened:
            below[opened[-1]].append(len(labels))
        opened.append(len(labels))
        labels.append(item[1:])
        below.append([])
    return labels, below


def made_tree(chance: random.Random, nodes: int) -> Tree:
    """A random tree without words: each node hangs below one of the last few, so that it is deep and wide."""
    parents = [chance.randrange(max(0, node - 6), node) for node in range(1, nodes)]
    labels = [chance.choice(("S", "NP", "VP", "PP", "NN", "DT")) for _ in range(nodes)]
    walks = [["(" + label] for label in labels]
    for node in range(nodes - 1, 0, -1):
        walks[parents[node - 1]][1:1] = [*walks[node], ")"]
    return Tree.from_walk([*walks[0], ")"])


def _read_pairs(path: Path) -> list[tuple[str, str]]:
    pairs = []
    for number, line in enumerate(read_lines(path), 1):
        source, tab, target = line.partition("\t")
        if not tab:
            raise InputError("there is no tab", Place(str(path), number), "give source<TAB>target lines")
        pairs.append((source, target.split("\t")[0]))
    return pairs


def made_pairs(count: int) -> list[tuple[str, str]]:
    """Sentences of 5 to 20 words of a made-up language, each with a copy in which a third of the words differ."""
    chance = random.Random(1)
    words = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(5_000)]
    zipf = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    pairs = []
    for _ in range(count):
        sentence = chance.choices(words, cum_weights=zipf, k=chance.randint(5, 20))
        other = [chance.choices(words, cum_weights=zipf)[0] if chance.random() < 1 / 3 else word for word in sentence]
        pairs.append((" ".join(sentence), " ".join(other)))
    return pairs


def _peak_megabytes(pairs: list[tuple[str, str]], count: int) -> float:
    """The most memory that `syntagma evaluate` held on `count` segments."""
    with tempfile.TemporaryDirectory() as folder:
        hyp, ref = Path(folder, "hyp"), Path(folder, "ref")
        for path, side in ((hyp, 0), (ref, 1)):
            with open(path, "w", encoding="utf-8") as stream:
                stream.writelines(pair[side] + "\n" for pair in islice(cycle(pairs), count))
        command = [
            sys.executable,
            "-m",
            "syntagma",
            "evaluate",
            "--hyp",
            str(hyp),
            "--ref",
            str(ref),
            "--src",
            str(hyp),
        ]
        command += ["--metrics", "bleu,self_bleu,ibleu,rouge,d_lex", "--json"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"`syntagma evaluate` ended with {process.returncode}")
        return usage.ru_maxrss / 1024
