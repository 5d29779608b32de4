"""Systems side by side: their figures on a test set, how they differ and how certain that is, the paper's beside."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from syntagma.metrics.base import Score, Segment
from syntagma.metrics.bootstrap import Comparison
from syntagma.metrics.evaluation import evaluate
from syntagma.metrics.parsing import TreeMaker, describe, load
from syntagma.metrics.registry import MetricOptions, select, to_parse
from syntagma.metrics.report import title

FIELDS = frozenset({"hyp", "refs", "src", "induced", "template", "nbest", "edit"})
"""The fields that segments of a table come with; a parser fills the others."""
PAPER = "paper: "
"""Begins the names of rows that the paper prints."""
COPIED, REFERENCE = "source copied", "reference"
_ONE_LINE_FIGURES = {
    "induced": ("tree_precision", "tree_recall", "tree_f1", "template_match"),
    "edit": ("edit_followed",),
}
_BEAM_FIGURES = ("beam_bleu", "beam_ibleu", "d_lex_beam", "d_syn_beam")


@dataclass(frozen=True)
class TableRow:
    """One system: its figures by name, their intervals, and how they differ from a baseline's; any may be missing."""

    system: str
    figures: dict[str, float]
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    against: str | None = None
    differences: dict[str, Comparison] = field(default_factory=dict)

    @property
    def p(self) -> dict[str, float]:
        """The p-value of each difference."""
        return {name: comparison.p for name, comparison in self.differences.items()}


@dataclass(frozen=True)
class Table:
    """One test set's systems, and how their figures were computed."""

    title: str
    segments: int
    names: tuple[str, ...]
    rows: tuple[TableRow, ...]
    signatures: tuple[str, ...]

    def to_json(self) -> str:
        """One object."""
        rows = [
            {
                "system": row.system,
                **row.figures,
                "intervals": row.intervals,
                "against": row.against,
                "differences": {
                    name: [comparison.delta, *comparison.interval] for name, comparison in row.differences.items()
                },
                "p": row.p,
            }
            for row in self.rows
        ]
        return json.dumps(
            {"test": self.title, "segments": self.segments, "systems": rows, "signatures": self.signatures}
        )

    def to_markdown(self) -> str:
        """A figure and half the width of its 95% interval in a cell, * where p < 0.05; then the differences."""
        lines = [f"**{self.title}**, {self.segments} sentences", ""]
        lines += _markdown("system", self.names, [[row.system, *self._cells(row)] for row in self.rows])
        compared = [row for row in self.rows if row.differences]
        if compared:
            names = [name for name in self.names if any(name in row.differences for row in compared)]
            lines += ["", "Differences, their 95% intervals and p-values by paired bootstrap:", ""]
            cells = [[f"{row.system} - {row.against}", *_differences(row, names)] for row in compared]
            lines += _markdown("systems", names, cells)
        return "\n".join(lines)

    def _cells(self, row: TableRow) -> list[str]:
        return [_cell(row, name) for name in self.names]

    def with_figures(self, names: Sequence[str], figures: Mapping[str, Mapping[str, float]]) -> Table:
        """The table with more columns, by row; a row may lack some."""
        rows = [replace(row, figures=row.figures | dict(figures.get(row.system, {}))) for row in self.rows]
        return replace(self, names=(*self.names, *names), rows=tuple(rows))


def _markdown(head: str, names: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {head} | " + " | ".join(map(title, names)) + " |", "|:---|" + "---:|" * len(names)]
    return lines + ["| " + " | ".join(row) + " |" for row in cells]


def _cell(row: TableRow, name: str) -> str:
    if name not in row.figures:
        return ""
    text = f"{row.figures[name]:.1f}"
    if name in row.intervals:
        low, high = row.intervals[name]
        text += f" ±{(high - low) / 2:.1f}"
    return text + ("*" if row.p.get(name, 1.0) < 0.05 else "")


def _differences(row: TableRow, names: Sequence[str]) -> list[str]:
    comparisons = [row.differences.get(name) for name in names]
    return ["" if comparison is None else _difference(comparison) for comparison in comparisons]


def _difference(comparison: Comparison) -> str:
    low, high = comparison.interval
    return f"{comparison.delta:+.1f} [{low:+.1f}, {high:+.1f}], p = {comparison.p:.3f}"


@dataclass(frozen=True)
class Scoring:
    """How the rows of a table are scored."""

    title: str
    figures: Sequence[str]
    tokenize: str = "none"
    """BLEU's tokenisation."""
    printed: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Rows that the paper prints."""
    parser: str = "parser-en"
    device: str = "cpu"
    """Where texts are parsed and encoded."""
    precision: str | None = None


def compare_systems(
    scoring: Scoring,
    systems: Mapping[str, Sequence[Segment]],
    *,
    against: Callable[[str], str | None] = lambda system: None,
    resamples: int = 1000,
    note: Callable[[str], None] = lambda text: None,
) -> Table:
    """The figures of each system's segments; `against` names the system that one is compared with."""
    names = list(systems)
    longest = max((len(segment.nbest) for segments in systems.values() for segment in segments), default=1)
    options = MetricOptions(
        tokenize=scoring.tokenize, beam=max(longest, 1), device=scoring.device, precision=scoring.precision
    )
    missing = to_parse(scoring.figures, set(FIELDS))
    maker = None
    if missing:
        parser = load(scoring.parser, scoring.device, scoring.precision)
        maker = TreeMaker(parser, missing)
        made = f"parsed by {describe(parser, scoring.parser)}"
        options = replace(options, trees=made, beam_trees=made)
    metrics = select(scoring.figures, {*FIELDS, *missing}, options, note)
    results = dict(zip(names, evaluate(metrics, zip(*systems.values(), strict=True), maker), strict=True))
    rows = []
    for name in names:
        rival = against(name) if resamples else None
        rival = rival if rival in results and rival != name else None
        compared = results[name].compare(results[rival], resamples) if rival else []
        scores = results[name].scores(0 if name in (COPIED, REFERENCE) else resamples)
        empty = _meaningless(systems[name])
        incomparable = empty | (_meaningless(systems[rival]) if rival else set())
        rows.append(
            _row(
                name,
                scores,
                rival,
                [comparison for comparison in compared if comparison.name not in incomparable],
                empty,
            )
        )
    rows += [TableRow(PAPER + name, dict(figures)) for name, figures in scoring.printed.items()]
    scores = results[names[0]].scores()
    shown = [score for score in scores if any(score.name in row.figures for row in rows)]
    segments = len(systems[names[0]])
    signatures = tuple(dict.fromkeys(score.signature for score in shown))
    return Table(scoring.title, segments, tuple(score.name for score in shown), tuple(rows), signatures)


def _meaningless(segments: Sequence[Segment]) -> set[str]:
    """Figures that say nothing of a system whose segments lack what they are about."""
    meaningless = {
        name
        for part, names in _ONE_LINE_FIGURES.items()
        for name in names
        if not any(getattr(segment, part) for segment in segments)
    }
    return meaningless | (set(_BEAM_FIGURES) if all(len(segment.nbest) < 2 for segment in segments) else set())


def _row(
    name: str, scores: Sequence[Score], against: str | None, compared: Sequence[Comparison], meaningless: set[str]
) -> TableRow:
    return TableRow(
        name,
        {score.name: score.value for score in scores if score.name not in meaningless},
        {score.name: score.interval for score in scores if score.interval and score.name not in meaningless},
        against,
        {comparison.name: comparison for comparison in compared},
    )


def average(tables: Sequence[Table]) -> Table:
    """The mean of the figures of rows that all tables have."""
    by_name: list[dict[str, TableRow]] = [{row.system: row for row in table.rows} for table in tables]
    names = [row.system for row in tables[0].rows if all(row.system in rows for rows in by_name)]
    rows = tuple(TableRow(name, _means([rows[name] for rows in by_name])) for name in names)
    segments = sum(table.segments for table in tables)
    return Table("average", segments, tables[0].names, rows, tables[0].signatures)


def _means(rows: Sequence[TableRow]) -> dict[str, float]:
    shared = [name for name in rows[0].figures if all(name in row.figures for row in rows)]
    return {name: sum(row.figures[name] for row in rows) / len(rows) for name in shared}
