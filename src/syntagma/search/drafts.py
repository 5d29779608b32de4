"""Drafts: whole texts that a guided model writes in one go, each with another beginning.

A model that has learnt `seq2seq_objective` fills a context of one end mark with a text.  Its likeliest beginnings, each
completed greedily, are other structures, where a beam would be full of texts that differ in a word at their end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from syntagma.network.contexts import AnnotatedContext
from syntagma.runtime.base import IMPOSSIBLE, Mask, Runtime
from syntagma.search.constraints.base import Constraint
from syntagma.search.constraints.budget import WordBudgetConstraint, Written
from syntagma.search.constraints.case import CaseConstraint
from syntagma.search.hypothesis import IdTuple

_FIRST, _SECOND, _ALIKE = 2, 4, 2
"""First pieces looked at for each draft, as some may not begin one; second pieces looked at after each of them; drafts
that may have the same first piece."""


class Draft(NamedTuple):
    """The ids of a text, and their log-probability with the end's."""

    ids: IdTuple
    log_probability: float


class _Unfinished(NamedTuple):
    """The number of its source, its ids so far, the sum of their log-probabilities, and the words it has spent."""

    source: int
    ids: IdTuple
    score: float
    written: Written | None


class DraftRules(NamedTuple):
    """The constraints of a request that hold for its drafts, too."""

    budget: WordBudgetConstraint | None = None
    case: CaseConstraint | None = None

    @staticmethod
    def of(constraints: Sequence[Constraint]) -> DraftRules:
        """Those among all constraints."""
        budget = next((each for each in constraints if isinstance(each, WordBudgetConstraint)), None)
        return DraftRules(budget, next((each for each in constraints if isinstance(each, CaseConstraint)), None))

    def may_begin(self, token: int) -> bool:
        """Whether a draft may begin with a token."""
        return self.case is None or self.case.may_begin(token)

    def spend(self, written: Written | None, token: int) -> Written | None:
        """Count a draft's words after one more token."""
        if self.budget is None:
            return None
        return self.budget.advance(self.budget.after([]) if written is None else written, token)


def write_drafts(
    runtime: Runtime,
    sources: Sequence[Any],
    counts: Sequence[int],
    longest: Sequence[int],
    rules: Sequence[DraftRules] = (),
) -> list[list[Draft]]:
    """For each encoded source some texts, each of its likeliest beginnings completed greedily.

    A beginning is two pieces; at most `_ALIKE` of them have the same first.  The likeliest texts for their length come
    first; those that do not end are left out.
    """
    rules = rules or [DraftRules()] * len(sources)
    config = runtime.config
    state = runtime.open(sources, [AnnotatedContext.plain([config.end], config)] * len(sources))
    live = [_Unfinished(source, (), 0.0, None) for source in range(len(sources))]
    parents = list(range(len(sources)))
    finished: list[list[Draft]] = [[] for _ in sources]
    widths = [_FIRST * max(counts), _SECOND]

    def allows(draft: _Unfinished, token: int) -> bool:
        if not draft.ids:
            return rules[draft.source].may_begin(token)
        return len(draft.ids) < min(longest[draft.source], config.max_positions - 2)

    while live:
        tokens = np.array([[draft.ids[-1] if draft.ids else config.start] for draft in live])
        spent = [(row, token) for row, draft in enumerate(live) if draft.written for token in draft.written.spent]
        mask = _words_or_end(runtime, len(live), spent)
        width = widths.pop(0) if widths else 1
        step = runtime.step(state, np.array(parents), tokens, mask, width)
        state = step.state
        going: list[tuple[int, _Unfinished]] = []
        for row, draft in enumerate(live):
            found = zip(step.tokens[row].tolist(), step.scores[row].tolist(), strict=True)
            for rank, (token, score) in enumerate(found):
                text = Draft((*draft.ids, token), draft.score + score)
                if token == config.end:
                    if draft.ids and not rank:  # an end that is not the likeliest leaves half a sentence
                        finished[draft.source].append(Draft(draft.ids, text.log_probability))
                elif score > IMPOSSIBLE and allows(draft, token):
                    written = rules[draft.source].spend(draft.written, token)
                    going.append((row, _Unfinished(draft.source, *text, written)))
        if width > 1:
            going = _beginnings(going, counts)
        parents, live = [row for row, _ in going], [draft for _, draft in going]
    for drafts, count in zip(finished, counts, strict=True):
        drafts.sort(key=lambda draft: -draft.log_probability / len(draft.ids))
        del drafts[count:]
    return finished


def _beginnings(rows: Sequence[tuple[int, _Unfinished]], counts: Sequence[int]) -> list[tuple[int, _Unfinished]]:
    """The likeliest beginnings of each source, as many as it has drafts; a few of those with the same first piece."""
    kept: list[tuple[int, _Unfinished]] = []
    taken: Counter[int] = Counter()
    alike: Counter[tuple[int, int]] = Counter()
    for row in sorted(rows, key=lambda row: -row[1].score):
        draft = row[1]
        if taken[draft.source] < counts[draft.source] and alike[draft.source, draft.ids[0]] < _ALIKE:
            kept.append(row)
            taken[draft.source] += 1
            alike[draft.source, draft.ids[0]] += 1
    return kept


def _words_or_end(runtime: Runtime, rows: int, denied: Sequence[tuple[int, int]] = ()) -> Mask:
    end = [[token == runtime.config.end for token in runtime.config.controls]]
    return Mask(np.repeat(np.array(end), rows, axis=0), [None] * rows, np.array(denied, np.int64).reshape(-1, 2))
