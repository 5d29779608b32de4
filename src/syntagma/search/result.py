"""Results of a search: text, score, tree, and the trace that explains it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from syntagma.levels import (
    PART,
    TOP,
    Level,
    MalformedInfill,
    Token,
    Tokens,
    expand,
    is_label,
    show,
    split_infill,
    tree_of,
)
from syntagma.search.hypothesis import Hypothesis
from syntagma.text.vocabulary import Vocabulary
from syntagma.text.words import Word, split
from syntagma.tree import ROOT, Tree
from syntagma.tree.node import CLOSE, escape

UNREADABLE = Word("\N{REPLACEMENT CHARACTER}")
"""Stands for a part whose bytes spell no word, which only an untrained model writes."""


@dataclass(frozen=True)
class TraceLevel:
    """One level of a trace: the context, what filled it, the infill's score, and the score of the context it grew."""

    depth: int
    context: Tokens
    infill: Tokens
    infill_score: float
    score: float
    rewarded: bool = False
    edited: bool = False
    part_scores: tuple[float, ...] = ()
    """The log-probability of each part of the infill, where it is known."""
    joins: tuple[str, ...] = ()
    """Where a part goes on with the word before it: `can+not`."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "depth": self.depth,
            "context": show(self.context),
            "infill": show(self.infill),
            "infill_score": self.infill_score,
            "score": self.score,
            "rewarded": self.rewarded,
            "edited": self.edited,
        }


@dataclass(frozen=True)
class Output:
    """A finished hypothesis."""

    text: str
    score: float
    tree: Tree | None
    """The tree it grew from; None for a baseline, which grows none."""
    trace: tuple[TraceLevel, ...]
    rank_score: float | None = None
    """The score that decided its place among the others, where they were reranked."""
    note: str = ""
    """A remark for the user."""

    @property
    def levels(self) -> list[str]:
        """The contexts from the first to the finished words."""
        if not self.trace:
            return []
        last = expand(self.trace[-1].context, self.trace[-1].infill)
        assert not isinstance(last, MalformedInfill)
        return [show(level.context) for level in self.trace] + [show(last)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, as the command line prints them."""
        return {
            "text": self.text,
            "score": self.score,
            "tree": None if self.tree is None else str(self.tree),
            "levels": self.levels,
            **({"note": self.note} if self.note else {}),
        }


def read_out(hypothesis: Hypothesis, first: Tokens, vocabulary: Vocabulary) -> Output:
    """The output that a hypothesis amounts to; `first` is the context from which it grew."""
    trace, rooted, context = read_trace(hypothesis, first, vocabulary)
    text = vocabulary.decode(hypothesis.context.ids)
    levels = [Level(level.context, level.infill) for level in trace[rooted:]]
    return Output(text, hypothesis.score, tree_of(levels) if levels else Tree(ROOT, context), trace)


def unchanged_output(text: str, note: str) -> Output:
    """A source as its own output: its words grow from the root at once, as nothing else is known of it."""
    words = tuple(split(text).texts())
    return Output(text, 0.0, Tree(ROOT, words), (TraceLevel(1, (TOP,), (PART, *words), 0.0, 0.0),), note=note)


def read_trace(
    hypothesis: Hypothesis, first: Tokens, vocabulary: Vocabulary
) -> tuple[tuple[TraceLevel, ...], int, Tokens]:
    """The levels of a hypothesis, finished or not; the level from which its tree grows; the context it has come to.

    The tree grows from the last level whose context the user wrote.
    """
    context: Tokens = tuple(first)
    trace: list[TraceLevel] = []
    rooted = 0
    edited = False
    for grown in hypothesis.history()[1:]:
        if not grown.infill:
            context = tuple(vocabulary.decode_tokens(grown.context.ids))
            rooted, edited = len(trace), True
            continue
        infill = _without_gaps(vocabulary.decode_tokens(grown.infill))
        trace.append(
            TraceLevel(
                grown.depth - 1,
                words_as_text(context),
                words_as_text(infill),
                grown.infill_score,
                grown.score,
                grown.rewarded,
                edited or grown.edited,
                grown.part_scores,
                _joins(context, infill),
            )
        )
        edited = False
        following = expand(context, infill)
        if isinstance(following, MalformedInfill):  # the grammar of infills rules this out
            raise following
        context = following
    return tuple(trace), rooted, words_as_text(context)


def _joins(context: Tokens, infill: Tokens) -> tuple[str, ...]:
    """The words that a part of an infill goes on with, because no space comes before it, or that go on with it."""
    parts = split_infill(infill)
    if isinstance(parts, MalformedInfill):
        return ()
    fresh = iter(parts)
    grown: list[tuple[Token, int]] = []  # each token with the part that it comes from, -1: it was there
    for place, token in enumerate(context):
        grown += [(word, place) for word in next(fresh)] if is_label(token) else [(token, -1)]
    joined = []
    for (before, here), (after, there) in pairwise(grown):
        apart = here == there or not isinstance(before, Word) or not isinstance(after, Word) or after.space
        if not apart and before.text[-1:].isalnum() and after.text[:1].isalnum():
            joined.append(f"{before.text}+{after.text}")
    return tuple(joined)


def read_out_plain(hypothesis: Hypothesis, vocabulary: Vocabulary, linearised: bool) -> Output:
    """The output of a baseline: text alone, or with the tree that it spells in brackets."""
    ids = hypothesis.context.ids
    tree = bracketed(vocabulary.decode_tokens(ids)) if linearised else None
    return Output(vocabulary.decode(ids), hypothesis.score, tree, ())


def bracketed(tokens: Iterable[Token]) -> Tree:
    """The tree of tokens in which a label opens a constituent and `<c>` closes it.

    A `<c>` too many closes nothing, what is left open ends with the tokens.
    """
    walk = ["(" + ROOT]
    depth = 0
    for token in tokens:
        if token is PART and not depth:
            continue
        if token is PART:
            _close(walk)
            depth -= 1
        else:
            depth += is_label(token)
            walk.append("(" + token.name if is_label(token) else escape(token.text))
    for _ in range(depth):
        _close(walk)
    return Tree.from_walk([*walk, CLOSE])


def _close(walk: list[str]) -> None:
    if walk[-1][0] == "(":
        walk.append(UNREADABLE.text)
    walk.append(CLOSE)


def words_as_text(tokens: Iterable[Token]) -> Tokens:
    """Tokens with plain text for words."""
    return tuple(token.text if isinstance(token, Word) else token for token in tokens)


def _without_gaps(tokens: list[Any]) -> Tokens:
    """The infill with a word in every part, also where the bytes written spell none."""
    filled: list[Any] = []
    for token in [*tokens, PART]:
        if token is PART and filled and filled[-1] is PART:
            filled.append(UNREADABLE)
        filled.append(token)
    return tuple(filled[:-1])
