"""Words and labels that must or must not appear.

A forbidden word is never written: the piece that would complete it is masked, wherever the word would stand (so a
longer word that begins with the same pieces is ruled out too).  A required word is guaranteed: an infill that would
finish the text without it may not end, its pieces are always among the continuations considered, and a beam keeps
places for hypotheses that have written more of what is required.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from syntagma.errors import ConfigError
from syntagma.runtime.base import WordSet
from syntagma.search.constraints.base import Allowed, Constraint
from syntagma.search.constraints.grammar import END, LABELS, WORDS
from syntagma.search.hypothesis import Hypothesis, IdTuple
from syntagma.text.subwords import Subwords
from syntagma.text.vocabulary import Vocabulary
from syntagma.text.words import Word, split

if TYPE_CHECKING:
    from syntagma.search.task import InfillTask

Ranked = TypeVar("Ranked")


class _Written(NamedTuple):
    """Which required words a text holds, the last tokens, how many pieces of required words are written, and whether
    the infill has a label."""

    done: frozenset[int]
    tail: IdTuple
    pieces: int
    labels: frozenset[int]
    open: bool
    fresh: tuple[int, ...] = ()
    """The words that the last token completed, unless the next goes on with them."""
    initial: bool = False
    """Whether the text begins here."""


class LexicalConstraint(Constraint):
    """Words that one request must and must not write, in ids; each word in all its spellings."""

    reason = "has a forbidden word"
    strict = True

    def __init__(
        self,
        required: Sequence[Sequence[IdTuple]] = (),
        forbidden: Sequence[IdTuple] = (),
        required_labels: Iterable[int] = (),
        forbidden_labels: Iterable[int] = (),
        labels: Iterable[int] = (),
        texts: Sequence[str] = (),
        continuing: frozenset[int] = frozenset(),
    ) -> None:
        self.required = tuple(tuple(spelled) for spelled in required)
        self.forbidden = tuple(forbidden)
        self.required_labels = frozenset(required_labels)
        self.forbidden_labels = frozenset(forbidden_labels)
        self.labels = frozenset(labels)
        """All labels of the model."""
        self.texts = tuple(texts)
        """The required words as the user wrote them."""
        self.continuing = continuing
        """The pieces that go on with the word before them."""
        watched = [ids for spelled in self.required for ids in spelled] + list(self.forbidden)
        firsts = [spelled[0] for spelled in self.required]
        self._capitals = {ids for spelled in self.required for ids in spelled[2:]} - set(firsts)
        """Spellings for the beginning of a text."""
        self._part = -1
        self._watched = frozenset(token for ids in watched for token in ids)
        self._longest = max(map(len, watched), default=1)
        self._sizes = [max(map(len, spelled)) for spelled in self.required]
        self.reserve = sum(self._sizes) + len(self.required_labels)
        self._sets: dict[IdTuple, WordSet] = {}

    @staticmethod
    def of(
        vocabulary: Vocabulary,
        must: Sequence[str] = (),
        must_not: Sequence[str] = (),
        labels: Sequence[str] = (),
        not_labels: Sequence[str] = (),
    ) -> LexicalConstraint:
        """From words and label names as a user writes them."""
        for word in must:
            if word in must_not:
                raise ConfigError(f"{word!r} must and must not appear", remedy="decide on one")
        return LexicalConstraint(
            [spellings(word, vocabulary) for word in must],
            [ids for word in must_not for ids in spellings(word, vocabulary)],
            [vocabulary.label_id(label) for label in labels],
            [vocabulary.label_id(label) for label in not_labels],
            [vocabulary.label_id(label) for label in vocabulary.labels],
            must,
            continuing_pieces(vocabulary) if must else frozenset(),
        )

    def joined(self, other: LexicalConstraint) -> LexicalConstraint:
        """Both together."""
        return LexicalConstraint(
            self.required + other.required,
            self.forbidden + other.forbidden,
            self.required_labels | other.required_labels,
            self.forbidden_labels | other.forbidden_labels,
            self.labels | other.labels,
            self.texts + other.texts,
            self.continuing | other.continuing,
        )

    def without_required(self) -> LexicalConstraint:
        """Only what must not appear."""
        return LexicalConstraint((), self.forbidden, (), self.forbidden_labels, self.labels)

    def requiring(self, words: Iterable[int]) -> LexicalConstraint:
        """With only those of the required words, by their numbers."""
        chosen = list(words)
        return LexicalConstraint(
            [self.required[word] for word in chosen],
            self.forbidden,
            self.required_labels,
            self.forbidden_labels,
            self.labels,
            [self.texts[word] for word in chosen],
            self.continuing,
        )

    def without_labels(self) -> LexicalConstraint:
        """Without the required labels, which are required of one infill only."""
        return LexicalConstraint(
            self.required, self.forbidden, (), self.forbidden_labels, self.labels, self.texts, self.continuing
        )

    @property
    def any(self) -> bool:
        """Whether there is anything to watch."""
        return bool(self.required or self.forbidden or self.required_labels or self.forbidden_labels)

    @property
    def requires(self) -> bool:
        """Whether something must appear."""
        return bool(self.required or self.required_labels)

    def rules_out(self, word: str, vocabulary: Vocabulary) -> bool:
        """Whether a word holds one that must not appear."""
        return any(holds(ids, banned) for ids in spellings(word, vocabulary) for banned in self.forbidden)

    # -- a partial infill

    def begin(self, task: InfillTask) -> _Written | None:
        """Before the first token of an infill."""
        if not self.any:
            return None
        done = self.words_in(task.hypothesis.ids)
        ids, config = task.hypothesis.ids, task.request.config
        self._part = config.part
        initial = not ids or ids[0] in config.labels
        return _Written(done, (), sum(self._sizes[word] for word in done), frozenset(), False, (), initial)

    def advance(self, state: _Written, token: int) -> _Written:
        """One token further."""
        if state.initial and token != self._part:
            state = state._replace(initial=False)
        if state.fresh:
            done = state.done.difference(state.fresh) if token in self.continuing else state.done
            state = state._replace(done=done, fresh=(), pieces=self._pieces(done, state.tail))
        if token in self.labels:
            return _Written(state.done, (), self._pieces(state.done, ()), state.labels | {token}, True)
        if token not in self._watched:
            if not state.tail:
                return state
            return state._replace(tail=(), pieces=self._pieces(state.done, ()))
        tail = (*state.tail, token)[-self._longest :]
        fresh = [
            word
            for word, spelled in enumerate(self.required)
            if word not in state.done and any(tail[-len(ids) :] == ids for ids in spelled)
        ]
        done = state.done.union(fresh)
        return state._replace(done=done, tail=tail, pieces=self._pieces(done, tail), fresh=tuple(fresh))

    def _pieces(self, done: frozenset[int], tail: IdTuple) -> int:
        """How many pieces of required words are written, of those that are begun only what stands at the end."""
        pieces = 0
        for word, spelled in enumerate(self.required):
            pieces += self._sizes[word] if word in done else max(_begun(ids, tail) for ids in spelled) if tail else 0
        return pieces

    def mask(self, state: _Written, allowed: Allowed) -> None:
        """No last piece of a forbidden word and no forbidden label; what would write a required word is asked for."""
        denied = list(self.forbidden_labels)
        for *before, last in self.forbidden:
            if not before or state.tail[-len(before) :] == tuple(before):
                denied.append(last)
        if denied:
            allowed.denied = [*(allowed.denied or ()), *denied]
        if not self.requires:
            return
        asked = [
            ids[_begun(ids, state.tail)]
            for word, spelled in enumerate(self.required)
            if word not in state.done
            for ids in spelled
            if state.initial or ids not in self._capitals or _begun(ids, state.tail)
        ]
        asked += [label for label in self.required_labels if label not in state.labels]
        if asked:
            allowed.asked = list(dict.fromkeys(asked))
        if allowed.kinds & END and not self.may_end(state):
            allowed.kinds &= ~END
            if not allowed.kinds:  # its tokens have run out: only what is required may still come
                self._finish(state, allowed)

    def _finish(self, state: _Written, allowed: Allowed) -> None:
        """Allow only what brings a required word, the one that is furthest, or a required label nearer."""
        missing = [ids for word, spelled in enumerate(self.required) if word not in state.done for ids in spelled]
        furthest = max((_begun(ids, state.tail) for ids in missing), default=0)
        words = tuple(dict.fromkeys(ids[furthest] for ids in missing if _begun(ids, state.tail) == furthest))
        allowed.labels = self.required_labels - state.labels
        allowed.kinds = (WORDS if words else 0) | (LABELS if allowed.labels and allowed.state.labels else 0)
        if words not in self._sets:
            self._sets[words] = WordSet(np.array(words, np.int64))
        allowed.words = self._sets[words]

    def progress(self, state: _Written) -> int:
        """How much of what is required is written: pieces of words, and labels."""
        return state.pieces + len(self.required_labels & state.labels)

    def progress_after(self, state: _Written, token: int) -> int:
        """The same after one more token."""
        if token not in self._watched and token not in self.labels and not (state.tail or state.fresh):
            return self.progress(state)
        return self.progress(self.advance(state, token))

    def may_end(self, state: _Written) -> bool:
        """Whether the infill may end: a text that it completes must hold all that is required."""
        return state.open or (len(state.done) == len(self.required) and self.required_labels <= state.labels)

    # -- a context

    def words_in(self, ids: Sequence[int]) -> frozenset[int]:
        """Which required words a context holds, by their numbers."""
        return frozenset(
            word for word, spelled in enumerate(self.required) if any(holds(ids, spelling) for spelling in spelled)
        )

    def keep(self, hypothesis: Hypothesis) -> bool:
        """Whether a context holds no forbidden word, also where two parts meet."""
        return not any(holds(hypothesis.ids, ids) for ids in self.forbidden)

    def met_by(self, text: str) -> bool:
        """Whether a text holds every required word as a word, whatever its case."""
        words = [word.lower() for word in split(text).texts()]
        return all(holds(words, [word.lower() for word in split(text).texts()]) for text in self.texts)


def continuing_pieces(vocabulary: Vocabulary) -> frozenset[int]:
    """The pieces of byte-level subwords that go on with a word before them."""
    return _continuing(vocabulary) if isinstance(vocabulary, Subwords) else frozenset()


@lru_cache(8)
def _continuing(subwords: Subwords) -> frozenset[int]:
    pieces = ((token, subwords.piece(token)[:1]) for token in range(subwords.size))
    return frozenset(token for token, first in pieces if first.isalnum() or first >= b"\x80")


def _begun(ids: IdTuple, tail: IdTuple) -> int:
    """How many pieces of a word stand at the end of the tokens, the whole word not counted."""
    return max(size for size in range(len(ids)) if tail[len(tail) - size :] == ids[:size])


def spellings(word: str, vocabulary: Vocabulary) -> tuple[IdTuple, ...]:
    """The ids of a word, or of several in a row, as it is typed and with a capital, after a space and without one."""
    words = split(word).words
    if not words:
        raise ConfigError("a required or forbidden word is empty", remedy="give a word")
    spellings: dict[IdTuple, None] = {}
    for text in (words[0].text, words[0].text[:1].upper() + words[0].text[1:]):
        for space in (" ", ""):
            tokens = (Word(text, space), *words[1:])
            spellings[tuple(vocabulary.encode_tokens(tokens))] = None
    return tuple(spellings)


def holds(items: Sequence[Any], part: Sequence[Any]) -> bool:
    """Whether a sequence holds another, one item after the other."""
    size, first = len(part), part[0] if part else None
    return any(
        items[start] == first and list(items[start : start + size]) == list(part)
        for start in range(len(items) - size + 1)
    )


def bank(ranked: Sequence[Ranked], places: int, progress: Callable[[Any], int]) -> list[Ranked]:
    """The best, with a place for the best of each degree of progress, most first.

    >>> bank([("a", 0), ("b", 0), ("c", 1), ("d", 2)], 2, progress=lambda item: item[1])
    [('d', 2), ('c', 1)]
    """
    rows: dict[int, list[Ranked]] = {}
    for item in ranked:
        rows.setdefault(progress(item), []).append(item)
    kept: list[Ranked] = []
    while len(kept) < places and any(rows.values()):
        for degree in sorted(rows, reverse=True):
            if rows[degree] and len(kept) < places:
                kept.append(rows[degree].pop(0))
    return kept
