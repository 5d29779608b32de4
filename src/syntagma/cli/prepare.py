"""`syntagma prepare` and `syntagma corpus info`: pairs into a corpus, and what is in one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from json import dumps
from typing import TYPE_CHECKING, Annotated

import typer

from syntagma.cli.common import bars, option

if TYPE_CHECKING:
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


def prepare(
    pairs: Annotated[
        list[str],
        typer.Argument(help="Files of pairs, - for standard input, or a prepared corpus (its trees are used again)."),
    ],
    out: Annotated[str, option(_RUN, "The folder to make; run the same command again to go on after a stop.")],
    target: Annotated[
        list[str] | None, option(_INPUT, "For parallel files: the file of targets of each PAIRS.")
    ] = None,
    format: Annotated[str | None, option(_INPUT, "tsv, csv, jsonl or parallel; by the name where not given.")] = None,
    columns: Annotated[
        str | None, option(_INPUT, "Source and target column: 0,1 for TSV, source,target for CSV and JSON lines.")
    ] = None,
    header: Annotated[bool, option(_INPUT, "The first line of a TSV file names its columns.", "--header")] = False,
    where: Annotated[
        list[str] | None, option(_INPUT, "COLUMN=VALUE[,VALUE]: only rows with one of these values.")
    ] = None,
    keep_fraction: Annotated[
        list[str] | None, option(_INPUT, "COLUMN=VALUE:0.1: of rows with this value only that share, by hash.")
    ] = None,
    both_ways: Annotated[bool, option(_INPUT, "Each pair serves both directions.", "--both-ways")] = False,
    tokenized: Annotated[
        bool, option(_INPUT, "Words are already apart: cut at white space only.", "--tokenized")
    ] = False,
    split: Annotated[
        list[str] | None, option(_INPUT, "dev=FILE or test=FILE (dev=SOURCES,TARGETS for parallel files).")
    ] = None,
    exclude: Annotated[
        list[str] | None, option(_INPUT, "A file of pairs that must not be trained on, in either direction.")
    ] = None,
    min_words: Annotated[int, option(_FILTERS, "Fewest words, on both sides.")] = 1,
    max_words: Annotated[int, option(_FILTERS, "Most words, on both sides.")] = 128,
    max_ratio: Annotated[
        float | None, option(_FILTERS, "Most words of the longer side for one of the shorter.")
    ] = None,
    keep_identical: Annotated[
        bool, option(_FILTERS, "Keep pairs whose sides are the same.", "--keep-identical")
    ] = False,
    keep_duplicates: Annotated[
        bool, option(_FILTERS, "Keep pairs that were there before.", "--keep-duplicates")
    ] = False,
    keep_overlap: Annotated[
        bool, option(_FILTERS, "Keep pairs with a side that is a source of dev or test.", "--keep-overlap")
    ] = False,
    source_script: Annotated[str | None, option(_FILTERS, "Latin, Cyrillic, Han, Han+Hiragana+Katakana, ...")] = None,
    target_script: Annotated[str | None, option(_FILTERS, "Likewise for the target.")] = None,
    script_share: Annotated[float, option(_FILTERS, "Of the letters, how many must be of that script.")] = 0.7,
    no_swap: Annotated[
        list[str] | None,
        option(_FILTERS, "he,him,his/she,her,hers: no pair that has words of one group here, of another there."),
    ] = None,
    max_levels: Annotated[int, option(_FILTERS, "Most levels of a tree (of dev and test as well).")] = 32,
    parser: Annotated[str, option(_TREES, "neural, a model folder, brackets:FILE, benepar or stanza.")] = "neural",
    trees: Annotated[
        str | None, option(_TREES, "The trees of the targets, a line for each row: short for --parser brackets:FILE.")
    ] = None,
    labels: Annotated[str, option(_TREES, "The labels that guide generation.")] = "S,NP,VP,PP",
    label_noise: Annotated[float, option(_TREES, "Replace that ratio of the labels by others at random.")] = 0.0,
    seed: Annotated[int, option(_TREES, "Decides everything that is drawn.")] = 1,
    vocab_size: Annotated[int, option(_WORDS, "Entries of the vocabulary, labels and control tokens included.")] = 8000,
    tokenizer: Annotated[str | None, option(_WORDS, "A tokenizer.json to use again.")] = None,
    pieces: Annotated[
        str | None, option(_WORDS, "Use a pretrained model's pieces: a Marian or CTranslate2 folder, for init=FOLDER.")
    ] = None,
    share_pieces: Annotated[
        bool, option(_WORDS, "Segment sources like targets, where both are one language.", "--share-pieces")
    ] = False,
    dev: Annotated[
        int | None,
        option(
            _WORDS,
            "Pairs to draw for dev.",
            min=0,
            show_default="a hundredth, 10 to 500, where no file of them is given",
        ),
    ] = None,
    test: Annotated[int, option(_WORDS, "Pairs to draw for test.")] = 0,
    chunk_rows: Annotated[int, option(_RUN, "Rows of a piece of work: what a stop can cost.")] = 5000,
    engine: Annotated[
        str, option(_RUN, "local, or ray (extra: ray; --out on storage that every machine sees).")
    ] = "local",
    workers: Annotated[
        int | None,
        option(_RUN, "Processes or Ray actors; as many as there are cores where not given.", show_default=False),
    ] = None,
    overwrite: Annotated[bool, option(_RUN, "Start anew where --out holds another corpus.", "--overwrite")] = False,
    as_json: Annotated[
        bool, option(_RUN, "Say on standard output what was made, as one JSON object.", "--json")
    ] = False,
) -> None:
    """Parse, check and store pairs of texts as training data; nothing is dropped without a line in rejects.jsonl."""
    from syntagma.cli.common import read_labels
    from syntagma.corpus import CorpusOptions
    from syntagma.corpus import prepare as make
    from syntagma.corpus.options import AUTO

    options = CorpusOptions(
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
        keep_overlap=keep_overlap,
        source_script=source_script,
        target_script=target_script,
        script_share=script_share,
        no_swap=tuple(no_swap or ()),
        parser=f"brackets:{trees}" if trees else parser,
        max_levels=max_levels,
        labels=read_labels(labels),
        label_noise=label_noise,
        seed=seed,
        vocab_size=vocab_size,
        tokenizer=tokenizer,
        pieces=pieces,
        share_pieces=share_pieces,
        dev=AUTO if dev is None else dev,
        test=test,
        chunk_rows=chunk_rows,
    )
    try:
        with bars({"parse": "rows parsed", "vocabulary": "vocabulary", "ids": "pairs encoded"}) as watch:
            corpus = make(options, out, engine=engine, workers=workers, overwrite=overwrite, watch=watch)
    except KeyboardInterrupt:
        print("syntagma: stopped; run the same command again to go on", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        facts = {name: corpus.facts[name] for name in ("counts", "rejects", "spacing_changed", "parser", "labels")}
        sizes = {name: len(corpus.split(name)) for name in corpus.splits}
        print(dumps({"corpus": out, "splits": sizes, **facts}, ensure_ascii=False))
    else:
        _print_counts(corpus)
    if "dev" not in corpus.splits:
        remedy = "add --dev N or --split dev=FILE, with --overwrite or another --out"
        print(f"syntagma: there are no pairs for dev, which `syntagma train` needs; {remedy}", file=sys.stderr)


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
