"""The vocabulary of a pretrained model: its own tokenizer, with ids for labels and control tokens that no text reaches.

Text is tokenised as the model was trained on it, a stretch of words between two labels at a time, with the spacing of
the words and as if one space stood before a text.  So where words join, their ids may change: `canonical` gives the ids
that a context has when it is tokenised as in preparation, whatever pieces it was written in.

The tokenizer is kept without what would come between text and ids: no token is matched in raw text, no space is added
or stripped, nothing is put before or after.  The entries of control tokens are renamed so that they begin with a space,
which no piece of text does: pieces write it `Ġ` or `▁`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from syntagma.errors import InputError
from syntagma.files import atomic_write
from syntagma.levels import PART, TOP, Label, Token
from syntagma.text.vocabulary import PRETRAINED_KIND, find_label, text_runs, tokens_of
from syntagma.text.words import Sentence, Word, join, split

HIDDEN = " "
"""The prefix of an entry that no text reaches: pieces write a space as `Ġ` or `▁`."""
_MOST_REMEMBERED = 200_000


@dataclass(frozen=True)
class Controls:
    """The ids that are no text; `labels` has `T` and the kept labels by name."""

    pad: int
    start: int
    end: int
    sep: int
    part: int
    labels: dict[str, int]

    @property
    def ids(self) -> frozenset[int]:
        """All of them."""
        return frozenset((self.pad, self.start, self.end, self.sep, self.part, *self.labels.values()))


class PretrainedVocabulary:
    """A pretrained tokenizer that serves wherever `Subwords` does."""

    def __init__(self, tokenizer: Tokenizer, controls: Controls, size: int, source: Tokenizer | None = None) -> None:
        self._tokenizer = tokenizer
        self._source = source
        self.controls = controls
        self.size = size
        self.labels: tuple[str, ...] = tuple(name for name in controls.labels if name != TOP.name)
        self._label_of = {token_id: Label(name) for name, token_id in controls.labels.items()}
        pieces = tokenizer.get_vocab(with_added_tokens=False)
        self._text_ids = frozenset(
            token_id
            for piece, token_id in pieces.items()
            if not piece.startswith(HIDDEN) and token_id not in controls.ids
        )
        self._known: dict[str, tuple[int, ...]] = {}
        self._word_ids: frozenset[int] | None = None

    # -- making, saving, loading

    @staticmethod
    def adapt(
        tokenizer: str, controls: Controls, size: int, hidden: Collection[int] = (), source: str | None = None
    ) -> PretrainedVocabulary:
        """From a `tokenizer.json` of the library, and another for sources where they have one of their own; the entries
        `hidden` (and the controls) are never text.
        """
        values = [json.loads(text) for text in (tokenizer, source) if text is not None]
        for value in values:
            hide(value, {*hidden, *controls.ids})
        made, *sources = (Tokenizer.from_str(json.dumps(value)) for value in values)
        return PretrainedVocabulary(made, controls, size, *sources)

    def save(self, path: str | Path) -> None:
        """Write `tokenizer.json`, which says its kind."""
        with atomic_write(path) as stream:
            json.dump(self._values(), stream, ensure_ascii=False)
            stream.write("\n")

    @staticmethod
    def from_values(values: dict[str, Any]) -> PretrainedVocabulary:
        """From what `save` wrote."""
        tokenizer = Tokenizer.from_str(json.dumps(values["tokenizer"]))
        source = Tokenizer.from_str(json.dumps(values["source"])) if "source" in values else None
        return PretrainedVocabulary(tokenizer, Controls(**values["controls"]), values["size"], source)

    def _values(self) -> dict[str, Any]:
        inner = json.loads(self._tokenizer.to_str())
        values = {"kind": PRETRAINED_KIND, "size": self.size, "controls": asdict(self.controls), "tokenizer": inner}
        return values if self._source is None else values | {"source": json.loads(self._source.to_str())}

    @property
    def fingerprint(self) -> str:
        """A hash, the same for equal vocabularies."""
        text = json.dumps(self._values(), ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    # -- text

    def encode(self, text: str | Sentence) -> list[int]:
        """The ids of a text as a source; `decode` gives it back where the tokenizer loses nothing and is also that of
        targets.
        """
        return list(self._run(f" {text}")) if self._source is None else list(_ids(self._source, f" {text}"))

    def encode_target(self, text: str | Sentence) -> list[int]:
        """The ids of a text as a target."""
        return list(self._run(f" {text}"))

    def encode_words(self, words: Sequence[Word]) -> list[tuple[int, ...]]:
        """The ids of each word alone; those of a text may differ where words lean on one another."""
        first = [" " + join(words[:1])] if words else []
        return [self._run(run) for run in [*first, *(join([word]) for word in words[1:])]]

    def decode(self, ids: Iterable[int]) -> str:
        """The text that ids spell; control tokens and labels are left out."""
        return self._text([token_id for token_id in ids if token_id in self._text_ids]).removeprefix(" ")

    def canonical(self, ids: Iterable[int]) -> list[int]:
        """The same context in the ids that its text has when it is tokenised; labels and controls stay."""
        canonical: list[int] = []
        for run, control in text_runs(ids, self._text_ids.__contains__):
            canonical += self._run(self._text(run)) if run else ()
            canonical += () if control is None else (control,)
        return canonical

    def _run(self, text: str) -> tuple[int, ...]:
        """The ids of a stretch of text."""
        known = self._known.get(text)
        if known is None:
            known = _ids(self._tokenizer, text)
            if len(self._known) < _MOST_REMEMBERED:
                self._known[text] = known
        return known

    def _text(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False)) if ids else ""

    # -- labels and control tokens

    def label_id(self, label: str) -> int:
        """The id of a label, `T` included."""
        return find_label(self.controls.labels, label)

    def is_label(self, token_id: int) -> bool:
        """Whether an id is an open label."""
        return token_id in self._label_of

    def is_word(self, token_id: int) -> bool:
        """Whether an id is a piece of a word or the space before one: no control token, no other white space."""
        if self._word_ids is None:
            texts = {token_id: self._text([token_id]) for token_id in self._text_ids}
            self._word_ids = frozenset(token_id for token_id, text in texts.items() if text.strip() or text == " ")
        return token_id in self._word_ids

    @property
    def blank(self) -> int:
        """The id of the piece that is one space and nothing else; -1 where there is none."""
        ids = self._run(" ")
        return ids[0] if len(ids) == 1 and ids[0] in self._text_ids and self._text(ids) == " " else -1

    def encode_tokens(self, tokens: Iterable[Token]) -> list[int]:
        """The ids of a context or infill; words that follow one another are tokenised together."""
        ids: list[int] = []
        words: list[Word] = []
        for token in (*tokens, None):
            if isinstance(token, Word):
                words.append(token)
                continue
            ids += self._run(join(words)) if words else ()
            words = []
            if isinstance(token, Label):
                ids.append(self.label_id(token.name))
            elif token is PART:
                ids.append(self.controls.part)
            elif token is not None:
                ids += token
        return ids

    def decode_tokens(self, ids: Iterable[int]) -> list[Token]:
        """Ids as labels, `PART`, and text in between as the words that it splits into, with their spacing."""
        is_text, part = self._text_ids.__contains__, self.controls.part
        return tokens_of(ids, is_text, self._label_of, part, lambda run: split(self._text(run)).words)


def _ids(tokenizer: Tokenizer, text: str) -> tuple[int, ...]:
    try:
        return tuple(tokenizer.encode(text, add_special_tokens=False).ids)
    except (UnicodeEncodeError, TypeError):
        what = f"{text.strip()!r} holds half a surrogate pair, which is no text"
        raise InputError(what, remedy="save the text as UTF-8") from None


def hide(values: dict[str, Any], hidden: Collection[int]) -> None:
    """Take out of a `tokenizer.json` all that touches text beside its pieces, and rename the hidden ones."""
    values["added_tokens"], values["post_processor"] = [], None
    values["truncation"] = values["padding"] = None
    values["normalizer"] = _without(values.get("normalizer"), ("Prepend", "Strip"))
    values["pre_tokenizer"] = _without(values.get("pre_tokenizer"), ())
    values["decoder"] = _without(values.get("decoder"), ("Strip",))
    model = values["model"]
    vocabulary = model["vocab"]
    unknown = model.get("unk_token")
    if isinstance(vocabulary, list):  # pieces with their scores
        for token_id in hidden:
            if token_id < len(vocabulary):
                vocabulary[token_id][0] = HIDDEN + vocabulary[token_id][0]
        return
    model["vocab"] = {
        HIDDEN + piece if token_id in hidden else piece: token_id for piece, token_id in vocabulary.items()
    }
    if unknown is not None and vocabulary.get(unknown) in hidden:
        model["unk_token"] = HIDDEN + unknown


def _without(step: Any, kinds: Collection[str]) -> Any:
    """A step of a tokenizer without those kinds of steps inside, and without adding or stripping spaces."""
    if step is None or step["type"] in kinds:
        return None
    for name in ("normalizers", "pretokenizers", "decoders"):
        if name in step:
            inner = [done for part in step[name] if (done := _without(part, kinds)) is not None]
            return {**step, name: inner} if inner else None
    changed = dict(step)
    if step["type"] == "Metaspace":
        changed |= {"prepend_scheme": "never"}
        changed.pop("add_prefix_space", None)
    elif step["type"] == "ByteLevel":
        changed |= {"add_prefix_space": False}
    elif step["type"] == "WordPiece":
        changed |= {"cleanup": False}
    return changed
