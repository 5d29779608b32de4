from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from syntagma.metrics.base import Candidate, Segment
from syntagma.metrics.registry import to_parse
from syntagma.metrics.report import title
from syntagma.recipes.reading import read_recipe
from syntagma.recipes.run import RecipeRun
from syntagma.recipes.table import FIELDS, PAPER, Scoring, Table, TableRow, average, compare_systems
from syntagma.tree import Tree

ROOT = Path(__file__).parents[2]
PAIRS = [("I ate an apple.", "An apple was eaten."), ("He can go.", "He is able to go."), ("Stop it!", "Stop that!")]


def segments(column: int, **more: object) -> list[Segment]:
    return [Segment(pair[column], (pair[1],), pair[0], **more) for pair in PAIRS]  # type: ignore[arg-type]


def test_systems_stand_beside_what_the_paper_prints() -> None:
    scoring = Scoring("three", ("bleu", "self_bleu"), printed={"guided": {"bleu": 19.3}})
    systems = {"lazy": segments(0), "good": segments(1)}
    table = compare_systems(scoring, systems, against=lambda name: "lazy", resamples=50)
    rows = {row.system: row for row in table.rows}
    assert rows["lazy"].figures["self_bleu"] == rows["good"].figures["bleu"] == pytest.approx(100)
    assert rows[f"{PAPER}guided"].figures == {"bleu": 19.3}
    assert not rows["lazy"].p, "it is not compared with itself"
    assert rows["good"].against == "lazy"
    assert rows["good"].p["bleu"] < 0.1
    text = table.to_markdown()
    assert "| good | 100.0" in text
    assert "| good - lazy | +" in text
    assert json.loads(table.to_json())["systems"][1]["differences"]["bleu"][0] > 0
    plain = compare_systems(scoring, systems, against=lambda name: "lazy", resamples=0)
    assert plain.rows[1].figures == table.rows[1].figures
    assert not any(row.intervals or row.p for row in plain.rows)


def test_figures_of_what_a_system_does_not_make_are_left_out() -> None:
    tree = Tree.read("(T (S (NP He) (VP left)))")
    trees = segments(0, induced=tree, nbest=(Candidate("a b"), Candidate("b c")))
    table = compare_systems(
        Scoring("t", ("d_lex_beam", "template_match", "bleu")),
        {"plain": segments(0), "trees": [one._replace(template="(S (NP) (VP))") for one in trees]},
        against=lambda name: "plain",
        resamples=10,
    )
    plain, made = table.rows
    assert set(plain.figures) == {"bleu"}
    assert made.figures["template_match"] == 100
    assert set(made.figures) == {"bleu", "d_lex_beam", "template_match"}
    assert set(made.differences) == {"bleu"}, "there is nothing to compare the others with"
    assert "|  | |" not in table.to_markdown()
    facts = table.with_figures(["speed"], {"trees": {"speed": 3.25}})
    assert facts.names[-1] == "speed"
    assert "3.2 |" in facts.to_markdown()


def test_the_average_has_the_rows_that_all_tables_have() -> None:
    def table(**figures: float) -> Table:
        rows = tuple(TableRow(name, {"bleu": value}) for name, value in figures.items())
        return Table("t", 2, ("bleu",), rows, ())

    made = average([table(a=10, b=1), table(b=2), table(a=5, b=6)])
    assert [(row.system, row.figures) for row in made.rows] == [("b", {"bleu": 3.0})]
    assert made.segments == 6


def stored_results() -> list[tuple[str, str, int | None]]:
    """The recipes, test sets and limits of which outputs are kept in `results/`."""
    folders = sorted(path for path in (ROOT / "results").glob("*/outputs/*") if path.is_dir())
    parted = [(path.parents[1].name, *path.name.partition(".first")) for path in folders]
    return [(name, test, int(limit) if limit else None) for name, test, _, limit in parted]


@pytest.mark.parametrize(("name", "test", "limit"), stored_results())
def test_the_results_page_shows_what_the_stored_outputs_give(
    name: str, test: str, limit: int | None, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """All figures of a study; of many sentences those that need neither a parser nor an encoder."""
    known = read_recipe(name)
    slow = {"meteor", "similarity", "similarity_src"}
    if limit is None:
        slow |= {metric for metric in known.metrics if to_parse([metric], set(FIELDS))}
    kept = {"metrics": [metric for metric in known.metrics if metric not in slow], "figure": None}
    recipe = read_recipe(name, kept, {"tests": {other: None for other in known.tests if other != test}})
    (tmp_path / "outputs").symlink_to(ROOT / "results" / name / "outputs")
    shown = _tables((ROOT / "docs" / "results.md").read_text(encoding="utf-8"))
    data = ROOT / "tests" / "data" if test == "tatoeba" else request.getfixturevalue("shared")
    (table,) = RecipeRun(recipe, data, tmp_path, resamples=0, limit=limit).tables(stored=True)
    own = [row for row in table.rows if not row.system.startswith(PAPER)]
    figures = {
        (row.system, title(figure)): f"{row.figures[figure]:.1f}"
        for row in own
        for figure in table.names
        if figure in row.figures
    }
    assert figures
    assert any(figures.items() <= one.items() for one in shown[f"{table.title}, {table.segments} sentences"])


def _tables(text: str) -> dict[str, list[dict[tuple[str, str], str]]]:
    """The result tables of a Markdown text by title: figures by row and column, without intervals and stars."""
    found: dict[str, list[dict[tuple[str, str], str]]] = {}
    for name, count, table in re.findall(r"^\*\*(.+)\*\*, (\d+) sentences\n\n((?:\|.*\n)+)", text, re.MULTILINE):
        columns, _, *rows = [line.strip("| ").split(" | ") for line in table.splitlines()]
        cells = {(row[0], column): cell for row in rows for column, cell in zip(columns, row, strict=False)}
        found.setdefault(f"{name}, {count} sentences", []).append(
            {at: cell.split(" ")[0] for at, cell in cells.items()}
        )
    return found
