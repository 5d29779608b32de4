"""Planned shapes: those of whole texts that the model writes in one go, each with another beginning.

A search from `<T>` down chooses labels before it knows the words that they will hold, and a model that has seen little
opens constituents that it has nothing for.  The tree of a draft is a complete template that can be filled.  With
`num_plans` the words of drafts are forgotten, and texts grow in their shapes as they do under any hard template.  Of
`num_drafts` drafts the best compete themselves, scored level by level as what is grown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from syntagma.errors import ConfigError
from syntagma.levels import levels
from syntagma.network.contexts import AnnotatedContext
from syntagma.runtime.base import Runtime
from syntagma.search.constraints.base import Constraint, KnownInfill
from syntagma.search.constraints.draft import DraftConstraint
from syntagma.search.constraints.grammar import InfillGrammar
from syntagma.search.constraints.template import TemplateConstraint
from syntagma.search.drafts import Draft, DraftRules, write_drafts
from syntagma.search.hypothesis import Hypothesis, IdTuple
from syntagma.search.known import KnownLevel, score_levels
from syntagma.search.options import SearchOptions
from syntagma.search.request import SearchRequest, fits
from syntagma.search.rerank import text_values
from syntagma.search.steering import parsed
from syntagma.template import Template
from syntagma.text.vocabulary import Vocabulary
from syntagma.text.words import Word, split
from syntagma.tree import Tree, prune

if TYPE_CHECKING:
    from syntagma.search.steering import Steerer

_DRAFTS = 2
"""Drafts written for each shape, as some have the same."""
_COMPETING, _SPARE = 2, 2
"""Drafts that compete for each text that is asked for; drafts whose trees are read beside them."""
_LONGER, _MORE = 1.5, 5
"""How long a draft may become: so many times its source, and some tokens more."""


class _Read(NamedTuple):
    """A draft, parsed."""

    shape: Template
    tree: Tree
    text: str


class _Known(NamedTuple):
    """A draft's shape and its infills, with their scores."""

    shape: Template
    infills: list[KnownInfill]


class Planner:
    """Finds shapes for the requests of one generator."""

    def __init__(self, vocabulary: Vocabulary, grammar: InfillGrammar, steerer: Steerer) -> None:
        if not steerer.capabilities.scores_texts:
            remedy = "use num_plans=0 and num_drafts=0, or a model trained with seq2seq_objective=true"
            raise ConfigError("this model has not learnt to write drafts", remedy=remedy)
        self.vocabulary, self.grammar, self.steerer = vocabulary, grammar, steerer

    def plan(self, requests: Sequence[SearchRequest], runtime: Runtime) -> None:
        """Have requests, whose sources are encoded, grow in the shapes of their drafts, the best first."""
        plans = [min(request.options.num_plans, request.options.beam) for request in requests]
        written = [request.options.num_drafts for request in requests]
        kept = [min(count, _COMPETING * request.wanted) for count, request in zip(written, requests, strict=True)]
        counts = [max(_DRAFTS * count, whole) for count, whole in zip(plans, written, strict=True)]
        longest = [round(_LONGER * len(request.source)) + _MORE for request in requests]
        sources = [request.encoded for request in requests]
        rules = [DraftRules.of(request.fixed_constraints) for request in requests]
        drafts = ordered(requests, write_drafts(runtime, sources, counts, longest, rules), runtime)
        drafts = [
            own if count else self._to_read(request, own, few)
            for request, own, count, few in zip(requests, drafts, plans, kept, strict=True)
        ]
        texts = [self.vocabulary.decode(ids) for own in drafts for ids in own]
        read = (_Read(self._shape(tree), tree, text) for tree, text in zip(parsed(texts), texts, strict=True))
        fitting: list[list[_Read]] = []
        competing: list[list[_Read]] = []
        for request, own, few in zip(requests, drafts, kept, strict=True):
            deepest = request.options.max_depth
            fitting.append([draft for _, draft in zip(own, read, strict=False) if draft.shape.depth <= deepest])
            competing.append([draft for draft in fitting[-1] if request.lexical.met_by(draft.text)][:few])
        infills = self._known(requests, competing, runtime)
        for request, readable, whole, most in zip(requests, fitting, infills, longest, strict=True):
            count = min(_shapes(request.options, len(whole)), request.options.beam)
            shapes = list(dict.fromkeys(draft.shape for draft in readable))[:count]
            # An infill is no longer than a draft, the labels of its tree, and a part for each of them.
            limit = most + 2 * max((str(draft.shape).count("(") for draft in readable), default=0)
            request.follow(self._constraints(shapes, whole), len(shapes), len(whole), limit)

    def _to_read(self, request: SearchRequest, drafts: Sequence[IdTuple], few: int) -> list[IdTuple]:
        """The best of drafts, those first that hold what they must, and some more, as a tree may be too deep."""
        if request.lexical.any:
            drafts = sorted(drafts, key=lambda ids: not request.lexical.met_by(self.vocabulary.decode(ids)))
        return list(drafts[: few + _SPARE])

    def _shape(self, tree: Tree) -> Template:
        return Template.from_tree(tree, labels=self.vocabulary.labels)

    def _known(
        self, requests: Sequence[SearchRequest], drafts: Sequence[Sequence[_Read]], runtime: Runtime
    ) -> list[list[_Known]]:
        """The scored infills of each request's drafts; without those that outgrow the model."""
        grown = [
            [(draft.shape, self._levels(request, draft)) for draft in own]
            for request, own in zip(requests, drafts, strict=True)
        ]
        scored = iter(score_levels([level for own in grown for _, levels in own for level in levels], runtime))
        return [[_Known(shape, [next(scored) for _ in levels]) for shape, levels in own if levels] for own in grown]

    def _constraints(self, shapes: Sequence[Template], drafts: Sequence[_Known]) -> list[Constraint]:
        """Each shape is that of a plan; then each draft has a plan of its own."""
        if not shapes and not drafts:
            return []
        template = TemplateConstraint([*shapes, *(draft.shape for draft in drafts)], self.grammar)
        template.slow = False  # a shape without gaps leaves no choice of labels
        if not drafts:
            return [template]
        return [template, DraftConstraint([draft.infills for draft in drafts], len(shapes), self.grammar)]

    def _levels(self, request: SearchRequest, draft: _Read) -> list[KnownLevel]:
        """The levels of a draft's tree, from `<T>` down; none where the model has no room for one."""
        first, *rest = split(draft.text).words
        words = [Word(first.text), *rest]  # a text begins as if a space stood before it
        known: list[KnownLevel] = []
        grown = request.start
        for level in levels(prune(draft.tree, self.vocabulary.labels), words):
            infill = tuple(self.vocabulary.encode_tokens(level.infill))
            if not fits(grown.ids, request.config, request.source) or len(infill) + 2 > request.config.max_positions:
                return []
            known.append(KnownLevel(request.encoded, grown.context, infill))
            grown = Hypothesis(request.expanded(grown, infill), 0.0, grown.depth + 1)
        return known


def plan(requests: Sequence[SearchRequest], runtime: Runtime) -> None:
    """Find the shapes of requests that are to have some; their sources are encoded."""
    for planner in dict.fromkeys(request.planner for request in requests):
        if planner is not None:
            planner.plan([request for request in requests if request.planner is planner], runtime)


def ordered(
    requests: Sequence[SearchRequest], drafts: Sequence[Sequence[Draft]], runtime: Runtime
) -> list[list[IdTuple]]:
    """The texts of drafts, those first that a request's constraints keep, and of these the best of their reranking."""
    for request, own in zip(requests, drafts, strict=True):
        request.known_scores |= {(request.source, draft.ids): draft.log_probability for draft in own}
    values = text_values(requests, [[draft.ids for draft in own] for own in drafts], runtime)
    best = []
    for request, worth in zip(requests, values, strict=True):
        by_worth = sorted(worth, key=lambda ids: -worth[ids])
        best.append(sorted(by_worth, key=lambda ids: not _fair(ids, request)))
    return best


def _shapes(options: SearchOptions, drafts: int) -> int:
    """How many shapes to grow in; one at least where no draft has all that it must, or the source may not come back."""
    return max(options.num_plans, not drafts or not options.copy_fallback)


def _fair(ids: IdTuple, request: SearchRequest) -> bool:
    finished = Hypothesis(AnnotatedContext.plain(list(ids), request.config), 0.0, 1)
    return all(constraint.keep(finished) for constraint in request.fixed_constraints)
