"""Planned shapes: those of whole texts that the model writes in one go, each with another beginning.

A search from `<T>` down chooses labels before it knows the words that they will hold, and a model that has seen little
opens constituents that it has nothing for.  The tree of a draft is a complete template that can be filled.  The words
of the draft are forgotten: the text grows as it does under any hard template.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from syntagma.errors import ConfigError
from syntagma.network.contexts import AnnotatedContext
from syntagma.runtime.base import Mask, Runtime
from syntagma.search.constraints.budget import WordBudgetConstraint, Written
from syntagma.search.constraints.grammar import InfillGrammar
from syntagma.search.constraints.template import TemplateConstraint
from syntagma.template import Template
from syntagma.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from syntagma.search.request import SearchRequest
    from syntagma.search.steering import Steerer

_DRAFTS = 2
"""Drafts written for each shape, as some have the same."""
_LONGER, _MORE = 1.5, 5
"""How long a draft may become: so many times its source, and some tokens more."""


class _Draft(NamedTuple):
    """The number of its source, its ids so far, the sum of their log-probabilities, and the words it has spent."""

    source: int
    ids: tuple[int, ...]
    score: float
    written: Written | None


class Planner:
    """Finds shapes for the requests of one generator."""

    def __init__(self, vocabulary: Vocabulary, grammar: InfillGrammar, steerer: Steerer) -> None:
        if not steerer.capabilities.scores_texts:
            remedy = "use num_plans=0, or a model trained with seq2seq_objective=true"
            raise ConfigError("this model has not learnt to write the drafts that shapes are planned by", remedy=remedy)
        self.vocabulary, self.grammar, self.steerer = vocabulary, grammar, steerer

    def plan(self, requests: Sequence[SearchRequest], runtime: Runtime) -> None:
        """Have requests, whose sources are encoded, grow in the shapes of their drafts, the likeliest first."""
        plans = [min(request.options.num_plans, request.options.beam) for request in requests]
        counts = [_DRAFTS * count for count in plans]
        longest = [round(_LONGER * len(request.source)) + _MORE for request in requests]
        sources = [request.encoded for request in requests]
        drafts = write_drafts(runtime, sources, counts, longest, [_budget(request) for request in requests])
        texts = [(self.vocabulary.decode(ids), None) for own in drafts for ids in own]
        shapes = iter(self.steerer.exemplar_shapes(texts))
        for request, own, count, most in zip(requests, drafts, plans, longest, strict=True):
            fitting = [shape for _, shape in zip(own, shapes, strict=False) if shape.depth <= request.options.max_depth]
            chosen = list(dict.fromkeys(fitting))[:count]
            # An infill is no longer than a draft, the labels of its tree, and a part for each of them.
            limit = most + 2 * max((str(shape).count("(") for shape in chosen), default=0)
            request.follow(self._constraint(chosen) if chosen else None, len(chosen), limit)

    def _constraint(self, shapes: Sequence[Template]) -> TemplateConstraint:
        constraint = TemplateConstraint(shapes, self.grammar)
        constraint.slow = False  # a shape without gaps leaves no choice of labels
        return constraint


def plan(requests: Sequence[SearchRequest], runtime: Runtime) -> None:
    """Find the shapes of requests that are to have some; their sources are encoded."""
    for planner in dict.fromkeys(request.planner for request in requests):
        if planner is not None:
            planner.plan([request for request in requests if request.planner is planner], runtime)


def _budget(request: SearchRequest) -> WordBudgetConstraint | None:
    """The budget of words of a request, if it has one."""
    return next((each for each in request.fixed_constraints if isinstance(each, WordBudgetConstraint)), None)


def write_drafts(
    runtime: Runtime,
    sources: Sequence[Any],
    counts: Sequence[int],
    longest: Sequence[int],
    budgets: Sequence[WordBudgetConstraint | None] = (),
) -> list[list[tuple[int, ...]]]:
    """For each encoded source the ids of texts, each of its likeliest first pieces completed greedily.

    The likeliest for their length come first; those that do not end are left out.  Words keep within `budgets`.
    """
    budgets = budgets or [None] * len(sources)
    config = runtime.config
    state = runtime.open(sources, [AnnotatedContext.plain([config.end], config)] * len(sources))
    rows, start = np.arange(len(sources)), np.full((len(sources), 1), config.start)
    step = runtime.step(state, rows, start, _words_or_end(runtime, len(sources)), max(counts))
    live = [
        _Draft(source, (int(token),), float(score), _spend(budgets[source], None, int(token)))
        for source, count in enumerate(counts)
        for token, score in zip(step.tokens[source, :count], step.scores[source, :count], strict=True)
        if token != config.end
    ]
    parents = [draft.source for draft in live]
    finished: list[list[tuple[float, tuple[int, ...]]]] = [[] for _ in sources]
    while live:
        tokens = np.array([[draft.ids[-1]] for draft in live])
        spent = [(row, token) for row, draft in enumerate(live) if draft.written for token in draft.written.spent]
        mask = _words_or_end(runtime, len(live), spent)
        step = runtime.step(step.state, np.array(parents), tokens, mask, 1)
        going: list[_Draft] = []
        parents = []
        for row, (source, ids, before, written) in enumerate(live):
            token, score = int(step.tokens[row, 0]), before + float(step.scores[row, 0])
            if token == config.end:
                finished[source].append((score / len(ids), ids))
            elif len(ids) < min(longest[source], config.max_positions - 2):
                going.append(_Draft(source, (*ids, token), score, _spend(budgets[source], written, token)))
                parents.append(row)
        live = going
    return [[ids for _, ids in sorted(drafts, key=lambda draft: -draft[0])] for drafts in finished]


def _spend(budget: WordBudgetConstraint | None, written: Written | None, token: int) -> Written | None:
    """Count a draft's words after one more token."""
    if budget is None:
        return None
    return budget.advance(budget.after([]) if written is None else written, token)


def _words_or_end(runtime: Runtime, rows: int, denied: Sequence[tuple[int, int]] = ()) -> Mask:
    end = [[token == runtime.config.end for token in runtime.config.controls]]
    return Mask(np.repeat(np.array(end), rows, axis=0), [None] * rows, np.array(denied, np.int64).reshape(-1, 2))
