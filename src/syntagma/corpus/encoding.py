"""A pair in the ids of a vocabulary: the one encoder, for a corpus's own subwords and for a backbone's tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from syntagma.levels import PART, Label, Token, levels
from syntagma.text.subwords import Subwords
from syntagma.text.vocabulary import Vocabulary
from syntagma.text.words import Word
from syntagma.tree import Tree
from syntagma.tree.node import CLOSE


class PairIds(NamedTuple):
    """A pair's lists of ids, without start, end or padding, which are the model's business."""

    source: list[int]
    target: list[int]
    linear: list[int]
    """The target's tree: a label opens a constituent, `<c>` closes it; no root."""
    levels: list[int]
    """Context and infill of every level in turn, end to end."""
    sizes: list[int]
    """How long each of them is."""


def encode_pair(source: str, words: Sequence[Word], tree: Tree, vocabulary: Vocabulary) -> PairIds:
    """Encode a source, and a target with its words and its pruned tree."""
    tokens: Sequence[Token] = as_begun(words)
    if isinstance(vocabulary, Subwords):  # a word has the same ids wherever it stands: they are looked up once
        tokens = vocabulary.encode_words(words)
    flat: list[int] = []
    sizes: list[int] = []
    for level in levels(tree, tokens):
        for side in level:
            ids = vocabulary.encode_tokens(side)
            flat += ids
            sizes.append(len(ids))
    target, linear = vocabulary.encode_tokens(tokens), vocabulary.encode_tokens(linearise(tree, tokens))
    return PairIds(vocabulary.encode(source), target, linear, flat, sizes)


def as_begun(words: Sequence[Word]) -> tuple[Word, ...]:
    """The words of a text, which begins as if one space stood before it."""
    return tuple(Word(word.text, word.space if number else " " + word.space) for number, word in enumerate(words))


def linearise(tree: Tree, words: Sequence[Token]) -> list[Token]:
    """A pruned tree as one sequence: `<S> <NP> I <c> <VP> nod <c> <c>`."""
    leaves = iter(words)
    tokens: list[Token] = []
    for item in tree.walk[1:-1]:
        if item == CLOSE:
            tokens.append(PART)
        else:
            tokens.append(Label(item[1:]) if item[0] == "(" else next(leaves))
    return tokens
