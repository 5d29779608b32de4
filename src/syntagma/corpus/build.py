"""Pairs into a corpus, from start to end.

    chunks      rows are read in order, and parsed by the workers          work/chunk-N.*
    splits      dev and test are drawn
    vocabulary  subwords are trained, or copied                            tokenizer.json
    shards      pairs and ids are written by the workers                   pairs-*, ids-*
    end         rejects in one file, then the facts; the work folder goes  rejects.jsonl, corpus.json

Every file is written whole or not at all and depends on the options and the input alone.  So a run that was killed
goes on with what is missing when the same command is given again, and ends with the same bytes; what it does again is
read the rows, to compare them and to know the pairs seen.  `corpus.json` comes last: a folder that has one is complete.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from syntagma import __version__
from syntagma.corpus.chunks import CHUNK_FORMAT, Parsing, Summary
from syntagma.corpus.ingest import OVERLAP, ROW_REASONS, Chunk, Ingest
from syntagma.corpus.options import ALL_LABELS, SPLITS, CorpusOptions
from syntagma.corpus.readers import check_inputs, format_of
from syntagma.corpus.shards import Drawn, Sharding, ShardJob, chunk_path, draw_splits, dropped, plan_shards, spaced
from syntagma.corpus.store import FORMAT, Corpus
from syntagma.corpus.workdir import WORK, StaleWork, make_or_resume
from syntagma.errors import ConfigError, InputError, Place
from syntagma.executors import Progress, Watch, run, session, usable_cores
from syntagma.files import atomic_write, locked
from syntagma.hub import find_folder
from syntagma.parse import load_parser
from syntagma.parse.languages import language_warning
from syntagma.text import Subwords, Word, split
from syntagma.text.sentencepieces import SentencePieces
from syntagma.tree import ROOT


def prepare(
    options: CorpusOptions,
    out: str | Path,
    *,
    executor: str = "local",
    workers: int | None = None,
    overwrite: bool = False,
    watch: Watch = lambda _: None,
) -> Corpus:
    """Make the corpus, or what is missing of it, in the folder `out`."""
    folder = Path(out)
    if options.labels == ALL_LABELS:
        options = replace(options, labels=_all_labels(options.parser))
    workers = workers or usable_cores()
    check_inputs(options)
    _check_tokenizer(options)
    with locked(folder), session(executor, workers):
        make_or_resume(folder, options, overwrite, lambda: _make(options, folder, executor, workers, watch))
    return Corpus.open(folder)


def _all_labels(name: str) -> tuple[str, ...]:
    """Everything that a parser puts on a node, but for the root."""
    parser = load_parser(name)
    labels = tuple(label for label in (*parser.labels, *getattr(parser, "tags", ())) if label != ROOT)
    if not labels:
        raise ConfigError(f"the parser {name} does not say which labels it makes", remedy="name them with --labels")
    return labels


def _make(options: CorpusOptions, folder: Path, executor: str, workers: int, watch: Watch) -> None:
    work = folder / WORK
    summaries = _parse(options, work, executor, workers, watch)
    _check_kept(folder, work, summaries)
    drawn = draw_splits(options, work, summaries)
    subwords = _vocabulary(options, folder, work, summaries, drawn, watch)
    jobs = plan_shards(options, work, summaries, drawn)
    if not any(job.split == "train" for job in jobs):
        what = "every training pair has a side that is a source of dev or test"
        raise ConfigError(what, Place(str(folder)), "draw fewer pairs, or give keep_overlap=true")
    _shard(options, folder, work, jobs, executor, workers, watch)
    overlap = _gather_rejects(folder, work, summaries, drawn)
    _write_facts(options, folder, summaries, jobs, subwords, overlap)
    shutil.rmtree(work, ignore_errors=True)


def _parse(options: CorpusOptions, work: Path, executor: str, workers: int, watch: Watch) -> list[Summary]:
    """All chunks parsed; those that were done before are only checked to be of the same input."""
    ingest = Ingest(options)
    summaries: dict[int, Summary] = {}
    seen = before = fresh = 0

    def missing() -> Iterator[Chunk]:
        nonlocal seen, before
        for chunk in ingest:
            if not seen and (warning := language_warning(options.parser, (entry.target for entry in chunk.entries))):
                print(f"syntagma: {warning}", file=sys.stderr)
            seen += chunk.rows
            done = _done(work, chunk)
            if done is None:
                yield chunk
            else:
                summaries[chunk.number] = done
                before += done.rows

    watch(Progress("parse", 0, None))
    chunks: Iterable[Any] = missing()
    if executor == "ray":
        chunks = [_spool(chunk, work) for chunk in chunks]
    for summary in run(executor, Parsing(options, work.absolute()), chunks, workers):
        summaries[summary.number] = summary
        fresh += summary.rows
        total = seen / ingest.rows.done if ingest.rows.done else None
        watch(Progress("parse", before + fresh, total, before))
    watch(Progress("parse", before + fresh, before + fresh, before))
    ordered = [summaries[number] for number in sorted(summaries)]
    parsers = {tuple(summary.parser) for summary in ordered if summary.parser is not None}
    if len(parsers) > 1:
        names = " and ".join(sorted(" ".join(parser) for parser in parsers))
        raise StaleWork(
            f"parts of this corpus were parsed by {names}", Place(str(work.parent)), "start anew with --overwrite"
        )
    return ordered


def _spool(chunk: Chunk, work: Path) -> Path:
    path = (work / f"spool-{chunk.number:06d}.json").absolute()
    chunk.save(path)
    return path


def _done(work: Path, chunk: Chunk) -> Summary | None:
    try:
        summary = Summary(**json.loads((work / f"chunk-{chunk.number:06d}.json").read_text(encoding="utf-8")))
    except OSError:
        return None
    if summary.format != CHUNK_FORMAT:
        return None
    if summary.digest != chunk.digest:
        what = "the input has changed since this corpus was begun"
        raise StaleWork(what, Place(str(work.parent)), "give the same input again, or --overwrite to start anew")
    return summary


def _check_kept(folder: Path, work: Path, summaries: Sequence[Summary]) -> None:
    if not any(summary.kept.get("train") for summary in summaries):
        _gather_rejects(folder, work, summaries, Drawn())
        reasons = Counter[str]()
        for summary in summaries:
            reasons.update(summary.rejects)
        why = f"most often for the reason {reasons.most_common(1)[0][0]!r}" if reasons else "there is none for training"
        what = f"no training pair was kept, {why}"
        raise InputError(
            what, Place(str(folder / "rejects.jsonl")), "look there, and loosen the filters or mend the input"
        )


def _check_tokenizer(options: CorpusOptions) -> None:
    if options.tokenizer is None:
        return
    labels = Subwords.load(_tokenizer_file(options.tokenizer)).labels
    if labels != options.labels:
        what = f"this vocabulary has the labels {' '.join(labels)}, not {' '.join(options.labels)}"
        raise ConfigError(what, Place(options.tokenizer), f"give --labels {','.join(labels)}, or train another")


def _tokenizer_file(name: str) -> Path:
    """A tokenizer.json itself, or that of a model or a corpus."""
    path = Path(name)
    if path.is_file() or path.suffix == ".json":
        return path
    folder = path if (path / "tokenizer.json").is_file() else find_folder(name, "model", "model")
    return folder / "tokenizer.json"


def _vocabulary(
    options: CorpusOptions, folder: Path, work: Path, summaries: Sequence[Summary], drawn: Drawn, watch: Watch
) -> Subwords:
    path = folder / "tokenizer.json"
    if not path.exists():
        watch(Progress("vocabulary", 0, None))
        if options.tokenizer is not None:
            Subwords.load(_tokenizer_file(options.tokenizer)).save(path)
        else:
            _make_vocabulary(options, _sample(options, work, summaries, drawn)).save(path)
        watch(Progress("vocabulary", 1, 1))
    return Subwords.load(path)


def _make_vocabulary(options: CorpusOptions, sample: Iterator[tuple[str, Sequence[Word]]]) -> Subwords:
    if options.pieces is not None:
        return SentencePieces.choose(
            options.pieces, sample, options.vocab_size, options.labels, two_sided=not options.share_pieces
        )
    words = (side for source, target in sample for side in (split(source).words, target))
    return Subwords.train(words, options.vocab_size, options.labels)


def _sample(
    options: CorpusOptions, work: Path, summaries: Sequence[Summary], drawn: Drawn
) -> Iterator[tuple[str, Sequence[Word]]]:
    """Sources and targets' words of training pairs, evenly spread where there are more than enough."""
    stride = max(1, -(-sum(summary.kept.get("train", 0) for summary in summaries) // options.vocab_sample))
    count = 0
    for summary in summaries:
        table = pq.read_table(chunk_path(work, summary.number))
        train = np.flatnonzero(drawn.splits(table) == SPLITS.index("train"))
        chosen = train[(np.arange(len(train)) + count) % stride == 0]
        count += len(train)
        for pair in table.select(["source", "words", "spaces"]).take(pa.array(chosen)).to_pylist():
            yield pair["source"], spaced(pair["words"], pair["spaces"])


def _shard(
    options: CorpusOptions,
    folder: Path,
    work: Path,
    jobs: Sequence[ShardJob],
    executor: str,
    workers: int,
    watch: Watch,
) -> None:
    missing = [job for job in jobs if not (folder / job.name("ids")).exists()]  # of the two, ids are written last
    sizes = {job: sum(stop - start for _, start, stop in job.pieces) for job in jobs}
    total = sum(sizes.values())
    done = before = total - sum(sizes[job] for job in missing)
    watch(Progress("ids", done, total, before))
    sharding = Sharding(options, folder.absolute(), work.absolute())
    for count in run(executor, sharding, missing, min(workers, max(1, len(missing)))):
        done += count
        watch(Progress("ids", done, total, before))


def _gather_rejects(folder: Path, work: Path, summaries: Sequence[Summary], drawn: Drawn) -> int:
    """All rejects in one file; how many pairs were left out after dev and test were drawn."""
    overlap = 0
    with atomic_write(folder / "rejects.jsonl", "wb") as stream:
        for summary in summaries:
            with open(work / f"chunk-{summary.number:06d}.rejects.jsonl", "rb") as part:
                shutil.copyfileobj(part, stream)
        for values in dropped(work, summaries, drawn):
            stream.write(json.dumps(values, ensure_ascii=False).encode() + b"\n")
            overlap += 1
    return overlap


def _write_facts(
    options: CorpusOptions,
    folder: Path,
    summaries: Sequence[Summary],
    jobs: Sequence[ShardJob],
    subwords: Subwords,
    overlap: int,
) -> None:
    rejects, spacing = Counter[str](), Counter[str]()
    for summary in summaries:
        rejects.update(summary.rejects)
        spacing.update(summary.spacing_changed)
    if overlap:
        rejects[OVERLAP] += overlap
    shards: dict[str, list[int]] = {}
    for job in jobs:
        shards.setdefault(job.split, []).append(sum(stop - start for _, start, stop in job.pieces))
    rows, pairs = sum(summary.rows for summary in summaries), sum(summary.pairs for summary in summaries)
    kept = sum(sum(sizes) for sizes in shards.values())
    of_rows = sum(count for reason, count in rejects.items() if reason in ROW_REASONS)
    directions = 2 if options.both_ways else 1
    if (rows - of_rows) * directions != pairs or kept + sum(rejects.values()) - of_rows != pairs:
        raise AssertionError(f"the counts do not add up: {rows} rows, {pairs} pairs, {kept} kept, {dict(rejects)}")
    parser = next((summary.parser for summary in summaries if summary.parser is not None), None)
    facts = {
        "format": FORMAT,
        "made_by": f"syntagma {__version__}",
        "options": options.to_dict(),
        "options_hash": options.hash,
        "parser": dict(zip(("name", "version"), parser or _given_parser(options), strict=True)),
        "labels": list(options.labels),
        "tokenizer": {
            "fingerprint": subwords.fingerprint,
            "size": subwords.size,
            "first_text_id": subwords.first_text_id,
        },
        "splits": {name: {"pairs": sum(shards[name]), "shards": shards[name]} for name in SPLITS if name in shards},
        "counts": {"rows": rows, "rows_rejected": of_rows, "pairs": pairs, "pairs_kept": kept},
        "rejects": dict(rejects.most_common()),
        "spacing_changed": dict(sorted(spacing.items())),
    }
    with atomic_write(folder / "corpus.json") as stream:
        json.dump(facts, stream, ensure_ascii=False, indent=1)
        stream.write("\n")


def _given_parser(options: CorpusOptions) -> list[str]:
    """The parser of the trees that came with the pairs."""
    if options.trees is not None:
        return ["brackets", "1"]
    for input_ in options.inputs:
        if format_of(input_) == "corpus":
            facts = Corpus.open(input_.path).facts["parser"]
            return [facts["name"], facts["version"]]
    return [options.parser, ""]
