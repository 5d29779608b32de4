"""`syntagma prepare` and `syntagma corpus info`: pairs into a corpus, and what is in one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from syntagma.corpus.build import Progress
    from syntagma.corpus.options import Input
    from syntagma.corpus.store import Corpus

_INPUT, _FILTERS, _TREES, _WORDS, _RUN = (
    "Input",
    "Filters (training pairs only)",
    "Trees",
    "Vocabulary and splits",
    "The run",
)


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("prepare")(prepare)
    corpus = typer.Typer(help="Look into prepared corpora.", no_args_is_help=True)
    corpus.callback()(lambda: None)
    corpus.command("info")(info)
    app.add_typer(corpus, name="corpus")


def _option(panel: str, help: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=more.pop("show_default", True), **more)


def prepare(
    pairs: Annotated[
        list[str],
        typer.Argument(help="Files of pairs, - for standard input, or a prepared corpus (its trees are used again)."),
    ],
    out: Annotated[str, _option(_RUN, "The folder to make; run the same command again to go on after a stop.")],
    target: Annotated[
        list[str] | None, _option(_INPUT, "For parallel files: the file of targets of each PAIRS.")
    ] = None,
    format: Annotated[str | None, _option(_INPUT, "tsv, csv, jsonl or parallel; by the name where not given.")] = None,
    columns: Annotated[
        str | None, _option(_INPUT, "Source and target column: 0,1 for TSV, source,target for CSV and JSON lines.")
    ] = None,
    header: Annotated[bool, _option(_INPUT, "The first line of a TSV file names its columns.", "--header")] = False,
    where: Annotated[
        list[str] | None, _option(_INPUT, "COLUMN=VALUE[,VALUE]: only rows with one of these values.")
    ] = None,
    keep_fraction: Annotated[
        list[str] | None, _option(_INPUT, "COLUMN=VALUE:0.1: of rows with this value only that share, by hash.")
    ] = None,
    both_ways: Annotated[bool, _option(_INPUT, "Each pair serves both directions.", "--both-ways")] = False,
    tokenized: Annotated[
        bool, _option(_INPUT, "Words are already apart: cut at white space only.", "--tokenized")
    ] = False,
    split: Annotated[
        list[str] | None, _option(_INPUT, "dev=FILE or test=FILE (dev=SOURCES,TARGETS for parallel files).")
    ] = None,
    exclude: Annotated[
        list[str] | None, _option(_INPUT, "A file of pairs that must not be trained on, in either direction.")
    ] = None,
    min_words: Annotated[int, _option(_FILTERS, "Fewest words, on both sides.")] = 1,
    max_words: Annotated[int, _option(_FILTERS, "Most words, on both sides.")] = 128,
    max_ratio: Annotated[
        float | None, _option(_FILTERS, "Most words of the longer side for one of the shorter.")
    ] = None,
    keep_identical: Annotated[
        bool, _option(_FILTERS, "Keep pairs whose sides are the same.", "--keep-identical")
    ] = False,
    keep_duplicates: Annotated[
        bool, _option(_FILTERS, "Keep pairs that were there before.", "--keep-duplicates")
    ] = False,
    source_script: Annotated[str | None, _option(_FILTERS, "Latin, Cyrillic, Han, Han+Hiragana+Katakana, ...")] = None,
    target_script: Annotated[str | None, _option(_FILTERS, "Likewise for the target.")] = None,
    script_share: Annotated[float, _option(_FILTERS, "Of the letters, how many must be of that script.")] = 0.7,
    no_swap: Annotated[
        list[str] | None,
        _option(_FILTERS, "he,him,his/she,her,hers: no pair that has words of one group here, of another there."),
    ] = None,
    max_levels: Annotated[int, _option(_FILTERS, "Most levels of a tree (of dev and test as well).")] = 32,
    parser: Annotated[str, _option(_TREES, "neural, a model folder, brackets:FILE, benepar or stanza.")] = "neural",
    trees: Annotated[
        str | None, _option(_TREES, "The trees of the targets, a line for each row: short for --parser brackets:FILE.")
    ] = None,
    labels: Annotated[str, _option(_TREES, "The labels that guide generation.")] = "S,NP,VP,PP",
    label_noise: Annotated[float, _option(_TREES, "Replace that ratio of the labels by others at random.")] = 0.0,
    seed: Annotated[int, _option(_TREES, "Decides everything that is drawn.")] = 1,
    vocab_size: Annotated[
        int, _option(_WORDS, "Entries of the vocabulary, labels and control tokens included.")
    ] = 8000,
    tokenizer: Annotated[str | None, _option(_WORDS, "A tokenizer.json to use again.")] = None,
    pieces: Annotated[
        str | None, _option(_WORDS, "Use the pieces of a Marian model: its folder, for training with init=FOLDER.")
    ] = None,
    share_pieces: Annotated[
        bool, _option(_WORDS, "Segment sources like targets, where both are one language.", "--share-pieces")
    ] = False,
    dev: Annotated[int, _option(_WORDS, "Pairs to draw for dev.")] = 0,
    test: Annotated[int, _option(_WORDS, "Pairs to draw for test.")] = 0,
    chunk_rows: Annotated[int, _option(_RUN, "Rows of a piece of work: what a stop can cost.")] = 5000,
    engine: Annotated[
        str, _option(_RUN, "local, or ray (extra: ray; --out on storage that every machine sees).")
    ] = "local",
    workers: Annotated[
        int | None,
        _option(_RUN, "Processes or Ray actors; as many as there are cores where not given.", show_default=False),
    ] = None,
    overwrite: Annotated[bool, _option(_RUN, "Start anew where --out holds another corpus.", "--overwrite")] = False,
) -> None:
    """Parse, check and store pairs of texts as training data; nothing is dropped without a line in rejects.jsonl."""
    from syntagma.corpus import Options
    from syntagma.corpus import prepare as make

    options = Options(
        inputs=tuple(_inputs(pairs, target or [], split or [], format)),
        columns=tuple(columns.split(",")) if columns else (),
        header=header,
        where=tuple(where or ()),
        keep_fraction=tuple(keep_fraction or ()),
        both_ways=both_ways,
        tokenized=tokenized,
        exclude=tuple(exclude or ()),
        min_words=min_words,
        max_words=max_words,
        max_ratio=max_ratio,
        keep_identical=keep_identical,
        keep_duplicates=keep_duplicates,
        source_script=source_script,
        target_script=target_script,
        script_share=script_share,
        no_swap=tuple(no_swap or ()),
        parser=f"brackets:{trees}" if trees else parser,
        max_levels=max_levels,
        labels=tuple(labels.replace(",", " ").split()),
        label_noise=label_noise,
        seed=seed,
        vocab_size=vocab_size,
        tokenizer=tokenizer,
        pieces=pieces,
        share_pieces=share_pieces,
        dev=dev,
        test=test,
        chunk_rows=chunk_rows,
    )
    try:
        with _bars() as watch:
            corpus = make(options, out, engine=engine, workers=workers, overwrite=overwrite, watch=watch)
    except KeyboardInterrupt:
        print("syntagma: stopped; run the same command again to go on", file=sys.stderr)
        raise typer.Exit(130) from None
    _print_counts(corpus)


def _inputs(pairs: list[str], targets: list[str], splits: list[str], format: str | None) -> Iterator[Input]:
    from syntagma.corpus import Input
    from syntagma.errors import ConfigError

    if targets and len(targets) != len(pairs):
        what = f"there are {len(pairs)} files of sources and {len(targets)} of targets"
        raise ConfigError(what, remedy="give --target once for each")
    for number, path in enumerate(pairs):
        yield Input(path, targets[number] if targets else None, "train", format)
    for item in splits:
        name, equals, path = item.partition("=")
        if not equals or not path:
            raise ConfigError(f"--split {item!r} cannot be read", remedy="write it as dev=FILE or test=FILE")
        source, _, aligned = path.partition(",") if targets else (path, "", "")
        yield Input(source, aligned or None, name, format)


@contextmanager
def _bars() -> Iterator[Callable[[Progress], None]]:
    """A bar for each stage on stderr, with rate and time left."""
    from datetime import timedelta
    from time import monotonic

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    names = {"parse": "rows parsed", "vocabulary": "vocabulary", "ids": "pairs encoded"}
    pace = TextColumn("{task.fields[pace]}")  # our own: rich forgets its pace when the total is estimated anew
    columns = (TextColumn("{task.description:<13}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), pace)
    with Bars(*columns, console=Console(stderr=True)) as bars:
        begun: dict[str, tuple[Any, float]] = {}

        def watch(progress: Progress) -> None:
            stage, done, total = progress.stage, progress.done, progress.total
            if stage not in begun:
                begun[stage] = (bars.add_task(names.get(stage, stage), total=None, pace=""), monotonic())
            task, start = begun[stage]
            rate = (done - progress.before) / max(monotonic() - start, 1e-3)
            text = f"{rate:,.0f}/s" if rate >= 1 else ""
            if rate and total and done < total:
                text += f", {timedelta(seconds=round((total - done) / rate))} left"
            bars.update(task, completed=done, total=None if total is None else max(total, done), pace=text)

        yield watch


def _print_counts(corpus: Corpus) -> None:
    from rich.console import Console
    from rich.table import Table

    counts = corpus.facts["counts"]
    table = Table(title=str(corpus.folder), title_justify="left", show_header=False)
    table.add_row("rows read", f"{counts['rows']:,}")
    table.add_row("pairs of them", f"{counts['pairs']:,}")
    for name in corpus.splits:
        table.add_row(f"kept for {name}", f"{corpus.facts['splits'][name]['pairs']:,}")
    for reason, count in corpus.facts["rejects"].items():
        table.add_row(f"rejected: {reason}", f"{count:,}")
    for side, count in corpus.facts["spacing_changed"].items():
        table.add_row(f"white space changed: {side}", f"{count:,}")
    table.add_row("parser", " ".join(corpus.facts["parser"].values()))
    table.add_row("vocabulary", f"{corpus.facts['tokenizer']['size']:,}  ({corpus.fingerprint})")
    Console(stderr=True).print(table)


def info(
    folder: Annotated[str, typer.Argument(help="A prepared corpus.")],
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    examples: Annotated[int, typer.Option(help="How many pairs to show.")] = 3,
    seed: Annotated[int, typer.Option(help="Which ones.")] = 1,
) -> None:
    """Counts, lengths, labels, rejects, and a few pairs with their trees drawn."""
    from syntagma.corpus import Corpus
    from syntagma.corpus.info import as_dict

    corpus = Corpus.open(folder)
    if json:
        from json import dumps

        print(dumps(as_dict(corpus, examples, seed), ensure_ascii=False))
        return
    _print_counts(corpus)
    _print_splits(corpus)
    _print_examples(corpus, examples, seed)


def _print_splits(corpus: Corpus) -> None:
    from rich.console import Console
    from rich.table import Table

    from syntagma.corpus.info import split_info

    table = Table(title="lengths in ids: mean, median, 95%, longest", title_justify="left")
    rows: dict[str, list[str]] = {}
    for name in corpus.splits:
        figures = split_info(corpus, name)
        spreads = {"source": figures.source, "target": figures.target, "levels a sentence": figures.levels}
        rows.setdefault("pairs", []).append(f"{figures.pairs:,}")
        for key, spread in spreads.items():
            rows.setdefault(key, []).append(f"{spread.mean:.2f}  {spread.median:g}  {spread.p95:g}  {spread.longest}")
        rows.setdefault("context, a level", []).append(f"{figures.context.mean:.2f}")
        rows.setdefault("infill, a level", []).append(f"{figures.infill.mean:.2f}")
        total = sum(figures.labels.values()) or 1
        for label, count in figures.labels.items():
            rows.setdefault(f"<{label}>", []).append(f"{count:,}  {100 * count / total:.1f}%")
    table.add_column("")
    for name in corpus.splits:
        table.add_column(name)
    for key, cells in rows.items():
        table.add_row(key, *cells)
    Console().print(table)


def _print_examples(corpus: Corpus, count: int, seed: int) -> None:
    from syntagma.corpus.info import draw_pairs
    from syntagma.tree import draw

    for pair in draw_pairs(corpus, count, seed):
        print(f"\n{pair.source}\n{pair.target}\n{draw(pair.tree, width=120)}")
