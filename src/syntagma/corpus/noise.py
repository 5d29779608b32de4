"""Label noise: the paper's experiment on the quality of the grammar."""

from __future__ import annotations

import random
from collections.abc import Sequence

from syntagma.tree import Tree


def with_noise(tree: Tree, labels: Sequence[str], ratio: float, seed: int, key: int) -> Tree:
    """The tree with that ratio of its kept labels, the root aside, each replaced by another kept label.

    What is drawn depends on the seed and the pair's key alone, so it is the same wherever a pair is prepared.

    >>> str(with_noise(Tree.read("(S (NP (PRP I)) (VP (VBP nod)))"), ("S", "NP", "VP", "PP"), 1.0, 1, 7))
    '(TOP (NP (VP (PRP I)) (S (VBP nod))))'
    """
    if ratio <= 0:
        return tree
    draw = random.Random(f"{seed} {key}")
    openings = ["(" + label for label in labels]
    walk = list(tree.walk)
    for index in range(1, len(walk)):
        if walk[index] in openings and draw.random() < ratio:
            walk[index] = draw.choice([other for other in openings if other != walk[index]])
    return Tree.from_walk(walk)
