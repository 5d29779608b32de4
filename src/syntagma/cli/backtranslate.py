"""`syntagma backtranslate`: paraphrase pairs out of text, through translation models."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from syntagma.cli.common import bars, option, resumable
from syntagma.cli.settings import settings_command, settings_option, split_settings

_SETTINGS = "syntagma.corpus.backtranslation.options:BacktranslationOptions"
_INPUT, _MODELS, _RUN = "Input", "Translation", "The run"
_FLAGS = ("inputs", "back", "there", "exclude", "candidates", "beam", "weights")
"""Settings that have a flag, or that nobody gives."""


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("backtranslate", cls=settings_command(_SETTINGS))(backtranslate)


def backtranslate(
    back: Annotated[
        str, option(_MODELS, "The folder of the model into English: CTranslate2, or Marian of Hugging Face.")
    ],
    out: Annotated[str, option(_RUN, "The folder to make; run the same command again to go on after a stop.")],
    text: Annotated[
        list[str] | None,
        typer.Argument(
            help="Sentences; without any, -i or --bitext is read. And settings, key=value.", show_default=False
        ),
    ] = None,
    source: Annotated[
        list[str] | None,
        option(
            _INPUT,
            "A file of English text, a sentence a line (also gzip), - for standard input; may be given again.",
            "-i",
            "--input",
            show_default="-",
        ),
    ] = None,
    bitext: Annotated[
        list[str] | None,
        option(_INPUT, "A file of foreign<TAB>English lines in place of text; may be given again.", show_default=False),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        option(_INPUT, "A file (TSV or text) of which no sentence may be used or made.", show_default=False),
    ] = None,
    there: Annotated[
        str | None, option(_MODELS, "The folder of the model out of English; none for a bitext.", show_default=False)
    ] = None,
    candidates: Annotated[int, option(_MODELS, None)] = 1,
    beam: Annotated[int, option(_MODELS, None)] = 4,
    settings: Annotated[bool, settings_option(_RUN, _SETTINGS, without=_FLAGS)] = False,
    executor: Annotated[
        str, option(_RUN, "local, or ray (extra: ray; --out and the models on storage that every machine sees).")
    ] = "local",
    workers: Annotated[
        int | None, option(_RUN, "Processes or Ray actors, a thread each.", show_default="all cores", min=1)
    ] = None,
    overwrite: Annotated[bool, option(_RUN, "Start again where --out holds other pairs.", "--overwrite")] = False,
    as_json: Annotated[bool, option(_RUN, "The counts as one JSON object on stdout.", "--json")] = False,
) -> None:
    """Make paraphrase pairs: English text there and back through two translation models, or a bitext's foreign side.

    DIR/pairs.tsv holds sentence, paraphrase, origin, cosine and overlap, as `syntagma prepare` reads it; whatever was
    dropped is in DIR/rejects.jsonl with its reason, and DIR/about.json tells the counts.

    Example: syntagma backtranslate -i mail.txt --there opus-mt-en-fr --back opus-mt-fr-en --out pairs

    Example: syntagma backtranslate --bitext de-en.tsv --back opus-mt-de-en --out pairs max_words=30 skip=pronouns
    """
    from syntagma.corpus.backtranslation.build import ARGUMENTS
    from syntagma.corpus.backtranslation.build import backtranslate as make
    from syntagma.corpus.backtranslation.options import BacktranslationOptions
    from syntagma.errors import ConfigError

    text, arguments = split_settings(text or [], _SETTINGS)
    given = BacktranslationOptions.read_arguments(arguments)
    if sum(map(bool, (text, source, bitext))) > 1:
        raise ConfigError("there are several kinds of input", remedy="give sentences, or -i, or --bitext")
    if bitext and there:
        what = "a bitext has its foreign sentences already"
        raise ConfigError(what, remedy="leave out --there, or give the text with -i")
    if not bitext and not there:
        what = "text needs a model into another language"
        raise ConfigError(what, remedy="give --there FOLDER, or --bitext with foreign<TAB>English lines")
    columns = [name for item in given.get("columns", ()) for name in item.split(",")]
    if columns and not bitext:
        raise ConfigError("columns= is for a bitext", remedy="leave it out")
    flags = {
        "inputs": [ARGUMENTS] if text else (bitext or source or ["-"]), "there": there, "back": back,
        "exclude": exclude or [], "candidates": candidates, "beam": beam,
    }  # fmt: skip
    options = BacktranslationOptions.from_dict({**flags, **given, "columns": columns})
    with resumable(), bars({"read": "rows read", "paraphrase": "paraphrased"}) as watch:
        about = make(
            options, out, texts=text or None, executor=executor, workers=workers, overwrite=overwrite, watch=watch
        )
    if as_json:
        from json import dumps

        print(dumps({name: value for name, value in about.items() if name != "options"}, ensure_ascii=False))
    else:
        _print_counts(out, about)


def _print_counts(out: str, about: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    counts = about["counts"]
    table = Table(title=out, title_justify="left", show_header=False)
    table.add_row("rows read", f"{counts['rows']:,}")
    for reason, count in about["rows_rejected"].items():
        table.add_row(f"rejected row: {reason}", f"{count:,}")
    table.add_row("sentences translated", f"{counts['sentences']:,}")
    table.add_row("candidates", f"{counts['candidates']:,}")
    for reason, count in about["candidates_rejected"].items():
        table.add_row(f"rejected: {reason}", f"{count:,}")
    table.add_row("pairs kept", f"{counts['kept']:,}")
    for name, label in (("mean_cosine", "mean cosine"), ("mean_overlap", "mean overlap")):
        if about[name] is not None:
            table.add_row(label, f"{about[name]:.3f}")
    Console(stderr=True).print(table)
