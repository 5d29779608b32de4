"""The items of a blind comparison from what two systems wrote for the same sources (`generate --json`)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from syntagma.errors import InputError, Place
from syntagma.files import read_lines
from syntagma.serve.compare import Item

Record = tuple[str, tuple[str, ...]]
"""A source and its hypotheses, best first."""


@dataclass(frozen=True)
class Sampled:
    """The items that were drawn, in the order of the sources, and what of the outputs could not be among them."""

    items: tuple[Item, ...]
    without_output: int
    """Sources for which one of the systems has written nothing."""
    equal: int
    """Sources for which both have written the same."""


def sample_items(
    first: Path, second: Path, names: tuple[str, str], sample: int | None, *, nbest: int = 1, seed: int = 1
) -> Sampled:
    """Draw so many sources, all where None, for which two systems have written something and not the same.

    An item's id is the line of its source, so the same sources keep their ids in other samples.
    """
    if names[0] == names[1]:
        raise InputError(f"both systems are called {names[0]!r}", remedy="give --names A,B")
    fit, silent, equal = [], 0, 0
    for number, (record, other) in enumerate(_aligned(first, second), 1):
        texts = record[1][:nbest], other[1][:nbest]
        if not (texts[0] and texts[1]):
            silent += 1
        elif texts[0] == texts[1]:
            equal += 1
        else:
            fit.append(Item(str(number), record[0], dict(zip(names, texts, strict=True))))
    if not fit:
        raise InputError("the two systems differ nowhere", Place(str(second)), "give the outputs of another system")
    if sample is not None and sample < len(fit):
        drawn = sorted(random.Random(seed).sample(range(len(fit)), sample))
        fit = [fit[index] for index in drawn]
    return Sampled(tuple(fit), silent, equal)


def _aligned(first: Path, second: Path) -> Iterator[tuple[Record, Record]]:
    for number, (record, other) in enumerate(zip_longest(_records(first), _records(second)), 1):
        if record is None or other is None:
            short, long = (first, second) if record is None else (second, first)
            what = f"it has {number - 1} records and {long} has more"
            raise InputError(what, Place(str(short)), "give outputs for the same sources")
        if record[0] != other[0]:
            what = f"its source is not the one in {first}"
            raise InputError(what, Place(str(second), number), "give outputs for the same sources")
        yield record, other


def _records(path: Path) -> Iterator[Record]:
    for number, line in enumerate(read_lines(path), 1):
        try:
            values = json.loads(line)
            source, texts = values["source"], tuple(hypothesis["text"] for hypothesis in values["hypotheses"])
        except (ValueError, LookupError, TypeError):
            place = Place(str(path), number)
            raise InputError("this is no record of outputs", place, "give what `generate --json` writes") from None
        yield str(source or ""), texts
