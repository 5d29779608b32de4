"""The vocabulary of the authors' checkpoints: a word dictionary over subword-nmt pieces, `apart@@ ment`.

It serves wherever `Subwords` does.  Its words have no spacing, so `decode` puts back what a writer would have typed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from syntagma.errors import InputError, Place
from syntagma.files import atomic_write, read_lines
from syntagma.levels import TOP, Label, Token
from syntagma.text.spacing import respace, spaced_text
from syntagma.text.vocabulary import AUTHORS_KIND, find_label, ids_of, tokens_of
from syntagma.text.words import Sentence, Word, split

_SPECIALS = ("<s>", "<pad>", "</s>", "<unk>", "<blank>", "<mask>")
_TOP, _PART, _SEP = "<TOP>", "<CONS-0>", "<sep>"


class AuthorsSubwords:
    """Dictionary entries after six special tokens; labels and `<c>` are entries that no text reaches."""

    def __init__(self, entries: Sequence[str], merges: Sequence[tuple[str, str]]) -> None:
        self._entries = [*_SPECIALS, *entries]
        self._merges = list(merges)
        self._rank = {pair: rank for rank, pair in reversed(list(enumerate(merges)))}
        self._ids = {entry: token_id for token_id, entry in reversed(list(enumerate(self._entries)))}
        self.size = len(self._entries)
        self._start, self.pad, self.end, self._unknown = range(4)
        self.part = self._control(_PART)
        self.sep = self._ids.get(_SEP, self.end)
        self._label_ids = {TOP.name: self._control(_TOP)} | {
            entry[1:-1]: index
            for index, entry in enumerate(self._entries)
            if index >= len(_SPECIALS) and _is_label(entry)
        }
        self._label_of = {token_id: Label(name) for name, token_id in self._label_ids.items()}
        self.labels = tuple(name for name in self._label_ids if name != TOP.name)
        self._controls = {*_SPECIALS, _TOP, _PART, _SEP, *(f"<{name}>" for name in self.labels)}
        self._known: dict[str, tuple[int, ...]] = {}

    @staticmethod
    def read(dictionary: str | Path, codes: str | Path) -> AuthorsSubwords:
        """From a fairseq dictionary ("entry count" lines) and subword-nmt's codes."""
        entries = [line.rsplit(" ", 1)[0] for line in read_lines(dictionary) if line.strip()]
        lines = [line for line in read_lines(codes) if line.strip() and not line.startswith("#version")]
        merges = [tuple(line.split(" ")[:2]) for line in lines]
        for number, pair in enumerate(merges, 2):
            if len(pair) != 2:
                raise InputError(
                    "this is not a merge of two pieces", Place(str(codes), number), "give subword-nmt's codes"
                )
        return AuthorsSubwords(entries, [(pair[0], pair[1]) for pair in merges])

    # -- saving and loading, beside `Subwords`

    def save(self, path: str | Path) -> None:
        """Write `tokenizer.json`, which says its kind."""
        with atomic_write(path) as stream:
            json.dump(self._values(), stream, ensure_ascii=False)
            stream.write("\n")

    @staticmethod
    def from_values(values: dict[str, Any]) -> AuthorsSubwords:
        """From what `save` wrote."""
        return AuthorsSubwords(values["entries"], [(first, second) for first, second in values["merges"]])

    def _values(self) -> dict[str, object]:
        return {"kind": AUTHORS_KIND, "entries": self._entries[len(_SPECIALS) :], "merges": self._merges}

    @property
    def fingerprint(self) -> str:
        """A hash, the same for equal vocabularies."""
        return hashlib.sha256(json.dumps(self._values(), ensure_ascii=False).encode()).hexdigest()[:16]

    # -- text

    def encode(self, text: str | Sentence) -> list[int]:
        """The ids of a text's words."""
        words = split(text).words if isinstance(text, str) else text.words
        return [token_id for ids in self.encode_words(words) for token_id in ids]

    def encode_target(self, text: str | Sentence) -> list[int]:
        """The ids of a text as a target."""
        return self.encode(text)

    def encode_words(self, words: Sequence[Word]) -> list[tuple[int, ...]]:
        """The ids of each word."""
        return [self._pieces(word.text) for word in words]

    def decode(self, ids: Iterable[int]) -> str:
        """The text that ids spell, spaced as a writer would; control tokens and labels are left out."""
        return spaced_text(self._words(token_id for token_id in ids if not self._is_control(token_id)))

    def _words(self, ids: Iterable[int]) -> list[str]:
        return " ".join(self._entries[token_id] for token_id in ids).replace("@@ ", "").removesuffix("@@").split()

    def _is_control(self, token_id: int) -> bool:
        return self._entries[token_id] in self._controls

    def _pieces(self, word: str) -> tuple[int, ...]:
        known = self._known.get(word)
        if known is None:
            pieces = [*list(word[:-1]), word[-1] + "</w>"]
            while len(pieces) > 1:
                rank, index = min(
                    (self._rank.get(pair, len(self._rank)), index) for index, pair in enumerate(pairwise(pieces))
                )
                if rank == len(self._rank):
                    break
                pieces[index : index + 2] = [pieces[index] + pieces[index + 1]]
            shown = [piece.removesuffix("</w>") if piece.endswith("</w>") else piece + "@@" for piece in pieces]
            known = tuple(
                self._unknown if piece in self._controls else self._ids.get(piece, self._unknown) for piece in shown
            )
            self._known[word] = known
        return known

    # -- labels and control tokens

    def label_id(self, label: str) -> int:
        """The id of a label, `T` included."""
        return find_label(self._label_ids, label)

    def is_label(self, token_id: int) -> bool:
        """Whether an id is an open label."""
        return token_id in self._label_of

    def is_word(self, token_id: int) -> bool:
        """Whether an id is a piece of a word: no control token, no label."""
        return not self._is_control(token_id)

    def encode_tokens(self, tokens: Iterable[Token]) -> list[int]:
        """The ids of a context or infill whose words are given as `Word`s or as tuples of ids."""
        return ids_of(tokens, self.label_id, self.part, lambda word: self._pieces(word.text))

    def decode_tokens(self, ids: Iterable[int]) -> list[Token]:
        """Ids as labels, `PART`, and words."""
        return tokens_of(ids, self.is_word, self._label_of, self.part, lambda run: respace(self._words(run)))

    def _control(self, entry: str) -> int:
        if entry not in self._ids:
            raise InputError(
                f"the dictionary has no entry {entry}", remedy="give the dictionary of the authors' program"
            )
        return self._ids[entry]


def _is_label(entry: str) -> bool:
    return (
        entry.startswith("<")
        and entry.endswith(">")
        and entry not in (_TOP, _PART, _SEP)
        and not entry.startswith("<CONS-")
    )
