"""How often an edited context was followed: the edit's words form the constituent that it asked for.

>>> asked = '{"kind": "pp", "start": "<NP> <VP> <PP> .", "first": 2, "tokens": 1, "label": "PP"}'
>>> grown = Tree.read("(T (NP He) (VP left) (PP with (NP her)) .)")
>>> parsed = Tree.read("(TOP (S (NP (PRP He)) (VP (VBD left) (PP (IN with) (NP (PRP her)))) (. .)))")
>>> EditFollowed().corpus([Segment("He left with her .", induced=grown, hyp_tree=parsed, edit=asked)])[0].value
100.0
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from syntagma.metrics.base import MeanMetric, Segment, sign
from syntagma.metrics.trees import labelled_spans
from syntagma.tree import KEPT_LABELS, ROOT, Tree

_QUESTIONS = ("SQ", "SBARQ")


class EditFollowed(MeanMetric):
    """How many texts, grown from an edited context, a parser gives the constituent that the edit asked for.

    A segment without an edit does not count.  An edit that asks for a question (`SQ`) wants the whole to be one; any
    other wants the words that stand, or have grown, in its place to be a constituent of its label.
    """

    names: tuple[str, ...] = ("edit_followed",)
    needs = frozenset({"edit", "induced", "hyp_tree"})

    def __init__(self, trees: str = "given") -> None:
        self.trees = trees

    def segment(self, segment: Segment) -> Sequence[float]:
        """Whether it was followed, and whether there was an edit."""
        return (float(bool(segment.edit) and self._followed(segment)), float(bool(segment.edit)))

    @staticmethod
    def _followed(segment: Segment) -> bool:
        induced, parsed = segment.induced, segment.hyp_tree
        if induced is None or parsed is None or len(induced) != len(parsed):
            return False
        edit = json.loads(segment.edit)
        if edit["label"] == "SQ":
            below = parsed.children[0] if parsed.label == ROOT else parsed
            return isinstance(below, Tree) and below.label in _QUESTIONS
        sizes = [len(child.words()) if isinstance(child, Tree) else 1 for child in induced.children]
        start = sum(sizes[: edit["first"]])
        end = start + sum(sizes[edit["first"] : edit["first"] + edit["tokens"]])
        return (start, end, edit["label"]) in labelled_spans(parsed, {*KEPT_LABELS, edit["label"]})

    def signature(self) -> str:
        """The parser that decides."""
        return sign("edit followed", trees=self.trees)
