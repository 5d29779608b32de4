"""A training sentence in other guises: as people type it, or with a constituent of another sentence in it.

People write without capitals and without full stops, and cut text at white space only; a parser that has only seen
edited text fails there.  A constituent that gives way to another one of its label makes a sentence nobody wrote, with a
tree that is right all the same: it keeps the parser from learning its trees by heart.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from syntagma.parse.treebank import TreebankExample
from syntagma.settings import Settings

PUNCTUATION = frozenset({",", ".", ":", "``", "''", "-LRB-", "-RRB-"})


@dataclass(frozen=True)
class Variants(Settings):
    """How often a sentence is shown in another guise; the shares are of all its showings."""

    lower: float = 0.15
    upper: float = 0.02
    no_final: float = 0.10
    no_punctuation: float = 0.06
    joined: float = 0.04
    swapped: float = 0.0
    """A constituent gives way to another one of its label."""


@dataclass(frozen=True, slots=True)
class Constituents:
    """Constituents of other sentences, by label, to put in a sentence's place of that label."""

    by_label: dict[str, list[tuple[TreebankExample, int, int]]]
    """Each as its sentence, its start and its end."""

    @classmethod
    def of(cls, examples: Iterable[TreebankExample], longest: int = 12) -> Constituents:
        """Those of at most `longest` words, whole sentences left out."""
        found: dict[str, list[tuple[TreebankExample, int, int]]] = {}
        for example in examples:
            for (start, end), label in example.spans.items():
                if end - start <= min(longest, len(example.words) - 1):
                    found.setdefault(label, []).append((example, start, end))
        return cls(found)


def vary(
    one: TreebankExample, variants: Variants, chance: random.Random, others: Constituents | None = None
) -> TreebankExample:
    """The sentence as it is, or in another guise; never an empty one."""
    if others is not None and chance.random() < variants.swapped:
        one = swap(one, others, chance)
    draw = chance.random()
    if draw < variants.no_punctuation:
        one = keep_words(one, [tag not in PUNCTUATION for tag in one.tags])
    elif draw < variants.no_punctuation + variants.no_final and one.tags[-1] == ".":
        one = keep_words(one, [True] * (len(one.tags) - 1) + [False])
    if chance.random() < variants.joined:
        one = join_clitics(one)
    draw = chance.random()
    if draw < variants.lower:
        one = TreebankExample(tuple(word.lower() for word in one.words), one.tags, one.spans, one.silver)
    elif draw < variants.lower + variants.upper:
        one = TreebankExample(tuple(word.upper() for word in one.words), one.tags, one.spans, one.silver)
    return one


def keep_words(one: TreebankExample, kept: Sequence[bool]) -> TreebankExample:
    """The sentence with only those words; constituents that come to cover the same words become one chain."""
    if all(kept) or not any(kept):
        return one
    places = [0]
    for keep in kept:
        places.append(places[-1] + keep)
    spans: dict[tuple[int, int], str] = {}
    for (start, end), label in sorted(one.spans.items(), key=lambda item: (item[0][0], -item[0][1])):
        span = places[start], places[end]
        if span[0] < span[1]:
            spans[span] = f"{spans[span]}+{label}" if span in spans else label
    words = tuple(word for word, keep in zip(one.words, kept, strict=True) if keep)
    tags = tuple(tag for tag, keep in zip(one.tags, kept, strict=True) if keep)
    return TreebankExample(words, tags, spans, one.silver)


def join_clitics(one: TreebankExample) -> TreebankExample:
    """`ca n't` and `John 's` as one word each, as text cut at white space has them, tagged as their first half."""
    words = list(one.words)
    kept = [True] * len(words)
    for index in range(1, len(words)):
        if kept[index - 1] and (words[index].lower() == "n't" or one.tags[index] == "POS"):
            words[index - 1] += words[index]
            kept[index] = False
    return keep_words(TreebankExample(tuple(words), one.tags, one.spans, one.silver), kept)


def cut_out(one: TreebankExample, start: int, end: int) -> TreebankExample:
    """A stretch of the sentence with the constituents inside it."""
    inside = {(a - start, b - start): label for (a, b), label in one.spans.items() if start <= a and b <= end}
    return TreebankExample(one.words[start:end], one.tags[start:end], inside, one.silver)


def swap(one: TreebankExample, others: Constituents, chance: random.Random) -> TreebankExample:
    """The sentence with one constituent, not the whole of it, exchanged for another one of its label."""
    places = [place for place, label in one.spans.items() if label in others.by_label and place != (0, len(one.words))]
    if not places:
        return one
    start, end = chance.choice(places)
    new = cut_out(*chance.choice(others.by_label[one.spans[start, end]]))
    longer = len(new.words) - (end - start)
    spans = {(start + a, start + b): label for (a, b), label in new.spans.items()}
    for (a, b), label in one.spans.items():
        if not (start <= a and b <= end):
            spans[a + longer * (a >= end), b + longer * (b >= end)] = label
    words = one.words[:start] + new.words + one.words[end:]
    return TreebankExample(words, one.tags[:start] + new.tags + one.tags[end:], spans, one.silver)
