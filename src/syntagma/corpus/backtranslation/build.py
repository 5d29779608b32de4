"""Text into paraphrase pairs, from start to end.

    input    rows are read, spooled in chunks, and their words counted  work/spool-N.json, work/input.json
    models   Marian models are converted                                work/model-*
    chunks   translated and judged by the workers                       work/chunk-N.*
    end      all in one file each, then the facts; the work folder goes pairs.tsv, rejects.jsonl, about.json

Every file is written whole or not at all and depends on the options and the input alone.  So a run that was killed goes
on with what is missing when the same command is given again, and ends with the same bytes.  `about.json` comes last: a
folder that has one is complete.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from syntagma import __version__
from syntagma.corpus.backtranslation.chunks import Paraphrasing, Tally, WholeInput, chunk_file, sentence_key
from syntagma.corpus.backtranslation.filters import WordCounts
from syntagma.corpus.backtranslation.options import BacktranslationOptions
from syntagma.corpus.backtranslation.translators import kind_of, open_folder
from syntagma.corpus.filters import normalise
from syntagma.corpus.hashing import KeySet, pair_key
from syntagma.corpus.ingest import Chunk, RawPair
from syntagma.corpus.options import CorpusOptions, Input
from syntagma.corpus.readers import InputRow, Rows, check_inputs, is_text
from syntagma.corpus.workdir import WORK, Product, StaleWork, make_or_resume
from syntagma.errors import InputError, Place
from syntagma.executors import Progress, Watch, run, session, usable_cores
from syntagma.files import atomic_write, locked, read_lines, scan_lines, source_name
from syntagma.hub import hash_folder

PAIRS: Final = Product("set of pairs", "about.json", ("pairs.tsv", "rejects.jsonl"), BacktranslationOptions.from_dict)
ARGUMENTS: Final = "arguments"
"""The name of an input that is given as texts."""


def backtranslate(
    options: BacktranslationOptions,
    out: str | Path,
    *,
    texts: Sequence[str] | None = None,
    executor: str = "local",
    workers: int | None = None,
    overwrite: bool = False,
    watch: Watch = lambda _: None,
) -> dict[str, Any]:
    """Make the pairs, or what is missing of them, in the folder `out`; what `about.json` says.

    `texts` are the sentences themselves, in place of the files that the options name.
    """
    folder = Path(out)
    workers = workers or usable_cores()
    if texts is None:
        check_inputs(CorpusOptions(tuple(map(Input, options.inputs)), exclude=options.exclude))
    models = [Path(name) for name in (options.there, options.back) if name is not None]
    for model in models:
        kind_of(model)
    options = replace(options, weights=tuple(map(hash_folder, models)))
    with locked(folder), session(executor, workers):
        make = partial(_make, options, folder, texts, executor, workers, watch)
        make_or_resume(folder, options, overwrite, make, PAIRS)
    about: dict[str, Any] = json.loads((folder / PAIRS.facts).read_text(encoding="utf-8"))
    return about


def _make(
    options: BacktranslationOptions,
    folder: Path,
    texts: Sequence[str] | None,
    executor: str,
    workers: int,
    watch: Watch,
) -> None:
    work = (folder / WORK).absolute()
    spooled, rows = _read(options, work, texts, watch)
    there = None if options.there is None else open_folder(options.there, work / "model-there")
    back = open_folder(options.back, work / "model-back")
    tallies = _paraphrase(Paraphrasing(options, work, there, back), spooled, rows, executor, workers, watch)
    _gather(folder / "pairs.tsv", [chunk_file(work, tally.number, "tsv") for tally in tallies])
    _gather(folder / "rejects.jsonl", [chunk_file(work, tally.number, "rejects.jsonl") for tally in tallies])
    _write_facts(options, folder, tallies)
    shutil.rmtree(work, ignore_errors=True)


# -- input


def _read(
    options: BacktranslationOptions, work: Path, texts: Sequence[str] | None, watch: Watch
) -> tuple[list[Path], int]:
    """All rows in files of a chunk each, with what the whole input tells beside them; the files, and how many rows."""
    held_out = KeySet()
    for path in options.exclude:
        fields = (field for line in read_lines(path) for field in line.split("\t"))
        held_out.add(np.array([sentence_key(field) for field in fields if field.strip()], np.uint64))
    words = WordCounts()
    digest = blake2b(digest_size=16)
    seen = KeySet()
    spooled: list[Path] = []
    count = usable = 0
    rows = _rows(options, texts)
    while some := list(islice(rows, options.chunk_rows)):
        if not spooled:
            _check_columns(some)
        entries = _mark_repeated([_entry(count + 1 + index, row) for index, row in enumerate(some)], seen, held_out)
        for entry in entries:
            digest.update(repr((entry.file, entry.source, entry.target, entry.reason)).encode("utf-8", "replace"))
            if entry.reason is None:
                words.add(entry.source)
                usable += 1
        spool = work / f"spool-{len(spooled):06d}.json"
        Chunk(len(spooled), len(some), "", entries).save(spool)
        spooled.append(spool)
        count += len(some)
        watch(Progress("read", count, None))
    if not usable:
        names = ", ".join(map(source_name, options.inputs))
        raise InputError("there are no sentences", Place(names), "give text with a sentence a line")
    more = () if options.words is None else [line.strip() for line in read_lines(options.words)]
    keys = tuple(held_out.keys().tolist())
    whole = WholeInput(digest.hexdigest(), words.known(max(1, options.min_sentences), more), keys)
    _check_same_input(work, whole)
    whole.save(work / "input.json")
    return spooled, count


def _check_columns(rows: Sequence[InputRow]) -> None:
    if all(row.reason == "missing-column" for row in rows):
        what = f"no line has the columns asked for ({rows[0].detail} in line {rows[0].line})"
        raise InputError(
            what, Place(rows[0].file), "give foreign<TAB>English lines, or name the columns with --columns"
        )


def _check_same_input(work: Path, whole: WholeInput) -> None:
    path = work / "input.json"
    if path.exists() and WholeInput.load(path) != whole:
        what = "the input, or what it excludes, has changed since these pairs were begun"
        raise StaleWork(what, Place(str(work.parent)), "give the same input again, or --overwrite to start anew")


def _rows(options: BacktranslationOptions, texts: Sequence[str] | None) -> Iterator[InputRow]:
    """The rows of the input: `target` is the foreign side of a bitext, and empty otherwise."""
    if texts is not None:
        for number, text in enumerate(texts, 1):
            yield InputRow(ARGUMENTS, number, "train", text)
        return
    if options.bitext:
        for row in Rows(CorpusOptions(tuple(map(Input, options.inputs)), columns=options.columns)):
            row.source, row.target = row.target, row.source
            yield row
        return
    for path in options.inputs:
        for number, line in enumerate(scan_lines(path), 1):
            row = InputRow(source_name(path), number, "train")
            if isinstance(line, InputError):
                row.reason, row.detail = "not-utf-8", line.what
            else:
                row.source = line
            yield row


def _entry(number: int, row: InputRow) -> RawPair:
    source, target = normalise(row.source), normalise(row.target)
    entry = RawPair(number, row.file, row.line, row.split, False, source, target, key=pair_key(source, target))
    if row.reason is not None:
        return entry._replace(reason=row.reason, detail=row.detail)
    if not source:
        return entry._replace(reason="empty-line", detail="there is no sentence")
    return entry if is_text(source) else entry._replace(reason="nul", detail="there is a NUL byte in it")


def _mark_repeated(entries: list[RawPair], seen: KeySet, held_out: KeySet) -> list[RawPair]:
    """Give sentences that were there before, and those that must not be used, their reason."""
    usable = [number for number, entry in enumerate(entries) if entry.reason is None]
    keys = np.array([sentence_key(entries[number].source) for number in usable], np.uint64)
    excluded = held_out.has(keys)
    pairs = np.array([pair_key(str(key), entries[number].target) for number, key in zip(usable, keys, strict=True)])
    new = seen.add(pairs.astype(np.uint64))
    for number, is_excluded, is_new in zip(usable, excluded, new, strict=True):
        if is_excluded:
            entries[number] = entries[number]._replace(reason="held-out-sentence", detail="it is in an excluded file")
        elif not is_new:
            entries[number] = entries[number]._replace(reason="repeated-sentence", detail="it was there before")
    return entries


# -- work


def _paraphrase(
    work: Paraphrasing, spooled: Sequence[Path], rows: int, executor: str, workers: int, watch: Watch
) -> list[Tally]:
    """The tallies of all chunks; those that are done are not done again."""
    tallies = {number: tally for number in range(len(spooled)) if (tally := _done(work.work, number)) is not None}
    missing = [path for number, path in enumerate(spooled) if number not in tallies]
    before = done = sum(tally.rows for tally in tallies.values())
    watch(Progress("paraphrase", done, rows, before))
    for tally in run(executor, work, missing, min(workers, max(1, len(missing)))):
        tallies[tally.number] = tally
        done += tally.rows
        watch(Progress("paraphrase", done, rows, before))
    return [tallies[number] for number in sorted(tallies)]


def _done(work: Path, number: int) -> Tally | None:
    try:
        return Tally(**json.loads(chunk_file(work, number, "json").read_text(encoding="utf-8")))
    except OSError:
        return None


# -- end


def _gather(path: Path, parts: Sequence[Path]) -> None:
    with atomic_write(path, "wb") as stream:
        for part in parts:
            with open(part, "rb") as lines:
                shutil.copyfileobj(lines, stream)


def _write_facts(options: BacktranslationOptions, folder: Path, tallies: Sequence[Tally]) -> None:
    kept, rows_rejected, rejected = Counter[str](), Counter[str](), Counter[str]()
    for tally in tallies:
        kept.update(tally.kept)
        rows_rejected.update(tally.rows_rejected)
        rejected.update(tally.candidates_rejected)
    pairs = kept.total()
    counts = {
        "rows": sum(tally.rows for tally in tallies),
        "rows_rejected": rows_rejected.total(),
        "sentences": sum(tally.sentences for tally in tallies),
        "candidates": sum(tally.candidates for tally in tallies),
        "candidates_rejected": rejected.total(),
        "kept": pairs,
    }
    models = {
        name: {"folder": str(model), "kind": kind_of(Path(model)), "weights": weights}
        for (name, model), weights in zip(
            [(name, model) for name, model in (("there", options.there), ("back", options.back)) if model is not None],
            options.weights,
            strict=True,
        )
    }
    about = {
        "made_by": f"syntagma {__version__}",
        "options": options.to_dict(),
        "models": models,
        "counts": counts,
        "rows_rejected": dict(rows_rejected.most_common()),
        "candidates_rejected": dict(rejected.most_common()),
        "origins": dict(kept.most_common()),
        "mean_cosine": round(sum(tally.cosine for tally in tallies) / pairs, 4) if pairs else None,
        "mean_overlap": round(sum(tally.overlap for tally in tallies) / pairs, 4) if pairs else None,
    }
    with atomic_write(folder / PAIRS.facts) as stream:
        json.dump(about, stream, ensure_ascii=False, indent=1)
        stream.write("\n")
