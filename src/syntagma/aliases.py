"""Names of an earlier release: read for one more, with a warning on stderr.

The one table of them.  `renamed` serves settings in files, in arguments and in requests; `FLAGS` the command line.

>>> renamed("SearchOptions", {"beam": 3, "coin": False, "rank": "whole"})
{'beam': 3, 'known_words_only': True, 'rerank': 'seq2seq'}
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


def _same(value: Any) -> Any:
    return value


def _negated(value: Any) -> Any:
    return not value if isinstance(value, bool) else value


def _reranker(value: Any) -> Any:
    return {"score": "none", "whole": "seq2seq"}.get(value, value)


class Alias(NamedTuple):
    """The present name of a setting, and its value there."""

    name: str
    value: Callable[[Any], Any] = _same


ALIASES: dict[str, dict[str, Alias]] = {
    "SearchOptions": {
        "novel": Alias("forbid_copy"),
        "stutter": Alias("no_adjacent_repeats", _negated),
        "adjacent_repeats": Alias("no_adjacent_repeats", _negated),
        "coin": Alias("known_words_only", _negated),
        "rank": Alias("rerank", _reranker),
        "back": Alias("channel_weight"),
        "diversity": Alias("diversity_penalty"),
        "groups": Alias("num_beam_groups"),
    },
    "ModelConfig": {
        "whole": Alias("seq2seq_objective"),
        "slots": Alias("label_index"),
        "max_slots": Alias("max_open_labels"),
    },
}
"""For each class of settings: former names."""

FLAGS: dict[str, str] = {
    "--engine": "--executor",
    "--each-ref": "--per-reference",
    "--skip-filter": "--skip",
}
"""Former flags of any command that has the present one, or the setting of its name."""

GONE: dict[tuple[str, str], tuple[str, str]] = {
    ("--engine", "ctranslate2"): (
        "CTranslate2 runs models in `syntagma bench` only",
        "leave --engine out, and give the model that was exported for it",
    ),
}
"""Former flags with values that nothing replaces: what is wrong, and what to do."""

_warned: set[str] = set()


def renamed(kind: str, values: Mapping[str, Any], warn: bool = False) -> dict[str, Any]:
    """Settings of a class under their present names; those given under a former one win."""
    aliases = ALIASES.get(kind, {})
    present = {name: value for name, value in values.items() if name not in aliases}
    for name, value in values.items():
        if name in aliases:
            alias = aliases[name]
            present[alias.name] = alias.value(value)
            if warn:
                tell(name, f"{alias.name}={present[alias.name]!r}")
    return present


def tell(former: str, present: str) -> None:
    """Say once on stderr that a name has changed."""
    if former not in _warned:
        _warned.add(former)
        print(f"syntagma: {former!r} is now {present}; the old name goes with the next release", file=sys.stderr)
