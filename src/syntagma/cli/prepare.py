"""`syntagma prepare` and `syntagma corpus info`: pairs into a corpus, and what is in one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from json import dumps
from typing import TYPE_CHECKING, Annotated

import typer

from syntagma.cli.common import bars, option, resumable
from syntagma.cli.settings import settings_command, settings_option, split_settings

if TYPE_CHECKING:
    from syntagma.corpus.options import Input
    from syntagma.corpus.store import Corpus

_SETTINGS = "syntagma.corpus.options:CorpusOptions"
_FLAGS = ("inputs", "columns", "both_ways", "parser", "labels", "dev", "shard_pairs", "vocab_sample")
"""Those that have a flag, or that nobody changes."""
_INPUT, _TREES, _RUN = "Input", "Trees", "The run"


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("prepare", cls=settings_command(_SETTINGS))(prepare)
    corpus = typer.Typer(help="Look into prepared corpora.", no_args_is_help=True)
    corpus.callback()(lambda: None)
    corpus.command("info")(info)
    app.add_typer(corpus, name="corpus")


def prepare(
    pairs: Annotated[
        list[str],
        typer.Argument(
            help="Files of pairs, - for standard input, or a prepared corpus (its trees are used again); and settings, "
            "key=value."
        ),
    ],
    out: Annotated[str, option(_RUN, "The folder to make; run the same command again to go on after a stop.")],
    target: Annotated[
        list[str] | None, option(_INPUT, "For parallel files: the file of targets of each PAIRS.")
    ] = None,
    columns: Annotated[
        str | None, option(_INPUT, "Source and target column: 0,1 for TSV, source,target for CSV and JSON lines.")
    ] = None,
    format: Annotated[str | None, option(_INPUT, "tsv, csv, jsonl or parallel; by the name where not given.")] = None,
    both_ways: Annotated[bool, option(_INPUT, None, "--both-ways")] = False,
    split: Annotated[
        list[str] | None, option(_INPUT, "dev=FILE or test=FILE (dev=SOURCES,TARGETS for parallel files).")
    ] = None,
    settings: Annotated[bool, settings_option(_RUN, _SETTINGS, without=_FLAGS)] = False,
    parser: Annotated[str, option(_TREES, "neural, a model folder, brackets:FILE, benepar or stanza.")] = "neural",
    trees: Annotated[
        str | None, option(_TREES, "The trees of the targets, a line for each row: short for --parser brackets:FILE.")
    ] = None,
    labels: Annotated[str, option(_TREES, "The labels that guide generation.")] = "S,NP,VP,PP",
    dev: Annotated[
        int | None,
        option(
            _INPUT,
            "Pairs to draw for dev.",
            min=0,
            show_default="a hundredth, 10 to 500, where no file of them is given",
        ),
    ] = None,
    executor: Annotated[
        str, option(_RUN, "local, or ray (extra: ray; --out on storage that every machine sees).")
    ] = "local",
    workers: Annotated[
        int | None,
        option(_RUN, "Processes or Ray actors; as many as there are cores where not given.", show_default=False),
    ] = None,
    overwrite: Annotated[bool, option(_RUN, "Start again where --out holds another corpus.", "--overwrite")] = False,
    as_json: Annotated[
        bool, option(_RUN, "Say on standard output what was made, as one JSON object.", "--json")
    ] = False,
) -> None:
    """Parse, check and store pairs of texts as training data; nothing is dropped without a line in rejects.jsonl.

    Example: syntagma prepare pairs.tsv --both-ways --out corpus max_words=40 max_ratio=3

    Example: syntagma prepare train.de --target train.en --split dev=dev.de,dev.en --out corpus vocab_size=16000
    """
    from syntagma.cli.common import read_labels
    from syntagma.corpus import CorpusOptions
    from syntagma.corpus import prepare as make
    from syntagma.corpus.options import AUTO

    files, more = split_settings(pairs, _SETTINGS)
    given = CorpusOptions.read_arguments(more)
    flags = {
        "columns": columns.split(",") if columns else [], "both_ways": both_ways,
        "parser": f"brackets:{trees}" if trees else parser, "labels": read_labels(labels),
        "dev": AUTO if dev is None else dev,
    }  # fmt: skip
    inputs = [item.to_dict() for item in _inputs(files, target or [], split or [], format)]
    options = CorpusOptions.from_dict({**flags, **given, "inputs": inputs})
    with resumable(), bars({"parse": "rows parsed", "vocabulary": "vocabulary", "ids": "pairs encoded"}) as watch:
        corpus = make(options, out, executor=executor, workers=workers, overwrite=overwrite, watch=watch)
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
    """Counts, lengths, labels, rejects, and a few pairs with their trees drawn.

    Example: syntagma corpus info corpus --examples 5
    """
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
