"""Contexts with their tokens' history, as the network reads them."""

from __future__ import annotations

from syntagma.network.config import preset
from syntagma.network.contexts import AnnotatedContext

TOP, S, NP, VP = LABELS = (5, 6, 7, 8)
CONFIG = preset("tiny", 40, labels=LABELS, label_index=True, history=True)


def test_each_token_keeps_the_label_it_grew_from_and_the_depth_it_came_at() -> None:
    part, eats, dot, he, ham = CONFIG.part, 20, 21, 22, 23
    context = AnnotatedContext.plain([TOP], CONFIG)
    assert context == ([TOP], [1], [0], [0])
    context = context.expand([part, S], 2, CONFIG)
    assert context == ([S], [1], [1], [1])
    context = context.expand([part, NP, VP, dot], 3, CONFIG)
    assert context == ([NP, VP, dot], [1, 2, 0], [2, 2, 2], [2, 2, 2])
    context = context.expand([part, he, part, eats, NP], 4, CONFIG)
    assert context == ([he, eats, NP, dot], [0, 0, 1, 0], [3, 4, 4, 2], [3, 3, 3, 2])
    context = context.expand([part, ham], 5, CONFIG)
    assert context == ([he, eats, ham, dot], [0, 0, 0, 0], [3, 4, 3, 2], [3, 3, 4, 2])
