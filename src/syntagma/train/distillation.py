"""Sequence-level knowledge distillation (Kim and Rush 2016), as the paper uses it for translation.

A teacher writes the targets of a corpus's training sources anew; the result is parsed and prepared like any corpus,
with the same vocabulary, and the dev and test pairs as they were.  Both steps go on where they were stopped.  A source
that has several targets in the corpus is written once.  With `nearest` the student learns, of all that the teacher's
beam ends with, the text most like a target of the corpus (the interpolation of Kim and Rush), and where none is like
enough, the target.  Where the teacher has time for some of the sources only, the rest may stay as they are.

Texts are read as they are needed; of all pairs only keys of 8 bytes are held, and with `nearest` the targets of sources
that have several.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, product, tee
from pathlib import Path

import numpy as np
import numpy.typing as npt

from syntagma.corpus import Corpus, CorpusOptions, prepare
from syntagma.corpus.hashing import text_key
from syntagma.corpus.options import Input
from syntagma.corpus.store import Pair, Split
from syntagma.errors import ConfigError, InputError, Place, SyntagmaError
from syntagma.files import atomic_write, lines_begun, remove_parts
from syntagma.hub import WEIGHTS, find_folder, hash_file
from syntagma.metrics.base import Segment
from syntagma.metrics.lexical import ChrF
from syntagma.search import Generator
from syntagma.search.batches import AUTO
from syntagma.search.parallel import Found, SearchWork, parallel, processes_for

PAIRS = "pairs"
"""The name of the folder beside the result where the teacher's pairs are written."""

Row = tuple[str, list[str]]
"""A source, and what the corpus has for it."""


@dataclass(frozen=True)
class Teacher:
    """The work that a teacher does with sources, and a teacher at hand."""

    work: SearchWork
    generator: Generator

    @staticmethod
    def load(
        name: str,
        beam: int | None = None,
        score: str | None = None,
        batch: int | None = None,
        device: str = "auto",
        precision: str | None = None,
    ) -> Teacher:
        """The model of that name, with the beam that it shall use."""
        given = {key: value for key, value in (("beam", beam), ("score", score)) if value is not None}
        generator = Generator.from_pretrained(name, device=device, precision=precision)
        generator.defaults = generator.defaults.changed(given)
        return Teacher(SearchWork(name, given, batch=batch or AUTO, device=device, precision=precision), generator)

    def write(self, sources: Iterable[str], workers: int) -> Iterator[Found]:
        """Write an output for each source, in their order."""
        if workers == 1:
            return self.generator.stream(sources, batch=self.work.batch)
        return parallel(self.work, sources, workers=workers)

    @property
    def fingerprint(self) -> str:
        """A hash, the same for equal weights, vocabularies and searches."""
        weights = hash_file(find_folder(self.work.model, "model", "model") / WEIGHTS)
        return f"{weights} {self.generator.vocabulary.fingerprint} {self.generator.defaults}"


def distill(
    teacher: Teacher,
    corpus: Corpus,
    out: Path,
    *,
    limit: int | None = None,
    nearest: float | None = None,
    keep_rest: bool = False,
    workers: int | None = None,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> Corpus:
    """A corpus of the teacher's outputs in `out`; `told` is called with how many sources are done, of how many.

    `limit` sources are drawn at random, with the seed of the corpus, where there are more; `keep_rest` adds the pairs
    of the others.  `nearest` is the least chrF that the output most like a target must have against it.
    """
    split = corpus.split("train")
    pairs = out.with_name(out.name + "." + PAIRS)
    pairs.mkdir(parents=True, exist_ok=True)
    remove_parts(pairs)
    rest = " with the rest" if keep_rest else ""
    _check_same_run(
        pairs, f"{teacher.fingerprint} {corpus.fingerprint} {len(split)} {limit} {nearest}{rest} in order\n"
    )
    sources = _Sources.of(split, limit, corpus.options.seed)
    choose = _first if nearest is None else partial(_most_like, least=nearest)
    path = pairs / "train.tsv"
    workers = workers or processes_for(sources.count, teacher.work.device)
    _write_targets(teacher, sources, split, path, choose, workers, told)
    inputs = [Input(str(path))]
    if keep_rest and not sources.drawn.all():
        _copy_pairs((pair for pair, drawn in zip(split, sources.drawn, strict=True) if not drawn), pairs / "rest.tsv")
        inputs.append(Input(str(pairs / "rest.tsv")))
    for name in ("dev", "test"):
        if name in corpus.splits:
            _copy_pairs(corpus.split(name), pairs / f"{name}.tsv")
            inputs.append(Input(str(pairs / f"{name}.tsv"), split=name))
    old = corpus.options
    options = CorpusOptions(
        inputs=tuple(inputs),
        max_words=old.max_words,
        keep_identical=True,  # a teacher may copy, and the student shall learn what it does
        keep_duplicates=old.keep_duplicates,
        keep_overlap=old.keep_overlap,
        parser="neural" if old.trees is not None else old.parser,
        max_levels=old.max_levels,
        labels=old.labels,
        label_noise=old.label_noise,
        seed=old.seed,
        tokenizer=str(corpus.folder / "tokenizer.json"),
    )
    return prepare(options, out, workers=workers)


@dataclass(frozen=True)
class _Sources:
    """Which pairs of a split a teacher writes, known by 8-byte keys: their texts are read when it comes to them."""

    first: npt.NDArray[np.bool_]
    """For each pair, whether it is drawn and the first with its source."""
    drawn: npt.NDArray[np.bool_]
    """For each pair, whether its source is drawn."""
    shared: npt.NDArray[np.bool_]
    """For each pair, whether its source is drawn and has several targets."""

    @staticmethod
    def of(split: Split, limit: int | None, seed: int) -> _Sources:
        """The sources of a split, or so many of them at random."""
        keys = np.fromiter((text_key(source) for source in split.sources()), np.uint64, len(split))
        _, firsts, which, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        chosen = np.ones(len(firsts), bool)
        if limit is not None and limit < len(firsts):
            in_order = np.argsort(firsts, kind="stable")
            chosen[:] = False
            chosen[in_order[random.Random(seed).sample(range(len(firsts)), limit)]] = True
        first = np.zeros(len(keys), bool)
        first[firsts[chosen]] = True
        drawn = chosen[which]
        return _Sources(first, drawn, drawn & (counts[which] > 1))

    @property
    def count(self) -> int:
        """How many sources there are to write."""
        return int(self.first.sum())

    def rows(self, split: Split, with_targets: bool) -> Iterator[Row]:
        """Each source with its targets, in the order in which sources first come; targets only if asked for.

        Only the targets of sources that have several are held.
        """
        several: dict[str, list[str]] = {}
        if with_targets and self.shared.any():
            for pair, shared in zip(split, self.shared, strict=True):
                if shared:
                    several.setdefault(pair.source, []).append(pair.target)
        if not with_targets:
            yield from ((source, []) for source, first in zip(split.sources(), self.first, strict=True) if first)
            return
        for pair, first in zip(split, self.first, strict=True):
            if first:
                yield pair.source, several.get(pair.source) or [pair.target]


def _first(outputs: Sequence[str], targets: Sequence[str]) -> str:
    """The teacher's own choice."""
    return outputs[0]


def _most_like(outputs: Sequence[str], targets: Sequence[str], least: float) -> str:
    """The output whose chrF against a target is best, or that target where its chrF is below `least`.

    Of equals the one that the teacher prefers.

    >>> _most_like(["Oh no.", "He can go."], ["He can come.", "She could."], 20)
    'He can go.'
    >>> _most_like(["Oh no.", "He can go."], ["He can come.", "She could."], 80)
    'He can come.'
    """
    measure = ChrF()
    pairs = list(product(outputs, targets))
    scores = measure.segment_scores(measure.statistics([Segment(output, (target,)) for output, target in pairs]))[:, 0]
    best = int(scores.argmax())
    output, target = pairs[best]
    return output if scores[best] >= least else target


def _check_same_run(pairs: Path, description: str) -> None:
    """Refuse to mix the outputs of two teachers, searches or choices in one file."""
    note = pairs / "run.txt"
    if note.exists():
        if note.read_text(encoding="utf-8") != description:
            what = "another teacher, corpus or search began this distillation"
            raise ConfigError(what, Place(str(pairs)), "give another --out, or remove that folder")
        return
    with atomic_write(note) as stream:
        stream.write(description)


def _write_targets(
    teacher: Teacher,
    sources: _Sources,
    split: Split,
    path: Path,
    choose: Callable[[Sequence[str], Sequence[str]], str],
    workers: int,
    told: Callable[[int, int], None],
) -> None:
    """A line `source<TAB>output` for each source, in order; goes on after the last whole line."""
    if path.exists():
        return
    part = path.with_suffix(".part")
    done, count = lines_begun(part), sources.count
    to_write, rows = tee(islice(sources.rows(split, choose is not _first), done, None))
    with open(part, "ab") as stream:
        written = teacher.write((source for source, _ in to_write), workers)
        for number, ((source, targets), result) in enumerate(zip(rows, written, strict=True), done + 1):
            outputs = [] if isinstance(result, SyntagmaError) else [" ".join(output.text.split()) for output in result]
            text = choose(outputs, targets) if outputs else ""
            stream.write(f"{source}\t{text}\n".encode())  # an empty target is a reject of `prepare`, with its line
            if number % 100 == 0:
                stream.flush()
                told(number, count)
    part.rename(path)
    told(count, count)


def _copy_pairs(pairs: Iterable[Pair], path: Path) -> None:
    if path.exists():
        return
    with atomic_write(path) as stream:
        for pair in pairs:
            stream.write(f"{pair.source}\t{pair.target}\n")


def check_output(out: Path, corpus: Path) -> None:
    """Refuse an output folder that is the corpus it is made from."""
    if out.resolve() == corpus.resolve():
        raise InputError("the result would overwrite its corpus", Place(str(out)), "give another --out")
