"""The figure of a recipe: curves over a setting that rows differ in, or the rows side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from syntagma.errors import MissingExtra
from syntagma.metrics.plots import Bar, Point, plot, plot_bars
from syntagma.recipes.recipe import FigureSettings, Recipe
from syntagma.recipes.table import PAPER, Table


def draw(recipe: Recipe, test: str, table: Table, out: Path, say: Callable[[str], None]) -> None:
    """Write the figure of a table as RUN/TEST.svg and .png; `say` is told where, or what is missing for it."""
    assert recipe.figure is not None
    figures = [name for name in recipe.figure.figures if any(name in row.figures for row in table.rows)]
    try:
        if recipe.figure.x is not None:
            points = _points(recipe, recipe.figure.x, table)
            written = plot(points, recipe.figure.label or recipe.figure.x, figures, out / test)
        else:
            written = plot_bars(_bars(recipe, recipe.figure, table), figures, out / test)
    except MissingExtra as error:
        say(f"no figure was drawn: {error}")
        return
    for path in written:
        say(f"wrote {path}")


def _points(recipe: Recipe, x: str, table: Table) -> list[Point]:
    """A point for each row that has a value of the setting; a paper's row stands where ours of its name does."""
    points = []
    for row in table.rows:
        printed = row.system.startswith(PAPER)
        value = _value(recipe, x, row.system.removeprefix(PAPER))
        if value is not None:
            points.append(Point("paper" if printed else "ours", value, row.figures, row.intervals))
    only_ours = all(point.series == "ours" for point in points)
    return [Point("", point.x, point.figures, point.intervals) for point in points] if only_ours else points


def _value(recipe: Recipe, x: str, name: str) -> float | None:
    row = recipe.rows.get(name)
    if row is None:
        return None
    value = row.options.get(x, getattr(row, x, None))
    if value is None:
        value = recipe.variant(row.system).get(x, recipe.prepare.get(x))
    return float(value) if isinstance(value, int | float) else None


def _bars(recipe: Recipe, settings: FigureSettings, table: Table) -> list[Bar]:
    drawn = [row for row in table.rows if row.system.removeprefix(PAPER) in recipe.rows or row.system.startswith(PAPER)]
    return [Bar(row.system, row.figures, row.intervals, row.system.startswith(PAPER)) for row in drawn]
