"""A chunk of sentences translated, judged and written: the work that is shared among processes.

Three files result in the work folder, each written whole, the tally last: `chunk-N.tsv` with the pairs that were kept,
`chunk-N.rejects.jsonl` with what was not, and `chunk-N.json` with the counts.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from syntagma.corpus.backtranslation.filters import (
    ALONE,
    FILTERS,
    SIMILARITY,
    KnownWords,
    Limits,
    PairToJudge,
    first_reason,
    overlap,
    plain_words,
)
from syntagma.corpus.backtranslation.options import BacktranslationOptions
from syntagma.corpus.backtranslation.translators import Translator, TranslatorFolder
from syntagma.corpus.filters import Reason
from syntagma.corpus.hashing import KeySet, pair_key
from syntagma.corpus.ingest import Chunk, RawPair
from syntagma.files import atomic_write
from syntagma.metrics.similarity import SentenceEncoder


def sentence_key(text: str) -> int:
    """The key of a sentence; case, punctuation and contractions make no difference."""
    return pair_key(" ".join(plain_words(text)), "")


@dataclass(frozen=True)
class WholeInput:
    """Facts known only when all of the input has been read: its digest, its words, and what must not be used."""

    digest: str
    known: KnownWords
    held_out: tuple[int, ...] = ()

    def save(self, path: Path) -> None:
        """Write it for the workers, and for a run that goes on."""
        values = {
            "digest": self.digest,
            "common": sorted(self.known.common),
            "names": sorted(self.known.names),
            "held_out": self.held_out,
        }
        with atomic_write(path) as stream:
            json.dump(values, stream, ensure_ascii=False)

    @staticmethod
    def load(path: Path) -> WholeInput:
        """Read what `save` wrote."""
        values = json.loads(path.read_text(encoding="utf-8"))
        known = KnownWords(frozenset(values["common"]), frozenset(values["names"]))
        return WholeInput(values["digest"], known, tuple(values["held_out"]))


@dataclass(slots=True)
class Tally:
    """The counts of a chunk: its rows are rejected or sentences, their candidates are rejected or kept."""

    number: int
    rows: int
    sentences: int = 0
    candidates: int = 0
    kept: dict[str, int] = field(default_factory=dict)
    """By origin."""
    rows_rejected: dict[str, int] = field(default_factory=dict)
    candidates_rejected: dict[str, int] = field(default_factory=dict)
    cosine: float = 0.0
    """The sum over the pairs kept."""
    overlap: float = 0.0

    def check(self) -> Tally:
        """Nothing is dropped silently."""
        rows = self.sentences + sum(self.rows_rejected.values())
        candidates = sum(self.kept.values()) + sum(self.candidates_rejected.values())
        if rows != self.rows or candidates != self.candidates:
            raise AssertionError(f"the counts of chunk {self.number} do not add up: {self}")
        return self


class Judged(NamedTuple):
    """A candidate: the row that it comes from, its text, and the verdict."""

    entry: RawPair
    text: str
    reason: Reason | None = None
    cosine: float | None = None


class Paraphrasing:
    """The work on one chunk; each process loads the models once, when it first needs them."""

    def __init__(
        self,
        options: BacktranslationOptions,
        work: Path,
        there: TranslatorFolder | None,
        back: TranslatorFolder,
    ) -> None:
        self.options = options
        self.work = work
        self.there = there
        self.back = back
        self._loaded: _Loaded | None = None

    def __getstate__(self) -> tuple[Any, ...]:
        return self.options, self.work, self.there, self.back

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.options, self.work, self.there, self.back = state
        self._loaded = None

    def __call__(self, path: Path) -> Tally:
        """Do the chunk that is saved in a file."""
        loaded = self._loaded = self._loaded or _Loaded(self)
        chunk = Chunk.load(path)
        tally = Tally(chunk.number, chunk.rows)
        rows = [(entry, self._refuse_row(entry, loaded)) for entry in chunk.entries]
        rejects = [_reject(entry, "", reason) for entry, reason in rows if reason is not None]
        tally.rows_rejected = _counts(reason for _, reason in rows if reason is not None)
        entries = [entry for entry, reason in rows if reason is None]
        tally.sentences = len(entries)
        kept: list[str] = []
        judged = self._judge(entries, self._candidates(entries, chunk.number, loaded), loaded)
        for candidate in judged:
            if candidate.reason is not None:
                rejects.append(_reject(candidate.entry, candidate.text, candidate.reason))
                continue
            origin, share = origin_of(candidate.entry.file), overlap(candidate.entry.source, candidate.text)
            cosine = "" if candidate.cosine is None else f"{candidate.cosine:.4f}"
            kept.append(f"{candidate.entry.source}\t{candidate.text}\t{origin}\t{cosine}\t{share:.4f}\n")
            tally.kept[origin] = tally.kept.get(origin, 0) + 1
            tally.cosine += candidate.cosine or 0.0
            tally.overlap += share
        tally.candidates = len(judged)
        tally.candidates_rejected = _counts(candidate.reason for candidate in judged if candidate.reason is not None)
        self._write(tally.check(), kept, rejects)
        return tally

    def _refuse_row(self, entry: RawPair, loaded: _Loaded) -> Reason | None:
        """Why a row is not worth a translation, or None."""
        if entry.reason is not None:
            return entry.reason, entry.detail
        names = [name for name in ALONE if name not in self.options.skip]
        return first_reason(PairToJudge(entry.source, entry.source), loaded.limits, names)

    def _candidates(self, entries: Sequence[RawPair], number: int, loaded: _Loaded) -> list[list[str]]:
        """The candidates that the models make of each sentence."""
        seed = self.options.seed * 1_000_003 + number
        if loaded.there is None:
            return loaded.back.translate([entry.target for entry in entries], self.options.first_step, seed)
        foreign = loaded.there.translate([entry.source for entry in entries], self.options.first_step, seed)
        distinct = list(dict.fromkeys(text for texts in foreign for text in texts if text))
        returned = loaded.back.translate(distinct, self.options.second_step, seed)
        english = {text: translations[0] for text, translations in zip(distinct, returned, strict=True) if translations}
        return [[english.get(text, "") for text in texts] for texts in foreign]

    def _judge(self, entries: Sequence[RawPair], candidates: Sequence[list[str]], loaded: _Loaded) -> list[Judged]:
        """All candidates, in order, each with the reason to reject it, if any."""
        judged: list[Judged] = []
        for entry, texts in zip(entries, candidates, strict=True):
            seen: set[tuple[str, ...]] = set()
            for text in texts or [""]:
                words = plain_words(text)
                reason = self._refuse(entry, text, words in seen, loaded)
                judged.append(Judged(entry, text, reason))
                seen.add(words)
        if not loaded.encoder:
            return judged
        waiting = [number for number, candidate in enumerate(judged) if candidate.reason is None]
        for number, cosine in zip(waiting, loaded.cosines([judged[number] for number in waiting]), strict=True):
            candidate = judged[number]
            pair = PairToJudge(candidate.entry.source, candidate.text, cosine)
            judged[number] = candidate._replace(cosine=cosine, reason=first_reason(pair, loaded.limits, [SIMILARITY]))
        return judged

    def _refuse(self, entry: RawPair, text: str, repeated: bool, loaded: _Loaded) -> Reason | None:
        if not text:
            return "empty", "there is no translation"
        if repeated:
            return "duplicate", "the sentence has this paraphrase already"
        if loaded.is_held_out(text):
            return "held-out", "it is in an excluded file"
        return first_reason(PairToJudge(entry.source, text), loaded.limits, loaded.filters)

    def _write(self, tally: Tally, kept: Sequence[str], rejects: Sequence[str]) -> None:
        for suffix, lines in (("tsv", kept), ("rejects.jsonl", rejects)):
            with atomic_write(chunk_file(self.work, tally.number, suffix)) as stream:
                stream.writelines(lines)
        with atomic_write(chunk_file(self.work, tally.number, "json")) as stream:
            json.dump(asdict(tally), stream)


class _Loaded:
    """Models and filters that a process loads once for all its chunks."""

    def __init__(self, work: Paraphrasing) -> None:
        options = work.options
        self.there: Translator | None = work.there.load() if work.there is not None else None
        self.back: Translator = work.back.load()
        whole = WholeInput.load(work.work / "input.json")
        self.limits = Limits(
            options.min_words,
            options.max_words,
            options.max_ratio,
            max_overlap=options.max_overlap,
            min_similarity=options.min_similarity,
            known=whole.known,
            check_words=options.min_sentences > 0,
        )
        self.filters = [name for name in FILTERS if name not in (*options.skip, SIMILARITY)]
        measured = options.min_similarity > 0 and SIMILARITY not in options.skip
        self.encoder = SentenceEncoder.load() if measured else None
        self._held_out = KeySet()
        self._held_out.add(np.array(whole.held_out, np.uint64))
        if "torch" in sys.modules:  # one thread a process, and the same sums whatever the number of processes
            sys.modules["torch"].set_num_threads(1)

    def is_held_out(self, text: str) -> bool:
        """Whether a text is in an excluded file."""
        return bool(self._held_out.has(np.array([sentence_key(text)], np.uint64))[0])

    def cosines(self, pairs: Sequence[Judged]) -> list[float]:
        """How near the meanings of each sentence and its candidate are."""
        assert self.encoder is not None
        if not pairs:
            return []
        texts = list(dict.fromkeys(text for pair in pairs for text in (pair.entry.source, pair.text)))
        vectors = dict(zip(texts, self.encoder.encode(texts), strict=True))
        return [float(vectors[pair.entry.source] @ vectors[pair.text]) for pair in pairs]


def chunk_file(work: Path, number: int, suffix: str) -> Path:
    """The name of one of a chunk's files."""
    return work / f"chunk-{number:06d}.{suffix}"


def origin_of(file: str) -> str:
    """The name of the pairs of a file.

    >>> origin_of("data/tatoeba.en.txt.gz"), origin_of("standard input")
    ('tatoeba', 'standard-input')
    """
    return Path(file).name.partition(".")[0].replace(" ", "-") or "input"


def _counts(reasons: Iterator[Reason]) -> dict[str, int]:
    return dict(sorted(Counter(name for name, _ in reasons).items()))


def _reject(entry: RawPair, paraphrase: str, reason: Reason) -> str:
    values = {
        "row": entry.row,
        "file": entry.file,
        "line": entry.line,
        "reason": reason[0],
        "detail": reason[1],
        "source": entry.source,
        "paraphrase": paraphrase,
    }
    return json.dumps(values, ensure_ascii=False) + "\n"
