"""The grammar of infills: what the decoder may write next, so that every infill is well-formed.

An infill has exactly one non-empty part for each open label of its context, each opened by `<c>`, then the end.  At the
last depth no label may stand in it.  `InfillState` says where a partial infill is in that grammar.
"""

from __future__ import annotations

from enum import IntFlag
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from syntagma.levels import Label
from syntagma.network.config import ModelConfig
from syntagma.runtime.base import BoolArray, WordSet
from syntagma.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from syntagma.search.task import InfillTask


class TokenKind(IntFlag):
    """Kinds of tokens; the rows of the table of masks are its combinations."""

    WORDS = 1
    LABELS = 2
    PART = 4
    END = 8


WORDS, LABELS, PART, END = (int(kind) for kind in TokenKind)


class InfillState(NamedTuple):
    """Where a partial infill stands.

    `parts_left` parts are still to be opened, the open one has `written` tokens (-1: none is open yet), at most
    `tokens_left` tokens may follow, the end included, and `labels` may be among them.
    """

    parts_left: int
    written: int
    tokens_left: int
    labels: bool

    @staticmethod
    def start(parts: int, tokens: int, labels: bool) -> InfillState:
        """Before the first token of an infill of so many parts and at most so many tokens."""
        return InfillState(parts, -1, max(tokens, 2 * parts + 1), labels)

    @property
    def kinds(self) -> int:
        """The kinds of tokens that may come next here."""
        return _infill_kinds(self)

    @property
    def closing(self) -> int:
        """The token that ends the open part."""
        return PART if self.parts_left else END

    @property
    def must_close(self) -> bool:
        """Whether the tokens left only just suffice to end what is open and to open and fill what is still to come."""
        return self.tokens_left <= 2 * self.parts_left + 1

    def after(self, kind: int) -> InfillState:
        """Where a partial infill stands once it has written a token of that kind."""
        if kind == PART:
            return InfillState(self.parts_left - 1, 0, self.tokens_left - 1, self.labels)
        return InfillState(self.parts_left, self.written + 1, self.tokens_left - 1, self.labels)


@lru_cache(1 << 16)
def _infill_kinds(state: InfillState) -> int:
    if state.written < 0 or (state.written and state.must_close):
        return state.closing
    inside = WORDS | LABELS if state.labels else WORDS
    return inside | state.closing if state.written else inside


class BracketState(NamedTuple):
    """Where a row stands in a bracketed tree, which the linearised baseline writes: a label opens, `<c>` closes.

    `open_brackets` are not closed yet, the innermost is `empty` or not, and `tokens_left` tokens may follow.
    """

    open_brackets: int
    empty: bool
    tokens_left: int

    @property
    def kinds(self) -> int:
        """The kinds of tokens that may come next here."""
        if self.must_close:
            return self.closing if not self.empty else WORDS
        inside = WORDS | LABELS if self.tokens_left > self.open_brackets + 4 else WORDS
        return inside if self.empty else inside | self.closing

    @property
    def closing(self) -> int:
        """The token that ends the innermost constituent."""
        return PART if self.open_brackets else END

    @property
    def labels(self) -> bool:
        """Whether labels may come at all."""
        return True

    @property
    def written(self) -> int:
        """Whether the innermost constituent holds anything, as a number."""
        return int(not self.empty)

    @property
    def must_close(self) -> bool:
        """Whether the tokens left only just suffice to close what is open."""
        return self.tokens_left <= self.open_brackets + 1 + self.empty

    def after(self, kind: int) -> BracketState:
        """Where a row stands once it has written a token of that kind."""
        change = {LABELS: 1, PART: -1}.get(kind, 0)
        return BracketState(self.open_brackets + change, kind == LABELS, self.tokens_left - 1)


class FreeState(NamedTuple):
    """Where a row of the linearised baseline stands that may write brackets as it likes, valid or not."""

    written: int
    tokens_left: int

    @property
    def kinds(self) -> int:
        """The kinds of tokens that may come next."""
        if self.must_close:
            return END
        return WORDS | LABELS | PART | END if self.written else WORDS | LABELS

    @property
    def closing(self) -> int:
        """The token that ends the sequence."""
        return END

    @property
    def labels(self) -> bool:
        """Whether labels may come at all."""
        return True

    @property
    def must_close(self) -> bool:
        """Whether only the end fits."""
        return bool(self.written) and self.tokens_left <= 1

    def after(self, kind: int) -> FreeState:
        """Where a row stands once it has written a token."""
        return FreeState(self.written + 1, self.tokens_left - 1)


AnyState = InfillState | BracketState | FreeState


class InfillGrammar:
    """The tokens of one model by their kinds, and the masks that those make."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary) -> None:
        self.config = config
        self.label_ids = {name: vocabulary.label_id(name) for name in ("T", *vocabulary.labels)}
        self.names = {token: Label(name) for name, token in self.label_ids.items() if name != "T"}
        self.columns = {token: column for column, token in enumerate(config.controls)}
        outputs = getattr(config, "outputs", None) or vocabulary.size
        words = [token for token in range(outputs) if vocabulary.is_word(token) and token not in self.columns]
        self.words = WordSet(np.array(words, np.int64))
        self._kinds = dict.fromkeys(self.names, LABELS) | {config.part: PART, config.end: END}
        self._singles: dict[int, WordSet] = {}
        table = np.zeros((16, len(self.columns)), np.bool_)
        for kinds in range(16):
            for token in self.names:
                table[kinds, self.columns[token]] = bool(kinds & LABELS)
            table[kinds, self.columns[config.part]] = bool(kinds & PART)
            table[kinds, self.columns[config.end]] = bool(kinds & END)
        self.table: BoolArray = table

    def start(self, task: InfillTask) -> AnyState:
        """Before the first token of an infill."""
        if task.parts:
            return InfillState.start(task.parts, task.tokens, task.labels)
        if self.config.architecture == "linearised":
            return (
                BracketState(0, True, task.tokens) if task.request.options.valid_brackets else FreeState(0, task.tokens)
            )
        return InfillState(0, 0, task.tokens, labels=False)

    def kind(self, token: int) -> int:
        """The kind of a token."""
        return self._kinds.get(token, WORDS)

    def closing(self, state: AnyState) -> int:
        """The token that ends the open part."""
        return self.config.part if state.closing == PART else self.config.end

    def single(self, token: int) -> WordSet:
        """The set of one word."""
        if token not in self._singles:
            self._singles[token] = WordSet(np.array([token], np.int64))
        return self._singles[token]
