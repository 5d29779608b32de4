"""Figures of structure: syntactic diversity, how far induced trees agree with a parser's, how often a template is met.

D_syn is the edit distance of two parses, divided by the sum of their sizes.  What is compared is the parse as the
parser gave it, all labels and the parts of speech included, without its words, and only its upper part: the constituent
below the root `TOP` has depth 0, and what lies deeper than 3 is cut off (Bandel et al. 2022, whose measure the paper
uses).

>>> a = Tree.read("(TOP (S (NP (PRP I)) (VP (VBP nod))))")
>>> b = Tree.read("(TOP (S (VP (VB Nod))))")
>>> str(upper(a))
'(S (NP (PRP)) (VP (VBP)))'
>>> round(DSyn().corpus([Segment("Nod", src="I nod", hyp_tree=b, src_tree=a)])[0].value, 1)
37.5
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from syntagma.metrics.base import Array, MeanMetric, Metric, Segment, ratio, sign
from syntagma.tree import KEPT_LABELS, ROOT, Tree, delexicalise, prune
from syntagma.tree.edit import normalised_edit_distance

DEPTH = 3


@lru_cache(maxsize=4096)
def upper(tree: Tree, depth: int | None = DEPTH) -> Tree:
    """The tree without its words and what lies deeper than `depth`, counted from 0 below `TOP`; None cuts nothing.

    The root `TOP` is taken off unless several constituents stand directly below it.
    """
    cut = delexicalise(tree, None if depth is None else depth + 2)
    below = cut.children
    only = below[0] if len(below) == 1 else None
    return only if cut.label == ROOT and isinstance(only, Tree) else cut


class DSyn(MeanMetric):
    """Syntactic diversity: the mean distance of the hypothesis' parse from the source's."""

    names: tuple[str, ...] = ("d_syn",)
    needs = frozenset({"hyp_tree", "src_tree"})
    against = "source"

    def __init__(self, depth: int | None = DEPTH, trees: str = "given") -> None:
        self.depth = depth
        self.trees = trees

    def values(self, segment: Segment) -> Sequence[float]:
        """The distance; a line without a tree is as far as can be from one with a tree."""
        return (self.distance(segment.hyp_tree, segment.src_tree),)

    def distance(self, a: Tree | None, b: Tree | None) -> float:
        """The distance of two parses, from 0 to 1."""
        return normalised_edit_distance(a and upper(a, self.depth), b and upper(b, self.depth))

    def signature(self) -> str:
        """The convention, and where the trees come from."""
        depth = "all" if self.depth is None else f"0-{self.depth}"
        return sign(
            "D_syn",
            against=self.against,
            depth=depth,
            root="below TOP",
            labels="all+POS",
            norm="sum of sizes",
            trees=self.trees,
        )


class DSynRef(DSyn):
    """The mean distance of the hypothesis' parse from the reference's, or from the references' on average."""

    names: tuple[str, ...] = ("d_syn_ref",)
    needs = frozenset({"hyp_tree", "ref_trees"})
    lower_is_better = frozenset({"d_syn_ref"})
    against = "references"

    def values(self, segment: Segment) -> Sequence[float]:
        """The mean distance over the references."""
        distances = [self.distance(segment.hyp_tree, tree) for tree in segment.ref_trees]
        return (sum(distances) / len(distances),)


def labelled_spans(tree: Tree | None, labels: Collection[str] = KEPT_LABELS) -> Counter[tuple[int, int, str]]:
    """The constituents of `labels` as (start, end, label), the root left out.

    >>> sorted(labelled_spans(Tree.read("(TOP (S (NP (PRP I)) (VP (VBP nod))))")))
    [(0, 1, 'NP'), (0, 2, 'S'), (1, 2, 'VP')]
    """
    if tree is None:
        return Counter()
    return Counter((span.start, span.end, span.label) for span in prune(tree, labels).spans()[1:])


class Interpretability(Metric):
    """Labelled precision, recall and F1 of the trees that generation induced, a parser's taken as right.

    Both are pruned to `labels`.  Words need not be the same: a span counts words, so both trees must have as many;
    where they do not, no span of that segment can be right.
    """

    names: tuple[str, ...] = ("tree_precision", "tree_recall", "tree_f1")
    needs = frozenset({"induced", "hyp_tree"})

    def __init__(self, labels: Collection[str] = KEPT_LABELS, trees: str = "given") -> None:
        self.labels = tuple(labels)
        self.trees = trees

    def segment(self, segment: Segment) -> Sequence[float]:
        """Spans in common, induced, parsed."""
        induced, parsed = labelled_spans(segment.induced, self.labels), labelled_spans(segment.hyp_tree, self.labels)
        comparable = (
            segment.induced is not None
            and segment.hyp_tree is not None
            and len(segment.induced) == len(segment.hyp_tree)
        )
        return ((induced & parsed).total() if comparable else 0, induced.total(), parsed.total())

    def score(self, totals: Array) -> Array:
        """The three figures in percent."""
        common, induced, parsed = totals[..., 0], totals[..., 1], totals[..., 2]
        return 100.0 * np.stack(
            [ratio(common, induced), ratio(common, parsed), ratio(2 * common, induced + parsed)], axis=-1
        )

    def signature(self) -> str:
        """The labels, and where the parser's trees come from."""
        return sign("labelled spans", level="corpus", labels="+".join(self.labels), root="no", trees=self.trees)


class TemplateMatch(MeanMetric):
    """How many hypotheses grew in the shape that their template asks for, which hard control guarantees; one without a
    template does not count."""

    names: tuple[str, ...] = ("template_match",)
    needs = frozenset({"induced", "template"})

    def prepare(self, text: str) -> Any:
        """The template that `text` spells."""
        return read_template(text)

    def segment(self, segment: Segment) -> Sequence[float]:
        """The value, and whether there is a template."""
        return (*self.values(segment), 1.0) if segment.template.strip() else (0.0, 0.0)

    def values(self, segment: Segment) -> Sequence[float]:
        """1 where the induced tree matches; a segment without a tree does not."""
        return (float(segment.induced is not None and self.prepare(segment.template).matches_tree(segment.induced)),)

    def signature(self) -> str:
        """The signature: what is matched."""
        return sign("template match", trees="induced")


class ParsedTemplateMatch(TemplateMatch):
    """How many hypotheses a parser too gives the shape that their template asks for."""

    names: tuple[str, ...] = ("template_match_parsed",)
    needs = frozenset({"hyp_tree", "template"})

    def __init__(self, trees: str = "given") -> None:
        self.trees = trees

    def values(self, segment: Segment) -> Sequence[float]:
        """1 where the parser's tree matches; a segment without a tree does not."""
        return (float(segment.hyp_tree is not None and self.prepare(segment.template).matches_tree(segment.hyp_tree)),)

    def signature(self) -> str:
        """Where the parser's trees come from."""
        return sign("template match", trees=self.trees)


@lru_cache(maxsize=1024)
def read_template(text: str) -> Any:
    """The `syntagma.template.Template` that `text` spells; an error says what is wrong with it."""
    from syntagma.template import Template

    return Template.parse(text)
