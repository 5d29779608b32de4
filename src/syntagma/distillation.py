"""Sequence-level knowledge distillation (Kim and Rush 2016), as the paper uses it for translation.

A teacher writes the targets of a corpus's training sources anew; the result is parsed and prepared like any corpus,
with the same vocabulary, and the dev and test pairs as they were.  Both steps go on where they were stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from torch import Tensor

from syntagma.corpus import Corpus, Options, prepare
from syntagma.corpus.options import Input
from syntagma.corpus.store import Split
from syntagma.errors import ConfigError, InputError, Place, SyntagmaError
from syntagma.files import lines_begun, write_whole
from syntagma.hub import find_folder, hash_folder
from syntagma.model.storage import hash_weights
from syntagma.search import Generator
from syntagma.search.spread import Found, Work, processes_for, spread

PAIRS = "pairs"
"""What the folder beside the result is called where the teacher's pairs are written."""


@dataclass(frozen=True)
class Teacher:
    """The work that a teacher does with sources, and a teacher at hand."""

    work: Work
    generator: Generator

    @staticmethod
    def load(name: str, beam: int | None = None, score: str | None = None, batch: int = 64) -> Teacher:
        """The model of that name, with the beam that it shall use."""
        given = {key: value for key, value in (("beam", beam), ("score", score)) if value is not None}
        generator = Generator.from_pretrained(name)
        generator.defaults = generator.defaults.changed(given)
        return Teacher(Work(name, given, batch=batch), generator)

    def write(self, sources: Iterable[str], workers: int) -> Iterator[Found]:
        """What it makes of each source, in their order."""
        if workers == 1:
            return self.generator.stream(sources, batch=self.work.batch)
        return spread(self.work, sources, workers=workers)

    @property
    def fingerprint(self) -> str:
        """The same for equal weights, vocabularies and searches."""
        held: Mapping[str, Tensor] = getattr(self.generator.network, "state_dict", dict)()
        weights = hash_weights(held) if held else hash_folder(find_folder(self.work.model, "model", "model"))
        return f"{weights} {self.generator.vocabulary.fingerprint} {self.generator.defaults}"


def distill(
    teacher: Teacher,
    corpus: Corpus,
    out: Path,
    *,
    workers: int | None = None,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> Corpus:
    """A corpus of the teacher's outputs in `out`; `told` hears how many sources are done, of how many."""
    split = corpus.split("train")
    pairs = out.with_name(out.name + "." + PAIRS)
    pairs.mkdir(parents=True, exist_ok=True)
    _check_same_run(pairs, teacher, corpus)
    _write_targets(teacher, split, pairs / "train.tsv", workers or processes_for(len(split)), told)
    inputs = [Input(str(pairs / "train.tsv"))]
    for name in ("dev", "test"):
        if name in corpus.splits:
            _copy_split(corpus, name, pairs / f"{name}.tsv")
            inputs.append(Input(str(pairs / f"{name}.tsv"), split=name))
    old = corpus.options
    options = Options(
        inputs=tuple(inputs),
        max_words=old.max_words,
        keep_identical=True,  # a teacher may copy, and the student shall learn what it does
        keep_duplicates=old.keep_duplicates,
        parser="neural" if old.trees is not None else old.parser,
        max_levels=old.max_levels,
        labels=old.labels,
        seed=old.seed,
        tokenizer=str(corpus.folder / "tokenizer.json"),
    )
    return prepare(options, out, workers=workers)


def _check_same_run(pairs: Path, teacher: Teacher, corpus: Corpus) -> None:
    """Refuse to mix the outputs of two teachers or two searches in one file."""
    mine = f"{teacher.fingerprint} {corpus.fingerprint} {len(corpus.split('train'))}\n"
    note = pairs / "run.txt"
    if note.exists():
        if note.read_text(encoding="utf-8") != mine:
            what = "another teacher, corpus or search began this distillation"
            raise ConfigError(what, Place(str(pairs)), "give another --out, or remove that folder")
        return
    with write_whole(note) as stream:
        stream.write(mine)


def _write_targets(teacher: Teacher, split: Split, path: Path, workers: int, told: Callable[[int, int], None]) -> None:
    """A line `source<TAB>output` for each training pair, in order; goes on after the last whole line."""
    if path.exists():
        return
    part = path.with_suffix(".part")
    done = lines_begun(part)
    sources: list[str] = []

    def waiting() -> Iterator[str]:
        for pair in islice(iter(split), done, None):
            sources.append(pair.source)
            yield pair.source

    with open(part, "ab") as stream:
        for number, found in enumerate(teacher.write(waiting(), workers), done + 1):
            source = sources.pop(0)
            text = "" if isinstance(found, SyntagmaError) or not found else " ".join(found[0].text.split())
            stream.write(f"{source}\t{text}\n".encode())  # an empty target is a reject of `prepare`, with its line
            if number % 100 == 0:
                stream.flush()
                told(number, len(split))
    part.rename(path)
    told(len(split), len(split))


def _copy_split(corpus: Corpus, name: str, path: Path) -> None:
    if path.exists():
        return
    with write_whole(path) as stream:
        for pair in corpus.split(name):
            stream.write(f"{pair.source}\t{pair.target}\n")


def check_output(out: Path, corpus: Path) -> None:
    """The result must not overwrite the corpus it is made from."""
    if out.resolve() == corpus.resolve():
        raise InputError("the result would overwrite its corpus", Place(str(out)), "give another --out")
