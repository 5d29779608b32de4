"""Lexical constraints: words and labels that must or must not appear.

A forbidden word is never written: the piece that would complete it is masked, wherever the word would stand (so a
longer word that begins with the same pieces is ruled out too).  A required word is guaranteed: an infill that would
finish the text without it may not end, its pieces are always among the ways considered, and a beam keeps a place for
the best hypothesis with each number of required pieces written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from syntagma.errors import ConfigError
from syntagma.text.vocabulary import Vocabulary
from syntagma.text.words import Word, split

Ids = tuple[int, ...]
Ranked = TypeVar("Ranked")


@dataclass(frozen=True)
class Wishes:
    """What one search must and must not write, in ids; each required word in all its spellings."""

    required: tuple[tuple[Ids, ...], ...] = ()
    forbidden: tuple[Ids, ...] = ()
    required_labels: tuple[int, ...] = ()
    forbidden_labels: tuple[int, ...] = ()

    @staticmethod
    def of(
        vocabulary: Vocabulary,
        must: Sequence[str] = (),
        must_not: Sequence[str] = (),
        labels: Sequence[str] = (),
        not_labels: Sequence[str] = (),
    ) -> Wishes:
        """The wishes that a user writes as words and label names."""
        wishes = Wishes(
            tuple(spellings(word, vocabulary) for word in must),
            tuple(ids for word in must_not for ids in spellings(word, vocabulary)),
            tuple(vocabulary.label_id(label) for label in labels),
            tuple(vocabulary.label_id(label) for label in not_labels),
        )
        for word in must:
            if word in must_not:
                raise ConfigError(f"{word!r} must and must not appear", remedy="decide on one")
        return wishes

    def joined(self, other: Wishes) -> Wishes:
        """Both wishes."""
        return Wishes(
            self.required + other.required,
            self.forbidden + other.forbidden,
            self.required_labels + other.required_labels,
            self.forbidden_labels + other.forbidden_labels,
        )

    @property
    def any(self) -> bool:
        """Whether there is anything to watch."""
        return bool(self.required or self.forbidden or self.required_labels or self.forbidden_labels)

    def banned(self, tokens: Ids) -> list[int]:
        """What may not follow `tokens`: the last piece of a forbidden word, and forbidden labels."""
        found = list(self.forbidden_labels)
        for word in self.forbidden:
            *before, last = word
            if not before or tokens[-len(before) :] == tuple(before):
                found.append(last)
        return found

    def offered(self, tokens: Ids, context: Ids) -> list[int]:
        """What would begin, or go on with, a required word that is still missing."""
        missing = [word for word in self.required if not _written(word, tokens, context)]
        found = [ids[_begun(ids, tokens)] for word in missing for ids in word]
        return found + [label for label in self.required_labels if label not in tokens]

    def met(self, tokens: Ids, context: Ids) -> int:
        """How far the wishes are met: the pieces of required words, complete or begun, and required labels."""
        pieces = sum(
            max(map(len, word)) if _written(word, tokens, context) else max(_begun(ids, tokens) for ids in word)
            for word in self.required
        )
        return pieces + sum(label in tokens for label in self.required_labels)

    def complete(self, tokens: Ids, context: Ids) -> bool:
        """Whether nothing that is required is missing."""
        words = all(_written(word, tokens, context) for word in self.required)
        return words and all(label in tokens for label in self.required_labels)


def _written(word: tuple[Ids, ...], tokens: Ids, context: Ids) -> bool:
    return any(holds(tokens, ids) or holds(context, ids) for ids in word)


def _begun(ids: Ids, tokens: Ids) -> int:
    """How many pieces of a word stand at the end of the tokens."""
    return max(n for n in range(len(ids)) if tokens[len(tokens) - n :] == ids[:n])


def spellings(word: str, vocabulary: Vocabulary) -> tuple[Ids, ...]:
    """The ids of a word, or of several in a row, as it is typed and with a capital, after a space and without one."""
    words = split(word).words
    if not words:
        raise ConfigError("a required or forbidden word is empty", remedy="give a word")
    found: dict[Ids, None] = {}
    for text in (words[0].text, words[0].text[:1].upper() + words[0].text[1:]):
        for space in (" ", ""):
            tokens = (Word(text, space), *words[1:])
            found[tuple(vocabulary.encode_tokens(tokens))] = None
    return tuple(found)


def holds(ids: Sequence[int], word: Ids) -> bool:
    """Whether a row of ids holds those of a word, one after the other."""
    size = len(word)
    return any(tuple(ids[at : at + size]) == word for at in range(len(ids) - size + 1))


def bank(ranked: Sequence[Ranked], places: int, met: Callable[[Any], int]) -> list[Ranked]:
    """The best, with a place for the best of each number of wishes met, most first.

    >>> bank([("a", 0), ("b", 0), ("c", 1), ("d", 2)], 2, met=lambda item: item[1])
    [('d', 2), ('c', 1)]
    """
    rows: dict[int, list[Ranked]] = {}
    for item in ranked:
        rows.setdefault(met(item), []).append(item)
    kept: list[Ranked] = []
    while len(kept) < places and any(rows.values()):
        for count in sorted(rows, reverse=True):
            if rows[count] and len(kept) < places:
                kept.append(rows[count].pop(0))
    return kept
