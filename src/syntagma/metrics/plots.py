"""The paper's two curves: figures against the accumulation weight, and against the template reward.

A results file holds JSON lines, one for each setting tried, as an experiment writes them:

    {"series": "beam 5", "alpha": 0.8, "ibleu": 8.6, "d_syn": 25.1}

`plot_accumulation` and `plot_reward` draw one panel for each figure, a line for each series, and write it for print:
SVG and PNG, labelled axes, and marks and dashes that keep lines apart without colour.  Intervals in the file, as
`evaluate --json` writes them (`"intervals": {"ibleu": [8.1, 9.0]}`), become error bars.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syntagma.errors import InputError, MissingExtra, Place
from syntagma.files import atomic_write, read_lines
from syntagma.metrics.report import title

# blue, vermilion, green, purple, orange, sky: distinct for most colour-blind readers and, by their marks, in grey
_STYLES = (
    ("#0072B2", "o", "-"), ("#D55E00", "s", "--"), ("#009E73", "^", "-."), ("#CC79A7", "D", ":"),
    ("#E69F00", "v", "-"), ("#56B4E9", "P", "--"),
)  # fmt: skip
_SUBSCRIPT = re.compile(r"(D)_(\w+)")
_FORMATS = ("svg", "png")


@dataclass(frozen=True, slots=True)
class Point:
    """One setting of one series: where it stands on the x axis, its figures, and their intervals as far as known."""

    series: str
    x: float
    figures: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]


def read_points(path: str | Path, x: str) -> list[Point]:
    """The points of a results file; lines without the setting `x` belong to another plot and are passed over."""
    points = []
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        place = Place(str(path), number)
        try:
            made = json.loads(line)
        except ValueError as error:
            raise InputError(f"this is not JSON ({error})", place, "give one JSON object a line") from None
        if not isinstance(made, dict):
            raise InputError("this is not a JSON object", place, "give one JSON object a line")
        if x not in made:
            continue
        if not _is_number(made[x]):
            raise InputError(f"{x} is {made[x]!r}", place, "give it as a number")
        figures = {name: float(value) for name, value in made.items() if name != x and _is_number(value)}
        intervals = {name: (float(low), float(high)) for name, (low, high) in made.get("intervals", {}).items()}
        points.append(Point(str(made.get("series", "")), float(made[x]), figures, intervals))
    if not points:
        raise InputError(f"no line has {x}", Place(str(path)), f'give lines such as {{"{x}": 0.8, "ibleu": 8.6}}')
    return points


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def plot_accumulation(results: str | Path, out: str | Path, figures: Sequence[str] = ("ibleu", "d_syn")) -> list[Path]:
    """Figures against the accumulation weight, the key `alpha`; the files written."""
    return plot(read_points(results, "alpha"), "accumulation weight α", figures, out)


def plot_reward(results: str | Path, out: str | Path, figures: Sequence[str] = ("bleu", "d_syn_ref")) -> list[Path]:
    """Figures against the reward of matching a template, the key `reward`; the files written."""
    return plot(read_points(results, "reward"), "template reward γ", figures, out)


def plot(points: Sequence[Point], x_label: str, figures: Sequence[str], out: str | Path) -> list[Path]:
    """One panel a figure, one line a series, as `out`.svg and `out`.png (a suffix of `out` of that kind is dropped)."""
    missing = [name for name in figures if not any(name in point.figures for point in points)]
    if missing:
        raise InputError(f"no line has the figure {missing[0]}", remedy="plot figures that the results hold")
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plots", "drawing") from None
    style: dict[Any, Any] = {"font.size": 9, "svg.hashsalt": "syntagma", "svg.fonttype": "none"}
    with rc_context(style):
        figure = Figure(figsize=(3.4 * len(figures), 2.6), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(1, len(figures), squeeze=False)[0]
        for panel, name in zip(panels, figures, strict=True):
            _draw(panel, points, name)
            panel.set_xlabel(x_label)
            panel.set_ylabel(_SUBSCRIPT.sub(r"$\1_{\\mathrm{\2}}$", title(name)))
            panel.spines[["top", "right"]].set_visible(False)
            panel.grid(axis="y", linewidth=0.4, alpha=0.5)
        if len({point.series for point in points}) > 1:
            panels[0].legend(frameon=False)
        return _save(figure, Path(out))


def _draw(panel: Any, points: Sequence[Point], name: str) -> None:
    """One line a series, in the order in which the series appear in the file."""
    for at, series in enumerate(dict.fromkeys(point.series for point in points)):
        line = sorted((p for p in points if p.series == series and name in p.figures), key=lambda p: p.x)
        colour, mark, dashes = _STYLES[at % len(_STYLES)]
        values = [point.figures[name] for point in line]
        bounds = [point.intervals.get(name, (value, value)) for point, value in zip(line, values, strict=True)]
        below = [max(value - low, 0.0) for value, (low, _) in zip(values, bounds, strict=True)]
        above = [max(high - value, 0.0) for value, (_, high) in zip(values, bounds, strict=True)]
        panel.errorbar(
            [point.x for point in line], values, yerr=[below, above] if any(below) or any(above) else None,
            color=colour, marker=mark, linestyle=dashes, markersize=4, linewidth=1.2, capsize=2, label=series or None,
        )  # fmt: skip


def _save(figure: Any, out: Path) -> list[Path]:
    stem = out.with_suffix("") if out.suffix.lstrip(".") in _FORMATS else out
    written = []
    for kind in _FORMATS:
        path = stem.with_name(f"{stem.name}.{kind}")
        with atomic_write(path, "wb") as stream:
            figure.savefig(stream, format=kind, dpi=200, metadata={"Date": None} if kind == "svg" else None)
        written.append(path)
    return written
