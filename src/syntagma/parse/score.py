"""Bracket scores by the rules of evalb with its COLLINS parameters.

A constituent counts as right when the gold tree has one of the same label over the same words.  The root and the parts
of speech are not counted; punctuation is taken out of both trees first, where the *gold* tree tags it as such, so that
a wrongly tagged comma never makes two trees incomparable; `PRT` counts as `ADVP`.  The tags `?` and `!`, which some
corpora give to what the others tag `.`, are punctuation too, and so are those of German treebanks and `PUNCT`.

>>> gold = Tree.read("(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (PRP her))) (. .)))")
>>> guess = Tree.read("(TOP (S (NP (PRP I)) (VP (VBD saw) (ADJP (PRP her))) (. .)))")
>>> score = compare(gold, guess)
>>> score.matched, score.gold, score.predicted, score.f1
(3, 4, 4, 75.0)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import astuple, dataclass

from syntagma.errors import InputError
from syntagma.tree import Tree
from syntagma.tree.node import CLOSE

PUNCTUATION = frozenset({",", ":", "``", "''", ".", "?", "!", "-NONE-", "$,", "$.", "$*LRB*", "PUNCT"})
SAME_LABEL = {"PRT": "ADVP"}

Bracket = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class BracketScore:
    """Counts over sentences; scores add up."""

    sentences: int = 0
    matched: int = 0
    gold: int = 0
    predicted: int = 0
    exact: int = 0
    crossing: int = 0
    not_crossing: int = 0
    words: int = 0
    right_tags: int = 0

    def __add__(self, other: BracketScore) -> BracketScore:
        return BracketScore(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def precision(self) -> float:
        """Predicted constituents that are right, in per cent."""
        return 100.0 * self.matched / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Gold constituents that were found, in per cent."""
        return 100.0 * self.matched / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 200.0 * self.matched / (self.predicted + self.gold) if self.predicted + self.gold else 0.0

    @property
    def exact_match(self) -> float:
        """Sentences with all constituents right and none too many, in per cent."""
        return 100.0 * self.exact / self.sentences if self.sentences else 0.0

    @property
    def average_crossing(self) -> float:
        """Predicted constituents a sentence that cross a gold one."""
        return self.crossing / self.sentences if self.sentences else 0.0

    @property
    def tagging(self) -> float:
        """Words with the right part of speech, in per cent, punctuation left out."""
        return 100.0 * self.right_tags / self.words if self.words else 0.0

    def figures(self) -> dict[str, float | int]:
        """All figures by name."""
        return {
            "sentences": self.sentences,
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "exact_match": self.exact_match,
            "average_crossing": self.average_crossing,
            "no_crossing": 100.0 * self.not_crossing / self.sentences if self.sentences else 0.0,
            "tagging": self.tagging,
        }


def score_trees(gold: Iterable[Tree], predicted: Iterable[Tree], labels: Collection[str] | None = None) -> BracketScore:
    """The score of parses against gold trees, in the same order; with `labels`, over constituents of these only."""
    total = BracketScore()
    for number, (wanted, tree) in enumerate(zip(gold, predicted, strict=True), 1):
        try:
            total += compare(wanted, tree, labels)
        except InputError as error:
            raise error.at(line=number) from None
    return total


def compare(gold: Tree, predicted: Tree, labels: Collection[str] | None = None) -> BracketScore:
    """The score of one parse."""
    gold_tags, gold_spans = _unfold(gold)
    tags, spans = _unfold(predicted)
    if len(tags) != len(gold_tags):
        what = f"the parse has {len(tags)} words, the gold tree {len(gold_tags)}"
        raise InputError(what, remedy="compare trees over the same words")
    kept = [tag not in PUNCTUATION for tag in gold_tags]
    places = [0]
    for keep in kept:
        places.append(places[-1] + keep)
    wanted = Counter(_brackets(gold_spans, places, labels))
    predicted_brackets = Counter(_brackets(spans, places, labels))
    matched = (wanted & predicted_brackets).total()
    crossing = _crossing(wanted, predicted_brackets)
    return BracketScore(
        sentences=1,
        matched=matched,
        gold=wanted.total(),
        predicted=predicted_brackets.total(),
        exact=int(matched == wanted.total() == predicted_brackets.total()),
        crossing=crossing,
        not_crossing=int(crossing == 0),
        words=places[-1],
        right_tags=sum(keep and a == b for keep, a, b in zip(kept, gold_tags, tags, strict=True)),
    )


def _unfold(tree: Tree) -> tuple[list[str], list[Bracket]]:
    """The tags of the words, and the constituents between the root and the tags with the words they cover."""
    tags: list[str] = []
    spans: list[Bracket] = []
    opened: list[tuple[int, str]] = []
    walk = tree.walk
    for index, item in enumerate(walk):
        if item == CLOSE:
            start, label = opened.pop()
            if opened and not (walk[index - 2][0] == "(" and walk[index - 1] != CLOSE):
                spans.append((start, len(tags), label))
        elif item[0] == "(":
            opened.append((len(tags), item[1:]))
        else:
            tagged = walk[index - 1][0] == "(" and walk[index + 1] == CLOSE and len(opened) > 1
            tags.append(opened[-1][1] if tagged else "")
    return tags, spans


def _brackets(spans: list[Bracket], places: list[int], labels: Collection[str] | None) -> Iterable[Bracket]:
    for start, end, label in spans:
        if (labels is None or label in labels) and places[start] < places[end]:
            yield places[start], places[end], SAME_LABEL.get(label, label)


def _crossing(gold: Counter[Bracket], predicted: Counter[Bracket]) -> int:
    crossing = 0
    for (start, end, _), count in predicted.items():
        if any(a < start < b < end or start < a < end < b for a, b, _ in gold):
            crossing += count
    return crossing
