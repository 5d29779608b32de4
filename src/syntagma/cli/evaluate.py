"""`syntagma evaluate`: every figure of the paper for a file of hypotheses."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from syntagma.metrics.base import Metric
    from syntagma.metrics.inputs import Inputs
    from syntagma.metrics.parsing import TreeMaker
    from syntagma.metrics.registry import MetricOptions

Files = list[str] | None


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("evaluate")(evaluate)


def evaluate(
    hyp: Annotated[str | None, typer.Option(help="The hypotheses, one a line; - is standard input.")] = None,
    ref: Annotated[Files, typer.Option(help="The references; repeat it for several.")] = None,
    src: Annotated[str | None, typer.Option(help="The sources.")] = None,
    metrics: Annotated[
        str, typer.Option(help="Names, comma-separated, or all; without it, what the files allow.")
    ] = "",
    against: Annotated[
        str | None, typer.Option(help="A baseline's hypotheses, to compare with by paired bootstrap.")
    ] = None,
    hyp_trees: Annotated[str | None, typer.Option(help="Parses of the hypotheses, a tree a line.")] = None,
    src_trees: Annotated[str | None, typer.Option(help="Parses of the sources.")] = None,
    ref_trees: Annotated[Files, typer.Option(help="Parses of the references; one file for each --ref.")] = None,
    against_trees: Annotated[str | None, typer.Option(help="Parses of the baseline's hypotheses.")] = None,
    induced_trees: Annotated[
        str | None, typer.Option(help="Trees that generation induced, scored against parses.")
    ] = None,
    templates: Annotated[
        str | None, typer.Option(help="Templates, one a line, that induced trees should match.")
    ] = None,
    nbest: Annotated[
        str | None, typer.Option(help="Output of generate --json: its beam is scored, its best is --hyp.")
    ] = None,
    beam: Annotated[int, typer.Option(min=1, help="How many hypotheses of each list count.")] = 5,
    parser: Annotated[str, typer.Option(help="Who parses what has no trees: a parser's name, or none.")] = "parser-en",
    depth: Annotated[int, typer.Option(min=-1, help="How deep D_syn compares, the top at 0; -1 for all.")] = 3,
    each_ref: Annotated[
        bool, typer.Option("--each-ref", help="With several references, also score each alone.")
    ] = False,
    r: Annotated[float, typer.Option(min=0, max=1, help="iBLEU's weight of the reference.")] = 0.7,
    tokenize: Annotated[str, typer.Option(help="BLEU's tokenisation: none, 13a, intl, char, zh.")] = "none",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="BLEU without case.")] = False,
    resamples: Annotated[
        int, typer.Option(min=0, help="Resampled corpora for intervals and p-values; 0 for none.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the resampling.")] = 1,
    segments: Annotated[Path | None, typer.Option(help="Where each segment's scores go: .tsv or .jsonl.")] = None,
    allow_labels: Annotated[
        bool, typer.Option("--allow-labels", help="Score hypotheses that hold <NP> as plain text.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="A Markdown table.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="A LaTeX table.")] = False,
) -> None:
    """Score hypotheses: BLEU, iBLEU, METEOR, ROUGE, diversity and more, on the 0-100 scale, with 95% intervals.

    Example: syntagma evaluate --hyp out.txt --ref test.tgt --src test.src --against baseline.txt
    """
    from syntagma.cli.common import count_lines, progress
    from syntagma.errors import ConfigError
    from syntagma.metrics import report
    from syntagma.metrics.bleu import TOKENISERS
    from syntagma.metrics.evaluation import evaluate as run
    from syntagma.metrics.inputs import Inputs, read_segments
    from syntagma.metrics.per_reference import each_reference
    from syntagma.metrics.registry import MetricOptions

    if as_json + markdown + latex > 1:
        raise ConfigError(
            "more than one kind of output is asked for", remedy="give one of --json, --markdown and --latex"
        )
    if against and not resamples:
        raise ConfigError("--against needs resamples", remedy="give --resamples 1000")
    if tokenize not in TOKENISERS:
        raise ConfigError(f"there is no tokenisation {tokenize!r}", remedy=f"use one of {', '.join(TOKENISERS)}")
    inputs = Inputs(
        hyp, tuple(ref or ()), src, against, hyp_trees, src_trees, tuple(ref_trees or ()), against_trees, induced_trees,
        templates, nbest, beam, allow_labels,
    )  # fmt: skip
    inputs.check()
    names = [name.strip() for name in metrics.split(",") if name.strip()]
    chosen, maker = _choose(
        names, inputs, MetricOptions(r, tokenize, lowercase, None if depth < 0 else depth, beam), parser
    )
    if not chosen:
        raise ConfigError("no metric can be computed from these files", remedy="give --ref or --src")
    if each_ref:
        chosen = each_reference(chosen, len(inputs.refs))
    with progress("segments", lambda: count_lines(inputs.hyp or inputs.nbest or "-")) as advance:
        results = run(chosen, read_segments(inputs), maker, advance)
    if results[0].empty:
        _say(f"{results[0].empty} of {results[0].segments} hypotheses are empty and match nothing")
    if maker is not None and maker.refused:
        _say(f"{len(maker.refused)} texts cannot be parsed and count as without structure ({maker.refused[0]})")
    if segments:
        report.write_segments(segments, results[0].names(), results[0].segment_scores())
    scores = results[0].scores(resamples, seed)
    comparisons = results[0].compare(results[1], resamples, seed) if against else None
    if as_json:
        print(report.as_json(scores, comparisons, results[0].segments, resamples, seed))
    elif markdown:
        print(report.as_markdown(scores, comparisons))
    elif latex:
        print(report.as_latex(scores, comparisons))
    else:
        report.print_table(scores, comparisons, sys.stdout)


def _choose(
    names: list[str], inputs: Inputs, options: MetricOptions, parser: str
) -> tuple[list[Metric], TreeMaker | None]:
    """The metrics to compute, and what parses for them if anything must be parsed."""
    from syntagma.errors import SyntagmaError
    from syntagma.metrics.parsing import TreeMaker, describe, load
    from syntagma.metrics.registry import select, to_parse

    fields = inputs.fields()
    missing = to_parse(names, fields)
    maker = None
    if missing and parser != "none":
        try:
            backend = load(parser)
            maker = TreeMaker(backend, missing)
            made = f"parsed by {describe(backend, parser)}"
            options = replace(options, trees=made, beam_trees=made)
        except SyntagmaError as error:
            _say(f"nothing is parsed: {error}")
    if maker is not None:
        fields |= missing
    elif "nbest" in fields:
        fields.add("nbest_trees")  # those that generation induced
    return select(names, fields, options, _say), maker


def _say(text: str) -> None:
    print(f"syntagma: {text}", file=sys.stderr)
