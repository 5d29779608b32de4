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
        by_label: dict[str, list[tuple[TreebankExample, int, int]]] = {}
        for example in examples:
            for (start, end), label in example.spans.items():
                if end - start <= min(longest, len(example.words) - 1):
                    by_label.setdefault(label, []).append((example, start, end))
        return cls(by_label)


def vary(
    example: TreebankExample, variants: Variants, chance: random.Random, others: Constituents | None = None
) -> TreebankExample:
    """The sentence as it is, or in another guise; never an empty one."""
    if others is not None and chance.random() < variants.swapped:
        example = swap(example, others, chance)
    draw = chance.random()
    if draw < variants.no_punctuation:
        example = keep_words(example, [tag not in PUNCTUATION for tag in example.tags])
    elif draw < variants.no_punctuation + variants.no_final and example.tags[-1] == ".":
        example = keep_words(example, [True] * (len(example.tags) - 1) + [False])
    if chance.random() < variants.joined:
        example = join_clitics(example)
    draw = chance.random()
    if draw < variants.lower:
        example = TreebankExample(
            tuple(word.lower() for word in example.words), example.tags, example.spans, example.silver
        )
    elif draw < variants.lower + variants.upper:
        example = TreebankExample(
            tuple(word.upper() for word in example.words), example.tags, example.spans, example.silver
        )
    return example


def keep_words(example: TreebankExample, kept: Sequence[bool]) -> TreebankExample:
    """The sentence with only those words; constituents that come to cover the same words become one chain."""
    if all(kept) or not any(kept):
        return example
    places = [0]
    for keep in kept:
        places.append(places[-1] + keep)
    spans: dict[tuple[int, int], str] = {}
    for (start, end), label in sorted(example.spans.items(), key=lambda item: (item[0][0], -item[0][1])):
        span = places[start], places[end]
        if span[0] < span[1]:
            spans[span] = f"{spans[span]}+{label}" if span in spans else label
    words = tuple(word for word, keep in zip(example.words, kept, strict=True) if keep)
    tags = tuple(tag for tag, keep in zip(example.tags, kept, strict=True) if keep)
    return TreebankExample(words, tags, spans, example.silver)


def join_clitics(example: TreebankExample) -> TreebankExample:
    """`ca n't` and `John 's` as one word each, as text cut at white space has them, tagged as their first half."""
    words = list(example.words)
    kept = [True] * len(words)
    for index in range(1, len(words)):
        if kept[index - 1] and (words[index].lower() == "n't" or example.tags[index] == "POS"):
            words[index - 1] += words[index]
            kept[index] = False
    return keep_words(TreebankExample(tuple(words), example.tags, example.spans, example.silver), kept)


def cut_out(example: TreebankExample, start: int, end: int) -> TreebankExample:
    """A stretch of the sentence with the constituents inside it."""
    inside = {(a - start, b - start): label for (a, b), label in example.spans.items() if start <= a and b <= end}
    return TreebankExample(example.words[start:end], example.tags[start:end], inside, example.silver)


def swap(example: TreebankExample, others: Constituents, chance: random.Random) -> TreebankExample:
    """The sentence with one constituent, not the whole of it, exchanged for another one of its label."""
    places = [
        place for place, label in example.spans.items() if label in others.by_label and place != (0, len(example.words))
    ]
    if not places:
        return example
    start, end = chance.choice(places)
    new = cut_out(*chance.choice(others.by_label[example.spans[start, end]]))
    longer = len(new.words) - (end - start)
    spans = {(start + a, start + b): label for (a, b), label in new.spans.items()}
    for (a, b), label in example.spans.items():
        if not (start <= a and b <= end):
            spans[a + longer * (a >= end), b + longer * (b >= end)] = label
    words = example.words[:start] + new.words + example.words[end:]
    return TreebankExample(words, example.tags[:start] + new.tags + example.tags[end:], spans, example.silver)
