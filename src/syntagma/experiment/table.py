"""Systems side by side: their figures on one test set, with intervals, and p-values against a baseline."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from syntagma.experiment.outputs import read_outputs, stored
from syntagma.experiment.tasks import Pairs, Task, TestSet
from syntagma.metrics.base import Score, Segment
from syntagma.metrics.bootstrap import Comparison
from syntagma.metrics.evaluation import evaluate
from syntagma.metrics.parsing import TreeMaker, describe, load
from syntagma.metrics.registry import MetricOptions, select, to_parse
from syntagma.metrics.report import title


@dataclass(frozen=True)
class TableRow:
    """One system: its figures by name, their intervals, and p-values against the baseline; any may be missing."""

    system: str
    figures: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    p: dict[str, float]


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
        rows = [{"system": r.system, **r.figures, "intervals": r.intervals, "p": r.p} for r in self.rows]
        return json.dumps(
            {"test": self.title, "segments": self.segments, "systems": rows, "signatures": self.signatures}
        )

    def to_markdown(self) -> str:
        """A table with a figure and half the width of its 95% interval in a cell; * where p < 0.05."""
        lines = [f"**{self.title}**, {self.segments} sentences", ""]
        lines.append("| system | " + " | ".join(map(title, self.names)) + " |")
        lines.append("|:---|" + "---:|" * len(self.names))
        lines += [
            f"| {row.system} | " + " | ".join(_cell(row, name) for name in self.names) + " |" for row in self.rows
        ]
        return "\n".join(lines)


def _cell(row: TableRow, name: str) -> str:
    if name not in row.figures:
        return ""
    text = f"{row.figures[name]:.1f}"
    if name in row.intervals:
        low, high = row.intervals[name]
        text += f" ±{(high - low) / 2:.1f}"
    return text + ("*" if row.p.get(name, 1.0) < 0.05 else "")


def make_table(
    task: Task,
    tested: TestSet,
    pairs: Pairs,
    folder: Path,
    *,
    against: Callable[[str], str | None] = lambda system: None,
    resamples: int = 1000,
    part: bool = False,
    device: str = "cpu",
    precision: str | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> Table:
    """The figures of all outputs in a folder; `against` names the system that each is compared with.

    The pairs may be the first part only of those that the outputs were made for.
    """
    texts: dict[str, list[str]] = {name: read_outputs(path, pairs, part) for name, path in stored(folder)}
    rows = TestRows(
        tested.title,
        [source for source, _ in pairs],
        [(target,) for _, target in pairs],
        task.figures,
        tested.tokenize,
        tested.printed or {},
        task.same_language,
        device=device,
        precision=precision,
    )
    return compare_systems(rows, texts, against=against, resamples=resamples, note=note)


@dataclass(frozen=True)
class TestRows:
    """A test set: sources with their references, the figures, and the rows that the paper prints."""

    title: str
    sources: Sequence[str]
    references: Sequence[tuple[str, ...]]
    figures: Sequence[str]
    tokenize: str = "none"
    """BLEU's tokenisation."""
    printed: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    same_language: bool = False
    """Whether copying the source, and the reference itself, frame the table."""
    parser: str = "parser-en"
    device: str = "cpu"
    """Where texts are parsed and encoded."""
    precision: str | None = None


def compare_systems(
    rows: TestRows,
    outputs: Mapping[str, list[str]],
    *,
    against: Callable[[str], str | None] = lambda system: None,
    resamples: int = 1000,
    note: Callable[[str], None] = lambda text: None,
) -> Table:
    """The figures of each system's outputs; `against` names the system that one is compared with."""
    texts = dict(outputs)
    if rows.same_language:
        texts = {"source copied": list(rows.sources)} | texts
        texts["reference"] = [references[0] for references in rows.references]
    systems = list(texts)
    segments = (
        tuple(Segment(texts[name][index], references, source) for name in systems)
        for index, (source, references) in enumerate(zip(rows.sources, rows.references, strict=True))
    )
    fields = {"hyp", "refs", "src"}
    options = MetricOptions(tokenize=rows.tokenize, device=rows.device, precision=rows.precision)
    missing = to_parse(rows.figures, fields)
    maker = None
    if missing:
        parser = load(rows.parser, rows.device, rows.precision)
        maker = TreeMaker(parser, missing)
        options = replace(options, trees=f"parsed by {describe(parser, rows.parser)}")
    metrics = select(rows.figures, fields | missing, options, note)
    results = dict(zip(systems, evaluate(metrics, segments, maker), strict=True))
    made = []
    for name in systems:
        rival = against(name) if resamples else None
        compared = results[name].compare(results[rival], resamples) if rival in results and rival != name else []
        made.append(_row(name, results[name].scores(0 if name in _PLAIN else resamples), compared))
    made += [TableRow(name, dict(figures), {}, {}) for name, figures in rows.printed.items()]
    scores = results[systems[0]].scores()
    return Table(
        rows.title,
        len(rows.sources),
        tuple(score.name for score in scores),
        tuple(made),
        tuple(dict.fromkeys(score.signature for score in scores)),
    )


_PLAIN = ("source copied", "reference")


def _row(name: str, scores: Sequence[Score], compared: Sequence[Comparison]) -> TableRow:
    return TableRow(
        name,
        {score.name: score.value for score in scores},
        {score.name: score.interval for score in scores if score.interval is not None},
        {comparison.name: comparison.p for comparison in compared},
    )
