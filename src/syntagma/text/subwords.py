"""Subwords: words to ids and back without loss, and the ids of labels and control tokens, which no text can reach.

Words are spelled in bytes and joined to larger pieces by byte-pair encoding, never across a word's border; the
`tokenizers` library learns the merges and is needed for nothing else.  The space before a word is the first byte of its
first piece, so decoding is plain concatenation: `ca|n't` and `mistake|.` join without guessing, and any text comes back
byte for byte.  A text is encoded as if one space stood before it, so its first word has the same pieces as anywhere
else.

The control tokens come first in the vocabulary, written `⟨NP⟩`, `⟨c⟩`, `⟨end⟩`: with brackets that byte-pair encoding
never sees, because it sees bytes.  A text that holds `<NP>` or `⟨NP⟩` gets the pieces of those characters.

>>> words = [split(text).words for text in ["I ate an apple.", "I can't eat."]]
>>> subwords = Subwords.train(words, size=300)
>>> subwords.decode(subwords.encode("I can't eat <NP>!"))
"I can't eat <NP>!"
>>> subwords.label_id("NP") in subwords.encode("<NP>")
False
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from syntagma.errors import InputError, Place, SyntagmaError
from syntagma.files import atomic_write
from syntagma.levels import TOP, Label, Token
from syntagma.text.bytepairs import BytePairs
from syntagma.text.vocabulary import PIECES_KIND, find_label, ids_of, tokens_of
from syntagma.text.words import Sentence, Word, split
from syntagma.tree.transform import KEPT_LABELS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PAD: Final = 0
END: Final = 1
START: Final = 2
SEP: Final = 3
PART_ID: Final = 4
TOP_ID: Final = 5
CONTROLS: Final = ("pad", "end", "start", "sep", "c", TOP.name)

MOST_REMEMBERED: Final = 200_000


class Subwords:
    """A vocabulary: control tokens, labels, then pieces of words."""

    def __init__(self, text: str, values: Any = None) -> None:
        """`text` is a `tokenizer.json` as the library writes it, `values` what it says."""
        self._json = text
        model = (values or json.loads(text))["model"]
        vocabulary: dict[str, int] = model["vocab"]
        self._merge = BytePairs(vocabulary, map(_pair, model["merges"]))
        names = sorted((token_id, name[1:-1]) for name, token_id in vocabulary.items() if name.startswith("⟨"))
        if [token_id for token_id, _ in names] != list(range(len(names))) or tuple(
            n for _, n in names[: len(CONTROLS)]
        ) != CONTROLS:
            raise SyntagmaError("this vocabulary was not made by Syntagma", remedy="train one with `syntagma prepare`")
        self._set_up([name for _, name in names[len(CONTROLS) :]], _piece_bytes(vocabulary))

    def _set_up(self, labels: Sequence[str], pieces: list[bytes]) -> None:
        """Take the labels and the bytes of every id."""
        self.size: int = len(pieces)
        self.outputs: int = self.size
        """The ids below it can be written; those from it on stand in sources only."""
        self.labels: tuple[str, ...] = tuple(labels)
        self.first_text_id: int = len(CONTROLS) + len(labels)
        self._label_ids = {label: number for number, label in enumerate(labels, len(CONTROLS))} | {TOP.name: TOP_ID}
        self._label_of = {token_id: Label(name) for name, token_id in self._label_ids.items()}
        self._bytes = pieces
        self._known: dict[str, tuple[int, ...]] = {}

    # -- making, saving, loading

    @staticmethod
    def train(
        sentences: Iterable[Iterable[Word]], size: int = 8000, labels: Collection[str] = KEPT_LABELS, min_count: int = 2
    ) -> Subwords:
        """A vocabulary of at most `size` entries, control tokens and labels included, from the words of `sentences`."""
        controls = [f"⟨{name}⟩" for name in (*CONTROLS, *labels)]
        if size < len(controls) + 256:
            what = f"a vocabulary of {size} entries is too small"
            raise SyntagmaError(
                what, remedy=f"ask for at least {len(controls) + 256}: all bytes, labels and control tokens"
            )
        from tokenizers import models, pre_tokenizers, trainers

        tokenizer = _blank(models.BPE())
        trainer = trainers.BpeTrainer(
            vocab_size=size - len(controls),
            min_frequency=min_count,
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
            special_tokens=[],
        )
        tokenizer.train_from_iterator((unit for words in sentences for unit in _units(words)), trainer)
        learned = json.loads(tokenizer.to_str())["model"]
        vocabulary = {name: index for index, name in enumerate(controls)}
        vocabulary |= {piece: token_id + len(controls) for piece, token_id in learned["vocab"].items()}
        merges = list(map(_pair, learned["merges"]))
        return Subwords(_blank(models.BPE(vocab=vocabulary, merges=merges)).to_str())

    def save(self, path: str | Path) -> None:
        """Write `tokenizer.json`, which the `tokenizers` library can read as well."""
        with atomic_write(path) as stream:
            stream.write(self._json + "\n")

    @staticmethod
    def load(path: str | Path, text: str | None = None, values: Any = None) -> Subwords:
        """The vocabulary saved at `path`; `text` and `values` where that has been read already."""
        try:
            text = Path(path).read_text(encoding="utf-8") if text is None else text
            values = values or json.loads(text)
            if values.get("kind") == PIECES_KIND:
                from syntagma.text.sentencepieces import SentencePieces

                return SentencePieces.from_values(values)
            return Subwords(text.removesuffix("\n"), values)
        except OSError as error:
            raise InputError(f"it cannot be opened ({error.strerror})", Place(str(path)), "check the path") from None
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise InputError(
                "this is not a tokenizer.json", Place(str(path)), "train one with `syntagma prepare`"
            ) from None

    @property
    def fingerprint(self) -> str:
        """A hash, the same for equal vocabularies; corpora and models name the one that they were made with."""
        return hashlib.sha256(self._json.encode()).hexdigest()[:16]

    # -- text

    def encode(self, text: str | Sentence) -> list[int]:
        """The ids of a text; `decode` gives it back."""
        sentence = split(text) if isinstance(text, str) else text
        ids = [token_id for word in self.encode_words(sentence.words) for token_id in word]
        if sentence.tail:
            ids += self._pieces(sentence.tail if sentence.words else " " + sentence.tail)
        return ids

    def encode_target(self, text: str | Sentence) -> list[int]:
        """The ids of a text as a target, where sources are segmented otherwise; here the same."""
        return self.encode(text)

    def encode_words(self, words: Sequence[Word]) -> list[tuple[int, ...]]:
        """The ids of each word, its spacing included; the first is encoded as if a space stood before it."""
        return [
            tuple(token_id for unit in units_of(word, first=number == 0) for token_id in self._pieces(unit))
            for number, word in enumerate(words)
        ]

    def decode(self, ids: Iterable[int]) -> str:
        """The text that ids spell; control tokens and labels are left out."""
        return self._text(ids).removeprefix(" ")

    def _text(self, ids: Iterable[int]) -> str:
        return b"".join(self._bytes[token_id] for token_id in ids).decode("utf-8", errors="replace")

    def piece(self, token_id: int) -> bytes:
        """The bytes of a text id, a leading space where a word begins; empty for a control token."""
        return self._bytes[token_id]

    def _pieces(self, unit: str) -> tuple[int, ...]:
        known = self._known.get(unit)
        if known is None:
            try:
                known = self._segment(unit)
            except (UnicodeEncodeError, TypeError):
                raise InputError(
                    f"{unit!r} holds half a surrogate pair, which is no text", remedy="save the text as UTF-8"
                ) from None
            if len(self._known) < MOST_REMEMBERED:
                self._known[unit] = known
        return known

    def _segment(self, unit: str) -> tuple[int, ...]:
        return tuple(self._merge("".join(map(_SPELLING.__getitem__, unit.encode()))))

    # -- labels and control tokens

    def label_id(self, label: str) -> int:
        """The id of a label, `T` included."""
        return find_label(self._label_ids, label)

    def is_label(self, token_id: int) -> bool:
        """Whether an id is an open label."""
        return TOP_ID <= token_id < self.first_text_id

    def is_word(self, token_id: int) -> bool:
        """Whether an id is a piece of a word: no control token, no label, no mere white space."""
        piece = self._bytes[token_id]
        return piece[-1:].isalnum() or bool(piece.decode("utf-8", errors="replace").strip())

    def encode_tokens(self, tokens: Iterable[Token]) -> list[int]:
        """The ids of a context or infill whose words are given as `Word`s or as tuples of ids."""
        return ids_of(tokens, self.label_id, PART_ID, self._word_ids)

    def _word_ids(self, word: Word) -> Iterator[int]:
        return (token_id for unit in units_of(word, first=False) for token_id in self._pieces(unit))

    def decode_tokens(self, ids: Iterable[int]) -> list[Token]:
        """Ids as labels, `PART`, and text in between as the words that it splits into, with their spacing."""
        first = self.first_text_id
        return tokens_of(ids, first.__le__, self._label_of, PART_ID, lambda run: split(self._text(run)).words)


def _pair(merge: str | Sequence[str]) -> tuple[str, str]:
    first, second = merge.split(" ") if isinstance(merge, str) else merge
    return first, second


def _blank(model: Any) -> Tokenizer:
    from tokenizers import Tokenizer, decoders, pre_tokenizers

    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _units(words: Iterable[Word]) -> Iterator[str]:
    for number, word in enumerate(words):
        yield from units_of(word, first=number == 0)


def units_of(word: Word, first: bool) -> tuple[str, ...]:
    """The units of a word for byte-pair encoding: the word with the space before it, other white space apart."""
    space = " " + word.space if first else word.space
    if space in ("", " "):
        return (space + word.text,)
    return (space[:-1], " " + word.text) if space.endswith(" ") else (space, word.text)


def _piece_bytes(vocabulary: dict[str, int]) -> list[bytes]:
    """The bytes of every id: pieces are spelled in the 256 characters that stand for bytes; controls have none."""
    byte_of = _byte_alphabet()
    pieces = [b""] * len(vocabulary)
    for piece, token_id in vocabulary.items():
        if not piece.startswith("⟨"):
            pieces[token_id] = bytes(byte_of[character] for character in piece)
    return pieces


def _byte_alphabet() -> dict[str, int]:
    """The character that spells each byte, as in the library: itself where printable, else from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + index): byte for index, byte in enumerate(others)}


_SPELLING: Final = [character for character, _ in sorted(_byte_alphabet().items(), key=lambda item: item[1])]
"""The character that spells each byte."""
