"""The grammar of infills as masks: what the decoder may write next, so that every infill is well-formed.

An infill has exactly one non-empty part for each open label of its context, each opened by `<c>`, then the end.  At the
last depth no label may stand in it.  A `Place` says where a row is in that grammar; `Grammar.restrict` sets the scores
of what may not come there to minus infinity.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import IntFlag
from typing import NamedTuple

import torch
from torch import Tensor

from syntagma.levels import PART, Label
from syntagma.network.config import ModelConfig
from syntagma.template import Guide
from syntagma.text.vocabulary import Vocabulary

IMPOSSIBLE = float("-inf")


class May(IntFlag):
    """What may come next; the rows of the table of masks are its combinations."""

    WORDS = 1
    LABELS = 2
    PART = 4
    END = 8


class Place(NamedTuple):
    """Where a row stands in its infill.

    `parts_left` parts are still to be opened, the open one has `written` tokens (-1: none is open yet), at most
    `tokens_left` tokens may follow, the end included, and `labels` may be among them.
    """

    parts_left: int
    written: int
    tokens_left: int
    labels: bool

    @staticmethod
    def start(parts: int, tokens: int, labels: bool) -> Place:
        """Before the first token of an infill of so many parts and at most so many tokens."""
        return Place(parts, -1, max(tokens, 2 * parts + 1), labels)

    @property
    def may(self) -> May:
        """What may come next here."""
        closing = May.PART if self.parts_left else May.END
        if self.written < 0 or (self.written and self.must_close):
            return closing
        inside = May.WORDS | May.LABELS if self.labels else May.WORDS
        return inside | closing if self.written else inside

    @property
    def must_close(self) -> bool:
        """Whether the tokens left only just suffice to end what is open and to open and fill what is still to come."""
        return self.tokens_left <= 2 * self.parts_left + 1

    def after(self, what: May) -> Place:
        """Where a row stands once it has written a token of that kind."""
        if what is May.PART:
            return Place(self.parts_left - 1, 0, self.tokens_left - 1, self.labels)
        return Place(self.parts_left, self.written + 1, self.tokens_left - 1, self.labels)


class BracketPlace(NamedTuple):
    """Where a row stands in a bracketed tree, which the linearised baseline writes: a label opens, `<c>` closes.

    `open_brackets` are not closed yet, the innermost is `empty` or not, and `tokens_left` tokens may follow.
    """

    open_brackets: int
    empty: bool
    tokens_left: int

    @property
    def may(self) -> May:
        """What may come next here."""
        closing = May.PART if self.open_brackets else May.END
        if self.must_close:
            return closing if not self.empty else May.WORDS
        inside = May.WORDS | May.LABELS if self.tokens_left > self.open_brackets + 4 else May.WORDS
        return inside if self.empty else inside | closing

    @property
    def must_close(self) -> bool:
        """Whether the tokens left only just suffice to close what is open."""
        return self.tokens_left <= self.open_brackets + 1 + self.empty

    def after(self, what: May) -> BracketPlace:
        """Where a row stands once it has written a token of that kind."""
        change = {May.LABELS: 1, May.PART: -1}.get(what, 0)
        return BracketPlace(self.open_brackets + change, what is May.LABELS, self.tokens_left - 1)


class Grammar:
    """The masks of one model: its vocabulary split into words, labels, `<c>` and end."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, forbidden: Collection[int] = ()) -> None:
        self.config = config
        self.label_ids = {name: vocabulary.label_id(name) for name in vocabulary.labels}
        self.names = {at: Label(name) for name, at in self.label_ids.items()}
        words = {at for at in range(vocabulary.size) if at not in forbidden and vocabulary.is_word(at)}
        self._marks = torch.tensor([*self.names, config.part, config.end])
        self._never = torch.tensor([at for at in range(config.vocabulary) if at not in words])
        table = torch.full((16, len(self._marks)), IMPOSSIBLE)
        for row in range(16):
            may = May(row)
            table[row, : len(self.names)] = 0.0 if may & May.LABELS else IMPOSSIBLE
            table[row, -2] = 0.0 if may & May.PART else IMPOSSIBLE
            table[row, -1] = 0.0 if may & May.END else IMPOSSIBLE
        self._table = table

    def restrict(self, scores: Tensor, places: Sequence[Place | BracketPlace], guides: Sequence[Guide | None]) -> None:
        """Rule out of scores [N, V] what may not come at these places, under hard control where there is a guide.

        Words are ruled out all or none; so only the few columns of labels, `<c>` and end are looked at one by one.
        """
        kinds = [
            _under_guide(place, guide) if guide is not None and isinstance(place, Place) else place.may
            for place, guide in zip(places, guides, strict=True)
        ]
        marks = scores[:, self._marks] + self._table[torch.tensor(kinds, dtype=torch.long)]
        for row, (place, guide) in enumerate(zip(places, guides, strict=True)):
            if guide is not None and kinds[row] & May.LABELS:
                allowed = guide.needed if place.must_close else guide.allowed.labels
                for column, label in enumerate(self.names.values()):
                    if label.name not in allowed:
                        marks[row, column] = IMPOSSIBLE
        scores.index_fill_(1, self._never, IMPOSSIBLE)
        wordless = [row for row, kind in enumerate(kinds) if not kind & May.WORDS]
        if wordless:
            scores.index_fill_(0, torch.tensor(wordless), IMPOSSIBLE)
        scores[:, self._marks] = marks

    def kind(self, token: int) -> May:
        """What a token is."""
        if token == self.config.part:
            return May.PART
        return May.LABELS if token in self.names else May.WORDS

    def closing(self, place: Place | BracketPlace) -> int:
        """The token that ends the open part."""
        more = place.parts_left if isinstance(place, Place) else place.open_brackets
        return self.config.part if more else self.config.end

    def follow(self, guide: Guide | None, token: int) -> Guide | None:
        """The guide after a token."""
        if guide is None:
            return None
        if token == self.config.part:
            return guide.follow(PART)
        return guide.follow(self.names[token]) if token in self.names else guide


def _under_guide(place: Place, guide: Guide) -> May:
    """What may come where a template is guaranteed.

    A part may not end before it holds the template's constituents.  When its tokens run out, only those may still come,
    which takes a few tokens more than the place has left.
    """
    if place.written < 0:
        return place.may
    allowed = guide.allowed
    closing = May.PART if place.parts_left else May.END
    if not place.must_close:
        may = May.WORDS
        if allowed.labels and place.labels:
            may |= May.LABELS
        return may | closing if allowed.end and place.written else may
    if allowed.end:
        return closing if place.written else May.WORDS
    return May.LABELS if place.labels else May(0)
