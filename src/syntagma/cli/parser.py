"""`syntagma parser train`, `score`, `convert` and `export`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from syntagma.cli.common import AsJson, Bad, option, report
from syntagma.cli.parse import CHUNK, ParserName, Threads, processors, use_threads
from syntagma.cli.settings import settings_command, settings_option, split_settings

if TYPE_CHECKING:
    from syntagma.parse.score import BracketScore
    from syntagma.parse.settings import Trees
    from syntagma.tree import Tree


_SETTINGS = "syntagma.parse.settings:ParserTrainConfig"
_FLAGS = ("minutes", "epochs", "encoder", "init", "teacher", "language", "threads", "name")
"""Settings that have a flag, or that follow from one."""


class Precision(StrEnum):
    """How a parser's matrices are stored."""

    int8 = "int8"
    fp16 = "fp16"
    fp32 = "fp32"


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    family = typer.Typer(help="Train, score and share parsers.", no_args_is_help=True)
    family.command("train", cls=settings_command(_SETTINGS, former="--set"))(train)
    family.command("score")(score)
    family.command("convert")(convert)
    family.command("export")(export)
    app.add_typer(family, name="parser")


class TreeStyle(StrEnum):
    """The styles of trees that are made of dependencies."""

    penn = "penn"
    negra = "negra"


StyleOption = Annotated[
    TreeStyle,
    option("Trees", "penn: nested NPs and VPs. negra: flat NPs, the finite verb in the S.", "--style"),
]
BadSentence = Annotated[Bad, option("Trees", "At a CoNLL-U sentence that is wrong: stop, or skip it.", "--bad")]
RejectsFile = Annotated[
    Path | None,
    option("Trees", "Where skipped sentences go, as JSON lines.", "--rejects", show_default=False),
]


def train(
    out: Annotated[
        Path,
        option("The run", "The run's folder: model, checkpoint, log. An existing run is resumed."),
    ],
    gold: Annotated[
        list[str] | None,
        typer.Argument(
            help="Folders with train.trees and dev.trees (also .gz). And settings, key=value.", show_default=False
        ),
    ] = None,
    conllu: Annotated[
        list[Path] | None,
        option("Trees", "A file of Universal Dependencies, made into trees (also gzip).", show_default=False),
    ] = None,
    silver: Annotated[
        list[Path] | None,
        option("Trees", "A folder of trees that a parser made.", show_default=False),
    ] = None,
    minutes: Annotated[float, option("The run", "Train for so long; 0 trains for --epochs.", min=0)] = 0.0,
    epochs: Annotated[float, option("The run", "Train for so many rounds of the data.")] = 10.0,
    encoder: Annotated[
        str, option("The parser", "The packaged encoder, or the folder of a BERT.")
    ] = "all-minilm-l6-v2",
    init: Annotated[
        str,
        option("The parser", "A parser of the same labels to start from: a name or folder.", show_default=False),
    ] = "",
    teacher: Annotated[
        str,
        option("The parser", "A parser of the same labels, or several as A+B, to learn from.", show_default=False),
    ] = "",
    language: Annotated[
        str,
        option("The parser", "The code of the language, such as de.", show_default="guessed for --conllu, else en"),
    ] = "",
    style: StyleOption = TreeStyle.penn,
    bad: BadSentence = Bad.stop,
    rejects: RejectsFile = None,
    threads: Annotated[int, option("The run", "Processor threads.", min=1)] = 1,
    settings: Annotated[bool, settings_option("The run", _SETTINGS, without=_FLAGS)] = False,
) -> None:
    """Train the neural parser on folders of trees, on files of dependencies, or both; run again, it goes on.

    Of dependencies, files named *-dev.conllu are for scoring, or else every tenth sentence.

    Example: syntagma parser train treebank/gold --silver treebank/gum-silver --out run --minutes 90 dropout=0.15

    Example: syntagma parser train --conllu de_gsd-ud-train.conllu --style negra --out run --minutes 30
    """
    from syntagma.errors import ConfigError
    from syntagma.parse.converted import read_converted
    from syntagma.parse.dependencies import Style
    from syntagma.parse.settings import ParserTrainConfig, read_data
    from syntagma.parse.train import ParserTrainer

    gold, arguments = split_settings(gold or [], _SETTINGS)
    if not gold and not conllu:
        raise ConfigError("there are no trees to learn from", remedy="give a folder of trees, or --conllu FILE")
    data = read_converted(conllu, Style(style), bad is Bad.skip, rejects) if conllu else None
    if gold:
        data = read_data([Path(folder) for folder in gold], silver or []).plus(data)
    assert data is not None
    given = {"minutes": minutes, "epochs": epochs, "encoder": encoder, "init": init}
    given |= {"teacher": teacher, "threads": threads}
    if conllu or language:
        language = language or _guess(data)
        given |= {"language": language, "name": f"parser-{language}"}
    config = ParserTrainConfig.from_dict(given | ParserTrainConfig.read_arguments(arguments))
    use_threads(threads)
    trainer = ParserTrainer(config, data, out)
    result = trainer.run()
    if result.signal is not None:
        raise typer.Exit(128 + result.signal)
    print(json.dumps({"model": str(trainer.model_folder), "dev": result.figures}))


def _guess(data: Trees) -> str:
    """The language of the trees to score on, which is said."""
    from syntagma.errors import ConfigError
    from syntagma.text.language import guess_language

    language = guess_language(" ".join(tree.words()) for tree in data.dev)
    if language is None:
        raise ConfigError("it is not clear what language the trees are in", remedy="say it with --language, such as de")
    print(f"syntagma: the trees look like the language {language!r}; --language would say it", file=sys.stderr)
    return language


def convert(
    files: Annotated[list[str], typer.Argument(help="CoNLL-U files (also gzip); - is standard input.")],
    style: StyleOption = TreeStyle.penn,
    bad: BadSentence = Bad.stop,
    rejects: RejectsFile = None,
) -> None:
    """Turn dependency trees (Universal Dependencies) into constituency trees, one a line.

    Example: syntagma parser convert de_gsd-ud-train.conllu --style negra > train.trees
    """
    from syntagma.parse.converted import convert_files
    from syntagma.parse.dependencies import Style

    for _, tree in convert_files(files, Style(style), bad is Bad.skip, rejects):
        sys.stdout.write(f"{tree}\n")


def score(
    gold: Annotated[str, typer.Argument(help="A file of gold trees with parts of speech (also gzip).")],
    parser: ParserName = "parser-en",
    predicted: Annotated[
        str | None, typer.Option(help="A file of parses to score instead of running a parser.")
    ] = None,
    labels: Annotated[str, typer.Option(help="The labels of the pruned score, comma-separated.")] = "S,NP,VP,PP",
    negra: Annotated[
        bool, typer.Option("--negra", help="The gold trees have NEGRA's labels: make them S, NP, VP and PP.")
    ] = False,
    lower: Annotated[bool, typer.Option("--lower", help="Hand the parser the words in lower case.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    threads: Threads = 0,
) -> None:
    """Score a parser on gold trees by the rules of evalb, over all labels and over the pruned ones.

    Example: syntagma parser score test.trees.gz --parser parser-en
    """
    from syntagma.cli.common import read_labels
    from syntagma.errors import InputError, Place
    from syntagma.parse.score import BracketScore, compare

    kept = read_labels(labels)
    every, pruned = BracketScore(), BracketScore()
    start = time.monotonic()
    for number, (wanted, predicted_tree) in enumerate(_pairs(gold, parser, predicted, lower, threads, negra), 1):
        try:
            every += compare(wanted, predicted_tree)
        except InputError as error:
            raise error.at(file=predicted, line=number) from None
        pruned += compare(wanted, predicted_tree, kept)
    if not every.sentences:
        raise InputError("it holds no tree", Place(gold), "give a file of gold trees")
    if as_json:
        print(json.dumps({"all": every.figures(), "pruned": pruned.figures(), "labels": kept}))
        return
    _table(every, pruned, kept)
    if predicted is None:
        seconds = time.monotonic() - start
        print(f"syntagma: parsed {every.sentences / seconds:.0f} sentences a second", file=sys.stderr)


def _pairs(
    gold: str, parser: str, predicted: str | None, lower: bool, threads: int, negra: bool
) -> Iterator[tuple[Tree, Tree]]:
    """Gold trees with the parses of their words."""
    from syntagma.errors import InputError, Place, SyntagmaError
    from syntagma.files import read_lines
    from syntagma.parse import load_parser
    from syntagma.parse.negra import from_negra
    from syntagma.tree import read_trees

    def trees(path: str) -> Iterator[Tree]:
        try:
            yield from read_trees(read_lines(path))
        except SyntagmaError as error:
            raise error.at(file=path) from None

    wanted = trees(gold)
    if negra:
        wanted = (tree for tree in map(from_negra, wanted) if tree is not None)
    if predicted is not None:
        try:
            yield from zip(wanted, trees(predicted), strict=True)
        except ValueError:
            raise InputError(
                "it has not as many trees as the gold file", Place(predicted), "score the same text"
            ) from None
        return
    loaded = load_parser(parser, threads or processors())
    use_threads(threads)
    while chunk := list(islice(wanted, 4 * CHUNK)):
        words = (tree.words() for tree in chunk)
        yield from zip(chunk, loaded.parse([_lowered(some) if lower else some for some in words]), strict=True)


def _lowered(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word.lower() for word in words)


def _table(every: BracketScore, pruned: BracketScore, labels: tuple[str, ...]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("", "all labels", f"{' '.join(labels)} only")
    names = {
        "sentences": "sentences",
        "precision": "labelled precision",
        "recall": "labelled recall",
        "f1": "labelled F1",
        "exact_match": "exact match",
        "average_crossing": "crossing brackets a sentence",
        "no_crossing": "sentences without crossing",
        "tagging": "tagging accuracy",
    }
    all_labels, kept_labels = every.figures(), pruned.figures()
    for key, name in names.items():
        table.add_row(
            name, *(f"{v:.2f}" if isinstance(v, float) else f"{v:,}" for v in (all_labels[key], kept_labels[key]))
        )
    Console(width=None if sys.stdout.isatty() else 100).print(table)


def export(
    parsers: Annotated[list[str], typer.Argument(help="A parser's folder; of several the mean of the weights.")],
    out: Annotated[Path, typer.Option(help="The folder to write; it must not be there yet.")],
    precision: Annotated[Precision, typer.Option(help="How matrices are stored.")] = Precision.int8,
    version: Annotated[str | None, typer.Option(help="The parser's version.", show_default="the first one's")] = None,
    card: Annotated[Path | None, typer.Option(help="A README for it.", show_default="the first one's")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a trained parser as a folder to share; runs that began at the same weights may be averaged.

    Example: syntagma parser export run/model other/model --out parser --version 2
    """
    from dataclasses import replace

    from syntagma.files import atomic_folder, read_lines
    from syntagma.hub import find_folder
    from syntagma.parse.ensemble import average
    from syntagma.parse.trainable import TrainableParser

    folders = [find_folder(name, "parser", "network") for name in parsers]
    parser = average(parsers, [TrainableParser.load(folder) for folder in folders])
    if version is not None:
        parser.config = replace(parser.config, version=version)
    text = "\n".join(read_lines(card or folders[0] / "README.md")) + "\n"
    with atomic_folder(out) as folder:
        stored = folders[0] / "model.safetensors" if len(folders) == 1 else None
        parser.save(folder, precision.value, stored)
        (folder / "README.md").write_text(text, encoding="utf-8")
    report(as_json, f"the parser is in {out}", parser=str(out), version=parser.config.version)
