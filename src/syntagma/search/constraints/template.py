"""Templates: a hard one is a constraint on labels, a soft one a reward for contexts that match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from syntagma.levels import PART as OPEN_PART
from syntagma.search.constraints.base import Allowed, Constraint
from syntagma.search.constraints.grammar import LABELS, WORDS, InfillGrammar
from syntagma.search.hypothesis import Hypothesis
from syntagma.template import Guide, Template

if TYPE_CHECKING:
    from syntagma.search.task import InfillTask

Matcher = Callable[[Sequence[int], int], bool]
"""Whether a context's ids at a depth match the soft template."""


class TemplateConstraint(Constraint):
    """The shape of a template, guaranteed from `<T>` down; a context that the user wrote grows freely.

    With several templates each hypothesis has that of its plan.
    """

    reason = "has another shape than the template"
    strict = True
    reserve = 64
    slow = True

    def __init__(self, templates: Sequence[Template], grammar: InfillGrammar) -> None:
        self.grammar = grammar
        self._starts: list[Guide | None] = [template.guide() for template in templates]
        self._known: dict[Hypothesis, Guide | None] = {}

    def begin(self, task: InfillTask) -> Guide | None:
        """The guide before an infill; None where the user's own context has taken the template's place."""
        return self.guide(task.hypothesis) if self.follows(task.hypothesis) else None

    def follows(self, hypothesis: Hypothesis) -> bool:
        """Whether a hypothesis grew from `<T>` without the user's own contexts."""
        first, *grown = hypothesis.history()
        return first.context.ids == [self.grammar.config.labels[0]] and all(hypothesis.infill for hypothesis in grown)

    def guide(self, hypothesis: Hypothesis) -> Guide | None:
        """The guide after all infills of a hypothesis; None where they have not the template's shape."""
        if hypothesis.parent is None:
            return self._starts[hypothesis.plan]
        if hypothesis not in self._known:
            following = self.guide(hypothesis.parent)
            for token in hypothesis.infill:
                following = self.advance(following, token)
            self._known[hypothesis] = following.next_level() if following is not None else None
        return self._known[hypothesis]

    def mask(self, state: Guide | None, allowed: Allowed) -> None:
        """A part may not end before it holds the template's constituents.

        When its tokens run out, only those may still come, which takes a few tokens more than it has left.
        """
        place = allowed.state
        if place.written < 0 or state is None:
            return
        labels, end = state.allowed
        if not place.must_close:
            allowed.kinds = WORDS | (LABELS if labels and place.labels else 0)
            if end and place.written:
                allowed.kinds |= place.closing
        elif end:
            allowed.kinds = place.closing if place.written else WORDS
        else:
            allowed.kinds = LABELS if place.labels else 0
            labels = state.needed
        if allowed.kinds & LABELS:
            ids = self.grammar.label_ids
            allowed.labels = frozenset(ids[name] for name in labels)

    def advance(self, state: Guide | None, token: int) -> Guide | None:
        """The guide after one more token; words change nothing, a label that the user pinned may have no place."""
        if state is not None and token == self.grammar.config.part:
            return state.follow(OPEN_PART)
        if state is not None and token in self.grammar.names:
            return state.follow(self.grammar.names[token])
        return state

    def keep(self, hypothesis: Hypothesis) -> bool:
        """Whether a context has the template's shape so far."""
        return not self.follows(hypothesis) or self.guide(hypothesis) is not None


def matcher(template: Template, grammar: InfillGrammar) -> Matcher:
    """Which contexts a soft template rewards."""
    names = grammar.names

    def matches(ids: Sequence[int], depth: int) -> bool:
        return depth <= template.depth and template.matches([names[token] for token in ids if token in names], depth)

    return matches
