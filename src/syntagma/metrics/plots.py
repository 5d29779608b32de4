"""Figures drawn for print: curves of figures against a setting, and systems side by side.

One panel for each figure; SVG and PNG, labelled axes, and marks and dashes that keep lines apart without colour.
Intervals become error bars.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syntagma.errors import InputError, MissingExtra
from syntagma.files import atomic_write
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


def plot(points: Sequence[Point], x_label: str, figures: Sequence[str], out: str | Path) -> list[Path]:
    """One panel a figure, one line a series, as `out`.svg and `out`.png (a suffix of `out` of that kind is dropped)."""
    missing = [name for name in figures if not any(name in point.figures for point in points)]
    if missing:
        raise InputError(f"no line has the figure {missing[0]}", remedy="plot figures that the results hold")
    with _styled(len(figures), 2.6) as (figure, panels):
        for panel, name in zip(panels, figures, strict=True):
            _draw(panel, points, name)
            panel.set_xlabel(x_label)
            panel.set_ylabel(_label(name))
            panel.spines[["top", "right"]].set_visible(False)
            panel.grid(axis="y", linewidth=0.4, alpha=0.5)
        if len({point.series for point in points}) > 1:
            panels[0].legend(frameon=False)
        return _save(figure, Path(out))


@contextmanager
def _styled(panels: int, height: float) -> Iterator[tuple[Any, Any]]:
    """A figure with panels side by side, as all are drawn."""
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plots", "drawing") from None
    style: dict[Any, Any] = {"font.size": 9, "svg.hashsalt": "syntagma", "svg.fonttype": "none"}
    with rc_context(style):
        figure = Figure(figsize=(3.4 * panels, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure, figure.subplots(1, panels, squeeze=False)[0]


def _label(name: str) -> str:
    """A figure's name on an axis."""
    return _SUBSCRIPT.sub(r"$\1_{\\mathrm{\2}}$", title(name))


@dataclass(frozen=True, slots=True)
class Bar:
    """One system: its figures, their intervals as far as known, and whether another work printed them."""

    name: str
    figures: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    printed: bool = False


def plot_bars(bars: Sequence[Bar], figures: Sequence[str], out: str | Path) -> list[Path]:
    """One panel a figure, one bar a system from above, what others printed hollow; as `out`.svg and `out`.png."""
    with _styled(len(figures), 0.6 + 0.28 * len(bars)) as (figure, panels):
        for panel, name in zip(panels, figures, strict=True):
            for place, bar in enumerate(bars):
                if name not in bar.figures:
                    continue
                value = bar.figures[name]
                low, high = bar.intervals.get(name, (value, value))
                panel.barh(
                    place, value, height=0.6, color="none" if bar.printed else _STYLES[0][0], edgecolor=_STYLES[0][0],
                    xerr=None if low == high else [[max(value - low, 0.0)], [max(high - value, 0.0)]], capsize=2,
                )  # fmt: skip
            panel.set_yticks(range(len(bars)), [bar.name for bar in bars] if panel is panels[0] else [""] * len(bars))
            panel.set_ylim(len(bars) - 0.4, -0.6)
            panel.set_xlabel(_label(name))
            panel.spines[["top", "right"]].set_visible(False)
        return _save(figure, Path(out))


def _draw(panel: Any, points: Sequence[Point], name: str) -> None:
    """One line a series, in the order in which the series appear in the file."""
    for index, series in enumerate(dict.fromkeys(point.series for point in points)):
        line = sorted((p for p in points if p.series == series and name in p.figures), key=lambda p: p.x)
        colour, mark, dashes = _STYLES[index % len(_STYLES)]
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
