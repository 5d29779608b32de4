"""`syntagma evaluate`: every figure of the paper for a file of hypotheses."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from syntagma.cli.common import Device, Precision, option
from syntagma.cli.settings import settings_command, settings_option
from syntagma.settings import Settings, setting

if TYPE_CHECKING:
    from syntagma.metrics.base import Metric
    from syntagma.metrics.inputs import Inputs
    from syntagma.metrics.parsing import TreeMaker
    from syntagma.metrics.registry import MetricOptions

Files = list[str] | None


_SETTINGS = "syntagma.cli.evaluate:EvaluateSettings"
_TEXTS, _METRICS, _OUTPUT = "Texts", "Metrics", "Output"


@dataclass(frozen=True)
class EvaluateSettings(Settings):
    """How metrics are computed."""

    r: float = setting(0.7, ge=0, le=1)
    """iBLEU's weight of the reference."""
    tokenize: Literal["none", "13a", "intl", "char", "zh"] = "none"
    """BLEU's tokenisation."""
    lowercase: bool = False
    """BLEU without case."""
    depth: int = setting(3, ge=-1)
    """How deep D_syn compares, the top at 0; -1 for all."""
    beam: int = setting(5, ge=1)
    """How many hypotheses of each list of --nbest count."""
    resamples: int = setting(1000, ge=0)
    """Resampled corpora for intervals and p-values; 0 for none."""
    seed: int = setting(1, ge=0)
    """The seed of the resampling."""
    allow_labels: bool = False
    """Score hypotheses that hold <NP> as plain text."""
    per_reference: bool = False
    """With several references, also score each alone."""
    hyp_trees: str | None = None
    """A file of parses of the hypotheses, a tree a line."""
    src_trees: str | None = None
    """A file of parses of the sources."""
    ref_trees: tuple[str, ...] = ()
    """A file of parses of the references, for each --ref."""
    against_trees: str | None = None
    """A file of parses of the baseline's hypotheses."""
    induced_trees: str | None = None
    """A file of trees that generation induced, scored against parses."""
    templates: str | None = None
    """A file of templates, one a line, that induced trees and parses should match."""


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("evaluate", cls=settings_command(_SETTINGS))(evaluate)


def evaluate(
    given: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings of metrics.", show_default=False)
    ] = None,
    hyp: Annotated[str | None, option(_TEXTS, "The hypotheses, one a line; - is standard input.")] = None,
    ref: Annotated[Files, option(_TEXTS, "The references; repeat it for several.")] = None,
    src: Annotated[str | None, option(_TEXTS, "The sources.")] = None,
    against: Annotated[
        str | None, option(_TEXTS, "A baseline's hypotheses, to compare with by paired bootstrap.")
    ] = None,
    nbest: Annotated[
        str | None, option(_TEXTS, "Output of generate --json: its beam is scored, its best is --hyp.")
    ] = None,
    metrics: Annotated[str, option(_METRICS, "Names, comma-separated, or all; without it, what the files allow.")] = "",
    settings: Annotated[bool, settings_option(_METRICS, _SETTINGS)] = False,
    parser: Annotated[str, option(_METRICS, "Who parses what has no trees: a parser's name, or none.")] = "parser-en",
    device: Device = "auto",
    precision: Precision = None,
    segments: Annotated[Path | None, option(_OUTPUT, "Where each segment's scores go: .tsv or .jsonl.")] = None,
    as_json: Annotated[bool, option(_OUTPUT, "One JSON object.", "--json")] = False,
    markdown: Annotated[bool, option(_OUTPUT, "A Markdown table.", "--markdown")] = False,
    latex: Annotated[bool, option(_OUTPUT, "A LaTeX table.", "--latex")] = False,
) -> None:
    """Score hypotheses: BLEU, iBLEU, METEOR, ROUGE, diversity and more, on the 0-100 scale, with 95% intervals.

    Example: syntagma evaluate --hyp out.txt --ref test.tgt --src test.src --against baseline.txt

    Example: syntagma evaluate --hyp out.txt --ref test.tgt --metrics bleu,chrf tokenize=13a lowercase=true

    Example: syntagma evaluate --hyp out.txt --src test.src --metrics d_syn hyp_trees=out.trees src_trees=test.trees
    """
    from syntagma.cli.common import count_lines, progress
    from syntagma.errors import ConfigError
    from syntagma.metrics import report
    from syntagma.metrics.evaluation import evaluate as run
    from syntagma.metrics.inputs import Inputs, read_segments
    from syntagma.metrics.per_reference import each_reference
    from syntagma.metrics.registry import MetricOptions
    from syntagma.runtime.device import check_device

    chosen = EvaluateSettings.from_dict(EvaluateSettings.read_arguments(given or []))
    if as_json + markdown + latex > 1:
        raise ConfigError(
            "more than one kind of output is asked for", remedy="give one of --json, --markdown and --latex"
        )
    if against and not chosen.resamples:
        raise ConfigError("--against needs resamples", remedy="give resamples=1000")
    inputs = Inputs(
        hyp, tuple(ref or ()), src, against, chosen.hyp_trees, chosen.src_trees, chosen.ref_trees, chosen.against_trees,
        chosen.induced_trees, chosen.templates, nbest, chosen.beam, chosen.allow_labels,
    )  # fmt: skip
    inputs.check()
    names = [name.strip() for name in metrics.split(",") if name.strip()]
    check_device(device, precision)
    depth = None if chosen.depth < 0 else chosen.depth
    options = MetricOptions(
        chosen.r, chosen.tokenize, chosen.lowercase, depth, chosen.beam, device=device, precision=precision
    )
    computed, maker = _choose(names, inputs, options, parser)
    if not computed:
        raise ConfigError("no metric can be computed from these files", remedy="give --ref or --src")
    if chosen.per_reference:
        computed = each_reference(computed, len(inputs.refs))
    with progress("segments", lambda: count_lines(inputs.hyp or inputs.nbest or "-")) as advance:
        results = run(computed, read_segments(inputs), maker, advance)
    if results[0].empty:
        _say(f"{results[0].empty} of {results[0].segments} hypotheses are empty and match nothing")
    if maker is not None and maker.refused:
        _say(f"{len(maker.refused)} texts cannot be parsed and count as without structure ({maker.refused[0]})")
    if segments:
        report.write_segments(segments, results[0].names(), results[0].segment_scores())
    scores = results[0].scores(chosen.resamples, chosen.seed)
    comparisons = results[0].compare(results[1], chosen.resamples, chosen.seed) if against else None
    if as_json:
        print(report.as_json(scores, comparisons, results[0].segments, chosen.resamples, chosen.seed))
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
            backend = load(parser, options.device, options.precision)
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
