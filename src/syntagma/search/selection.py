"""Who stays in a beam where not the best scores alone decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from syntagma.search.hypothesis import Hypothesis, IdTuple
from syntagma.search.options import SearchOptions

_STRUCTURE_DEPTH = 4
"""The last depth whose labels tell structures apart: `<T>`, `<S>`, `<NP> <VP> .`, and what the verb takes."""
_NEW_STRUCTURE = 0.2
"""What another structure is worth beside new pairs of neighbours, in the order of several texts."""


def diverse(ranked: Sequence[Hypothesis], options: SearchOptions) -> list[Hypothesis]:
    """The best under a penalty for tokens shared with those that are kept already, group by group; best first."""
    beam = options.beam
    size = max(1, beam // options.num_beam_groups) if options.num_beam_groups else 1
    waiting, kept = list(ranked), list[Hypothesis]()
    while waiting and len(kept) < beam:
        others = [set(hypothesis.context.ids) for hypothesis in kept]

        def worth(hypothesis: Hypothesis, others: list[set[int]] = others) -> float:
            tokens = set(hypothesis.context.ids)
            shared = max((len(tokens & other) / len(tokens | other) for other in others), default=0.0)
            return hypothesis.score - options.diversity_penalty * shared

        group = sorted(waiting, key=lambda hypothesis: -worth(hypothesis))[: min(size, beam - len(kept))]
        kept += group
        waiting = [hypothesis for hypothesis in waiting if hypothesis not in group]
    return sorted(kept, key=lambda hypothesis: -hypothesis.score)


def structure(hypothesis: Hypothesis, labels: frozenset[int]) -> tuple[IdTuple, ...]:
    """The labels of the contexts that a hypothesis grew from, down to `_STRUCTURE_DEPTH`."""
    contexts = [before for before in hypothesis.history() if before.depth <= _STRUCTURE_DEPTH]
    return tuple(tuple(token for token in before.ids if token in labels) for before in contexts[1:])


def by_structure(ranked: Sequence[Hypothesis], options: SearchOptions, labels: frozenset[int]) -> list[Hypothesis]:
    """The next beam: an equal share of its places for each of the best structures, the rest by score; best first."""
    share = max(1, options.beam // options.num_structures)
    groups: dict[tuple[IdTuple, ...], list[Hypothesis]] = {}
    for hypothesis in ranked:
        groups.setdefault(structure(hypothesis, labels), []).append(hypothesis)
    kept = [hypothesis for group in list(groups.values())[: options.num_structures] for hypothesis in group[:share]]
    chosen = set(kept[: options.beam])
    rest = [hypothesis for hypothesis in ranked if hypothesis not in chosen]
    chosen.update(rest[: options.beam - len(chosen)])
    return [hypothesis for hypothesis in ranked if hypothesis in chosen]


def unlike_each_other(
    ranked: Sequence[Hypothesis], ranks: Mapping[Hypothesis, float], labels: frozenset[int]
) -> list[Hypothesis]:
    """Finished hypotheses in a new order: the best, then always the one whose rank and difference from those before it
    are highest together.
    """
    waiting, chosen = list(ranked[1:]), list(ranked[:1])
    difference = {hypothesis: _difference(hypothesis, chosen[0], labels) for hypothesis in waiting}
    while waiting:
        following = max(waiting, key=lambda hypothesis: ranks[hypothesis] + difference[hypothesis])
        waiting.remove(following)
        chosen.append(following)
        for hypothesis in waiting:
            difference[hypothesis] = min(difference[hypothesis], _difference(hypothesis, following, labels))
    return chosen


def _difference(hypothesis: Hypothesis, other: Hypothesis, labels: frozenset[int]) -> float:
    """The gain of a text for being unlike another: for new pairs of neighbours, and for another structure."""
    restructured = structure(hypothesis, labels) != structure(other, labels)
    return new_pairs(hypothesis.ids, other.ids) + (_NEW_STRUCTURE if restructured else 0.0)


def new_pairs(text: IdTuple, other: IdTuple) -> float:
    """The share of a text's pairs of neighbours that another does not have.

    >>> new_pairs((1, 2, 3), (1, 2, 4)), new_pairs((7,), (1, 2))
    (0.5, 0.0)
    """
    pairs = list(pairwise(text))
    known = set(pairwise(other))
    return sum(pair not in known for pair in pairs) / len(pairs) if pairs else 0.0


def places_by_degree(degrees: int, beam: int) -> list[int]:
    """How many of a beam's places each degree of fulfilment has, from none to all; more degrees than places are merged.

    >>> places_by_degree(0, 5), places_by_degree(1, 5), places_by_degree(2, 5), places_by_degree(7, 3)
    ([5], [2, 3], [1, 1, 3], [1, 1, 1])
    """
    count = min(degrees + 1, beam)
    share = beam // count
    return [*[share] * (count - 1), beam - share * (count - 1)]
