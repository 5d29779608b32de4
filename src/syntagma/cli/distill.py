"""`syntagma distill`: a corpus whose targets a teacher writes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from syntagma.cli.common import AsJson, Device, Precision, option, report

_TEACHER, _CORPUS = "The teacher", "The corpus"


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("distill")(distill)


def distill(
    data: Annotated[Path, typer.Argument(help="The prepared corpus whose training sources the teacher shall rewrite.")],
    teacher: Annotated[str, option(_TEACHER, "A model folder, a bundled name, or a hub id.")],
    out: Annotated[Path, option(_CORPUS, "The folder of the new corpus; run the same command to go on after a stop.")],
    beam: Annotated[int | None, option(_TEACHER, "Its beam.", min=1, show_default="the model's, 5")] = None,
    score: Annotated[
        str | None, option(_TEACHER, "sum or mean of log-probabilities.", show_default="the model's")
    ] = None,
    limit: Annotated[
        int | None, option(_CORPUS, "So many sources, drawn at random.", min=1, show_default="all of them")
    ] = None,
    nearest: Annotated[
        float | None,
        option(
            _CORPUS,
            "Of the teacher's beam, take the text most like a target of the corpus; below this chrF, the target.",
            min=0,
            max=100,
        ),
    ] = None,
    keep_rest: Annotated[
        bool, option(_CORPUS, "Add the other sources with the targets that they have.", "--keep-rest")
    ] = False,
    batch: Annotated[
        int | None,
        option("Machine", "Sources searched at once.", "--batch-size", min=1, show_default="as `generate`"),
    ] = None,
    workers: Annotated[
        int | None, option("Machine", "Processes that translate and parse.", min=1, show_default="all cores")
    ] = None,
    device: Device = "auto",
    precision: Precision = None,
    as_json: AsJson = False,
) -> None:
    """Make a corpus for sequence-level distillation: a teacher model writes the targets of the training sources.

    Example: syntagma distill corpus --teacher translate-de-en --out distilled --limit 50000 --keep-rest
    """
    from syntagma.corpus import Corpus
    from syntagma.train.distillation import Teacher, check_output
    from syntagma.train.distillation import distill as run

    check_output(out, data)

    def told(done: int, total: int) -> None:
        print(f"syntagma: the teacher has written {done:,} of {total:,} targets", file=sys.stderr)

    loaded = Teacher.load(teacher, beam, score, batch, device, precision)
    corpus = run(
        loaded, Corpus.open(data), out, limit=limit, nearest=nearest, keep_rest=keep_rest, workers=workers, told=told
    )
    sizes = {name: len(corpus.split(name)) for name in corpus.splits}
    report(as_json, f"{sizes['train']:,} training pairs in {out}", corpus=str(out), splits=sizes)
