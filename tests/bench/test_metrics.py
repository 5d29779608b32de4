from __future__ import annotations

import random
from importlib.util import find_spec

import pytest

from syntagma.bench import metrics as bench
from syntagma.bench.report import Measurement
from syntagma.tree import Tree
from syntagma.tree.edit import edit_distance, tree_size

needs_peers = pytest.mark.skipif(
    find_spec("apted") is None or find_spec("edist") is None, reason="apted and edist are not installed"
)


def test_made_trees_have_their_size_and_differ() -> None:
    chance = random.Random(1)
    trees = [bench.made_tree(chance, 15) for _ in range(20)]
    assert {tree_size(tree) for tree in trees} == {15}
    assert len(set(trees)) == 20


def test_adjacency_is_the_same_tree() -> None:
    labels, below = bench.adjacency(Tree("S", [Tree("NP"), Tree("VP", [Tree("NP")])]))
    assert (labels, below) == (["S", "NP", "VP", "NP"], [[1, 2], [], [3], []])


@needs_peers
def test_every_row_has_its_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SEGMENTS", 40)
    monkeypatch.setattr(bench, "PAIRS", 3)
    rows = list(bench.run(quick=True))
    assert [row.peer for row in rows] == ["sacrebleu's BLEU", "sacrebleu's BLEU", "apted", "edist"]
    assert all(isinstance(row, Measurement) and row.ratio == pytest.approx(row.ours / (row.peers or 0)) for row in rows)


@needs_peers
def test_peers_measure_the_same_distance() -> None:
    from edist import ted

    chance = random.Random(2)
    for _ in range(50):
        a, b = (bench.made_tree(chance, chance.randint(1, 15)) for _ in range(2))
        assert edit_distance(a, b) == ted.standard_ted(*bench.adjacency(a), *bench.adjacency(b))
