"""Who stays in a beam where not the best scores alone decide."""

from __future__ import annotations

from collections.abc import Sequence

from syntagma.search.hypothesis import Hypothesis
from syntagma.search.options import SearchOptions


def diverse(ranked: Sequence[Hypothesis], options: SearchOptions) -> list[Hypothesis]:
    """The best under a penalty for tokens shared with those that are kept already, group by group; best first."""
    beam = options.beam
    size = max(1, beam // options.num_beam_groups) if options.num_beam_groups else 1
    waiting, kept = list(ranked), list[Hypothesis]()
    while waiting and len(kept) < beam:
        others = [set(hypothesis.context.ids) for hypothesis in kept]

        def worth(hypothesis: Hypothesis, others: list[set[int]] = others) -> float:
            mine = set(hypothesis.context.ids)
            shared = max((len(mine & other) / len(mine | other) for other in others), default=0.0)
            return hypothesis.score - options.diversity_penalty * shared

        group = sorted(waiting, key=lambda hypothesis: -worth(hypothesis))[: min(size, beam - len(kept))]
        kept += group
        waiting = [hypothesis for hypothesis in waiting if hypothesis not in group]
    return sorted(kept, key=lambda hypothesis: -hypothesis.score)


def places_by_degree(degrees: int, beam: int) -> list[int]:
    """How many of a beam's places each degree of fulfilment has, from none to all; more degrees than places are merged.

    >>> places_by_degree(0, 5), places_by_degree(1, 5), places_by_degree(2, 5), places_by_degree(7, 3)
    ([5], [2, 3], [1, 1, 3], [1, 1, 1])
    """
    count = min(degrees + 1, beam)
    each = beam // count
    return [*[each] * (count - 1), beam - each * (count - 1)]
