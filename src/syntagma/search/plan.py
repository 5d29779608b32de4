"""Planned shapes: whole texts that the model writes in one go, each with another beginning.

A beam search over contexts must choose labels before it knows the words that they will hold; a weak model then opens
constituents that it has nothing for.  Parsed, these drafts give complete templates that can be filled.
"""

from __future__ import annotations

import numpy as np

from syntagma.network.contexts import AnnotatedContext
from syntagma.runtime.base import Ids, Mask, Runtime
from syntagma.text.vocabulary import Vocabulary

DRAFTS = 2
"""Drafts written for each shape: some have the same."""
_LONGER = 1.5
"""How many times as long as the source a draft may be, with a few tokens more."""


def write_drafts(runtime: Runtime, vocabulary: Vocabulary, source: Ids, count: int) -> list[str]:
    """Texts for a source, each of the likeliest first pieces completed greedily; the likeliest for their length first.

    A draft that does not end is left out.
    """
    config = runtime.config
    end_only = np.array([[token == config.end for token in config.controls]])

    def mask(rows: int) -> Mask:
        return Mask(np.repeat(end_only, rows, axis=0), [None] * rows)

    handles = runtime.encode([source])
    state = runtime.open(handles, [AnnotatedContext.plain([config.end], config)])
    step = runtime.step(state, np.zeros(1, np.int64), np.array([[config.start]]), mask(1), count)
    drafts = [([int(token)], float(score)) for token, score in zip(step.tokens[0], step.scores[0], strict=True)]
    live, parents = [draft for draft in drafts if draft[0][0] != config.end], np.zeros(len(drafts), np.int64)
    finished: list[tuple[float, list[int]]] = []
    longest = min(round(_LONGER * len(source)) + 5, config.max_positions - 1)
    parents = parents[: len(live)]
    while live and len(live[0][0]) < longest:
        tokens = np.array([[ids[-1]] for ids, _ in live])
        step = runtime.step(step.state, parents, tokens, mask(len(live)), 1)
        following, rows = [], []
        for row, (ids, score) in enumerate(live):
            token, score = int(step.tokens[row, 0]), score + float(step.scores[row, 0])
            if token == config.end:
                finished.append((score / len(ids), ids))
            else:
                following.append(([*ids, token], score))
                rows.append(row)
        live, parents = following, np.array(rows, np.int64)
    return [vocabulary.decode(ids) for _, ids in sorted(finished, key=lambda draft: -draft[0])]
