"""Tasks: their test sets, where they lie in the data folder, and the figures of their tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from syntagma.errors import ConfigError, InputError, Place
from syntagma.files import read_lines

Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class TestSet:
    """Pairs to test on: their name, how to read them from the data folder, and whether a pair serves both ways."""

    name: str
    title: str
    read: Callable[[Path], Iterator[tuple[str, str]]]
    both_ways: bool = False
    tokenize: str = "none"
    """BLEU's tokenisation."""
    printed: Mapping[str, Mapping[str, float]] | None = None
    """What the paper prints for other systems on this set, which were trained on other data."""

    def pairs(self, data: Path) -> Pairs:
        """All pairs, sources first."""
        found = list(self.read(data))
        if not found:
            raise InputError("it holds no pairs", Place(str(data)), "check --data")
        return found + [(target, source) for source, target in found] if self.both_ways else found


def _table(*path: str) -> Callable[[Path], Iterator[tuple[str, str]]]:
    """Pairs in the first two columns of a file."""

    def read(data: Path) -> Iterator[tuple[str, str]]:
        file = data.joinpath(*path)
        for number, line in enumerate(read_lines(file), 1):
            source, tab, rest = line.partition("\t")
            if not tab:
                raise InputError(
                    "this line has no tab", Place(str(file), number), "give source and target, tab-separated"
                )
            yield source, rest.split("\t")[0]

    return read


def _parallel(folder: tuple[str, ...], sources: str, targets: str) -> Callable[[Path], Iterator[tuple[str, str]]]:
    def read(data: Path) -> Iterator[tuple[str, str]]:
        base = data.joinpath(*folder)
        left, right = (list(read_lines(base / name)) for name in (sources, targets))
        if len(left) != len(right):
            what = f"it has {len(left)} lines, {targets} has {len(right)}"
            raise InputError(what, Place(str(base / sources)), "restore both files")
        for source, target in zip(left, right, strict=True):
            yield source.strip(), target.strip()

    return read


def _row(bleu: float, self_bleu: float, ibleu: float, meteor: float, *rest: float) -> dict[str, float]:
    names = ("bleu", "self_bleu", "ibleu", "meteor", "rouge1", "rouge2", "rougeL", "d_lex", "d_syn")
    return dict(zip(names, (bleu, self_bleu, ibleu, meteor, *rest), strict=True))


_PAPER = {
    "paper: Transformer, beam 1": _row(15.2, 28.2, 2.2, 29.5, 49.8, 23.6, 49.2, 17.4, 19.8),
    "paper: guided, beam 1": _row(18.6, 15.2, 8.5, 30.8, 51.1, 26.3, 51.3, 21.6, 24.4),
    "paper: Transformer, beam 5": _row(17.6, 33.8, 2.2, 31.1, 51.9, 26.0, 51.0, 16.2, 18.1),
    "paper: guided, beam 5": _row(19.3, 16.4, 8.6, 31.5, 51.8, 27.0, 52.2, 21.5, 25.1),
}
"""Table 1 of the paper; those systems were trained on 500,000 pairs of ParaNMT."""


@dataclass(frozen=True)
class Task:
    """A table: its test sets and figures, and whether the source is a text in the target's language."""

    name: str
    model: str
    """The bundled model."""
    sets: tuple[TestSet, ...]
    dev: TestSet
    figures: tuple[str, ...]
    same_language: bool

    def restricted(self, names: Sequence[str]) -> Task:
        """The same with those test sets alone; with all where none is named."""
        known = [tested.name for tested in self.sets]
        for name in names:
            if name not in known:
                raise ConfigError(f"{self.name} has no test set {name!r}", remedy=f"choose from {', '.join(known)}")
        return replace(self, sets=tuple(tested for tested in self.sets if not names or tested.name in names))


TASKS = {
    "paraphrase": Task(
        "paraphrase",
        "paraphrase-en",
        (
            TestSet("tatoeba", "Tatoeba test", _table("paraphrase", "tatoeba", "test.tsv.gz"), True, "13a"),
            TestSet(
                "paranmt-small",
                "ParaNMT-small test (lower case)",
                _parallel(("paraphrase", "paranmt-small-test"), "test.src", "test.tgt"),
                printed=_PAPER,
            ),
        ),
        TestSet("tatoeba-dev", "Tatoeba dev", _table("paraphrase", "tatoeba", "dev.tsv.gz"), True, "13a"),
        (
            "bleu", "self_bleu", "ibleu", "meteor", "rouge1", "rouge2", "rougeL", "d_lex", "d_syn", "similarity",
            "similarity_src", "length_ratio", "copy_rate",
        ),
        True,
    ),
    "translate": Task(
        "translate",
        "translate-de-en",
        (
            TestSet("tatoeba", "Tatoeba test", _table("translation", "tatoeba-de-en", "test.tsv.gz"), tokenize="13a"),
            TestSet(
                "multi30k",
                "Multi30k test 2016",
                _table("translation", "multi30k-de-en", "test_2016_flickr.tsv.gz"),
                tokenize="13a",
            ),
        ),
        TestSet("tatoeba-dev", "Tatoeba dev", _table("translation", "tatoeba-de-en", "dev.tsv.gz"), tokenize="13a"),
        ("bleu", "chrf", "length_ratio"),
        False,
    ),
}  # fmt: skip


def task(name: str) -> Task:
    """The task of that name."""
    if name not in TASKS:
        raise ConfigError(f"there is no table {name!r}", remedy=f"choose one of {', '.join(TASKS)}")
    return TASKS[name]
