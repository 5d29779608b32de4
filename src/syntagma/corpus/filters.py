"""Cleaning and filters before a pair is parsed: white space and escapes made plain, and the reasons not to train on it.

>>> normalise("  He said\\u00a0-LRB- softly -RRB-  no . ")
'He said ( softly ) no .'
>>> measure(["I", "ate", "."]), measure(["他写了一封信", "。"])
(3, 7)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, TypeAlias, TypeVar

from syntagma.corpus.hashing import draw
from syntagma.corpus.options import CorpusOptions
from syntagma.corpus.readers import InputRow
from syntagma.errors import ConfigError
from syntagma.text import Sentence
from syntagma.text.language import script_of

Value = TypeVar("Value")
Reason: TypeAlias = "tuple[str, str]"
"""The name under which a rejected pair is counted, and what was wrong in particular."""

_ESCAPES = {"lrb": "(", "rrb": ")", "lsb": "[", "rsb": "]", "lcb": "{", "rcb": "}"}
_ESCAPE = re.compile(r"(?<!\S)-(lrb|rrb|lsb|rsb|lcb|rcb)-(?!\S)", re.IGNORECASE)
_LETTERS = re.compile(r"[^\W\d_]+")
_ALIASES = {"HAN": "CJK"}


def normalise(text: str) -> str:
    """Single spaces inside, none outside; the Treebank's `-LRB-` and its kin, standing alone, are brackets again."""
    text = " ".join(text.split())
    return _ESCAPE.sub(lambda match: _ESCAPES[match.group(1).lower()], text) if "b-" in text or "B-" in text else text


def measure(words: Sequence[str]) -> int:
    """The length in words; in scripts without word spaces (Han, kana) every character counts."""
    return sum(1 if word.isascii() else max(1, sum(map(_spaceless, word))) for word in words)


def _spaceless(character: str) -> bool:
    return "\u2e80" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff" or character >= "\U00020000"


def script_share(text: str, scripts: str) -> float:
    """How many of the letters belong to one of the scripts, written `Han+Hiragana`; 1 where there are no letters."""
    wanted = {_ALIASES.get(name.upper(), name.upper()) for name in scripts.split("+")}
    letters = [kind for kind in map(script_of, text) if kind]
    return sum(kind in wanted for kind in letters) / len(letters) if letters else 1.0


class LengthLimits(Protocol):
    """How many words a side may have, and how many of the longer for one of the shorter."""

    @property
    def min_words(self) -> int: ...  # noqa: D102
    @property
    def max_words(self) -> int: ...  # noqa: D102
    @property
    def max_ratio(self) -> float | None: ...  # noqa: D102


def refuse_lengths(options: LengthLimits, source: str, target: str, cut: Callable[[str], Sentence]) -> Reason | None:
    """Why a pair is too short, too long or too uneven, or None; `cut` gives a text's words."""
    if options.max_ratio is None and all(_fits(options, text) for text in (source, target)):
        return None
    lengths = {"source": measure(cut(source).texts()), "target": measure(cut(target).texts())}
    for side, length in lengths.items():
        if length < options.min_words:
            return "too-short", f"the {side} has {length} words"
        if length > options.max_words:
            return "too-long", f"the {side} has {length} words"
    if options.max_ratio is not None:
        ratio = max(lengths.values()) / max(1, min(lengths.values()))
        if ratio > options.max_ratio:
            return "length-ratio", f"{lengths['source']} words to {lengths['target']}"
    return None


def _fits(options: LengthLimits, text: str) -> bool:
    """Whether a text has the right length whatever its words are: at least what spaces part, at most letters."""
    return len(text) <= options.max_words and (options.min_words == 1 or text.count(" ") + 1 >= options.min_words)


def refuse_script(options: CorpusOptions, source: str, target: str) -> Reason | None:
    """Why a pair is written in the wrong script, or None."""
    sides = (("source", source, options.source_script), ("target", target, options.target_script))
    for side, text, scripts in sides:
        if scripts is not None and (share := script_share(text, scripts)) < options.script_share:
            return "script", f"{share:.2f} of the {side}'s letters are {scripts}"
    return None


def refuse_swaps(options: CorpusOptions, source: str, target: str) -> Reason | None:
    """Why a pair says one thing on one side and its opposite on the other, or None.

    >>> from syntagma.corpus.options import Input
    >>> options = CorpusOptions((Input("pairs.tsv"),), no_swap=("he,his/she,her",))
    >>> refuse_swaps(options, "She left.", "He left.")
    ('swap', 'the source has she, the target he')
    """
    for item in options.no_swap:
        in_source, in_target = (
            [words & group for group in _groups(item)] for words in map(_lower_words, (source, target))
        )
        if any(in_source) and any(in_target) and list(map(bool, in_source)) != list(map(bool, in_target)):
            matched = [" and ".join(sorted(frozenset().union(*groups))) for groups in (in_source, in_target)]
            return "swap", f"the source has {matched[0]}, the target {matched[1]}"
    return None


@lru_cache(maxsize=64)
def _groups(item: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(group.lower().replace(",", " ").split()) for group in item.split("/"))


def _lower_words(text: str) -> frozenset[str]:
    return frozenset(_LETTERS.findall(text.lower()))


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rows are asked for, by the values of their other columns."""

    where: tuple[tuple[str, frozenset[str]], ...]
    fractions: tuple[tuple[str, str, float], ...]
    seed: int

    @staticmethod
    def of(options: CorpusOptions) -> Selection:
        """The selection that the options spell."""
        where = tuple(_read(item, "where", _values) for item in options.where)
        thin = (_read(item, "keep_fraction", _fraction) for item in options.keep_fraction)
        return Selection(where, tuple((column, value, share) for column, (value, share) in thin), options.seed)

    def asks_for(self, row: InputRow) -> bool:
        """Whether a row has the values that are asked for."""
        return all((row.others or {}).get(column) in values for column, values in self.where)

    def refuse(self, row: InputRow, key: int) -> Reason | None:
        """Why a row is left out, or None; `key` is its pair's, whatever the direction."""
        others = row.others or {}
        for column, values in self.where:
            if others.get(column) not in values:
                return "where", f"{column} is {others.get(column)!r}"
        for column, value, share in self.fractions:
            if others.get(column) == value and draw(key, self.seed) >= share:
                return "keep-fraction", f"{column} is {value!r}"
        return None


def _read(item: str, option: str, read: Callable[[str], Value]) -> tuple[str, Value]:
    column, equals, value = item.partition("=")
    try:
        if not column or not equals:
            raise ValueError
        return column, read(value)
    except ValueError:
        form = "COLUMN=VALUE[,VALUE]" if option == "where" else "COLUMN=VALUE:SHARE, the share between 0 and 1"
        raise ConfigError(f"{option} {item!r} cannot be read", remedy=f"write it as {form}") from None


def _values(text: str) -> frozenset[str]:
    return frozenset(text.split(","))


def _fraction(text: str) -> tuple[str, float]:
    value, _, share = text.rpartition(":")
    if not 0 <= float(share) <= 1:
        raise ValueError
    return value, float(share)
