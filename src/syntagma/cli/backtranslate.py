"""`syntagma backtranslate`: paraphrase pairs out of text, through translation models."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from syntagma.cli.common import bars, option
from syntagma.cli.settings import settings_command

_INPUT, _MODELS, _FILTERS, _RUN = "Input", "Translation", "Filters", "The run"


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    kind = settings_command("syntagma.corpus.backtranslation.options:BacktranslationOptions")
    app.command("backtranslate", cls=kind)(backtranslate)


def backtranslate(
    back: Annotated[
        str, option(_MODELS, "The folder of the model into English: CTranslate2, or Marian of Hugging Face.")
    ],
    out: Annotated[str, option(_RUN, "The folder to make; run the same command again to go on after a stop.")],
    text: Annotated[
        list[str] | None, typer.Argument(help="Sentences; without any, -i or --bitext is read.", show_default=False)
    ] = None,
    there: Annotated[
        str | None, option(_MODELS, "The folder of the model out of English; none for a bitext.", show_default=False)
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
    columns: Annotated[
        str | None, option(_INPUT, "Foreign and English column of a bitext.", show_default="0,1 for TSV")
    ] = None,
    exclude: Annotated[
        list[str] | None,
        option(_INPUT, "A file (TSV or text) of which no sentence may be used or made.", show_default=False),
    ] = None,
    candidates: Annotated[int, option(_MODELS, "Translations of each sentence in the first step.", min=1)] = 1,
    beam: Annotated[int, option(_MODELS, "The beam of both steps.", min=1)] = 4,
    sample: Annotated[
        int, option(_MODELS, "Draw the first step's from so many of the likeliest pieces; 0: beam search.", min=0)
    ] = 0,
    temperature: Annotated[float, option(_MODELS, "Of what is drawn.")] = 1.0,
    seed: Annotated[int, option(_MODELS, "Decides what is drawn.")] = 1,
    min_words: Annotated[int, option(_FILTERS, "Fewest words, on both sides.")] = 3,
    max_words: Annotated[int, option(_FILTERS, "Most words, on both sides.")] = 40,
    max_ratio: Annotated[float, option(_FILTERS, "Most words of the longer side for one of the shorter.")] = 2.0,
    max_overlap: Annotated[float, option(_FILTERS, "Most words in common (Jaccard index).")] = 0.85,
    min_similarity: Annotated[
        float, option(_FILTERS, "Least cosine of the meanings (extra: similarity); 0 measures none.")
    ] = 0.8,
    min_sentences: Annotated[
        int,
        option(_FILTERS, "A word that the sentence lacks must be in so many of the input; 0 for little input."),
    ] = 2,
    words: Annotated[
        str | None, option(_FILTERS, "A file of words, one a line, that are known besides.", show_default=False)
    ] = None,
    skip: Annotated[
        list[str] | None,
        option(_FILTERS, "Leave out a filter, such as pronouns; may be given again.", "--skip-filter"),
    ] = None,
    chunk_rows: Annotated[int, option(_RUN, "Rows of a piece of work: what a stop can cost.")] = 1000,
    executor: Annotated[
        str, option(_RUN, "local, or ray (extra: ray; --out and the models on storage that every machine sees).")
    ] = "local",
    workers: Annotated[
        int | None, option(_RUN, "Processes or Ray actors, a thread each.", show_default="all cores", min=1)
    ] = None,
    overwrite: Annotated[bool, option(_RUN, "Start anew where --out holds other pairs.", "--overwrite")] = False,
    as_json: Annotated[bool, option(_RUN, "The counts as one JSON object on stdout.", "--json")] = False,
) -> None:
    """Make paraphrase pairs: English text there and back through two translation models, or a bitext's foreign side.

    DIR/pairs.tsv holds sentence, paraphrase, origin, cosine and overlap, as `syntagma prepare` reads it; whatever was
    dropped is in DIR/rejects.jsonl with its reason, and DIR/about.json tells the counts.

    Example: syntagma backtranslate -i mail.txt --there opus-mt-en-fr --back opus-mt-fr-en --out pairs

    Example: syntagma backtranslate --bitext de-en.tsv --back opus-mt-de-en --out pairs
    """
    from syntagma.corpus.backtranslation.build import ARGUMENTS
    from syntagma.corpus.backtranslation.build import backtranslate as make
    from syntagma.corpus.backtranslation.options import BacktranslationOptions
    from syntagma.errors import ConfigError

    if sum(map(bool, (text, source, bitext))) > 1:
        raise ConfigError("there are several kinds of input", remedy="give sentences, or -i, or --bitext")
    if bitext and there:
        what = "a bitext has its foreign sentences already"
        raise ConfigError(what, remedy="leave out --there, or give the text with -i")
    if not bitext and not there:
        what = "text needs a model into another language"
        raise ConfigError(what, remedy="give --there FOLDER, or --bitext with foreign<TAB>English lines")
    if columns and not bitext:
        raise ConfigError("--columns is for a bitext", remedy="leave it out")
    options = BacktranslationOptions(
        inputs=(ARGUMENTS,) if text else tuple(bitext or source or ["-"]),
        there=there,
        back=back,
        columns=tuple(columns.split(",")) if columns else (),
        exclude=tuple(exclude or ()),
        words=words,
        candidates=candidates,
        beam=beam,
        sample=sample,
        temperature=temperature,
        seed=seed,
        min_words=min_words,
        max_words=max_words,
        max_ratio=max_ratio,
        max_overlap=max_overlap,
        min_similarity=min_similarity,
        min_sentences=min_sentences,
        skip=tuple(skip or ()),
        chunk_rows=chunk_rows,
    )
    try:
        with bars({"read": "rows read", "paraphrase": "paraphrased"}) as watch:
            about = make(options, out, texts=text, executor=executor, workers=workers, overwrite=overwrite, watch=watch)
    except KeyboardInterrupt:
        print("syntagma: stopped; run the same command again to go on", file=sys.stderr)
        raise typer.Exit(130) from None
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
