"""`syntagma reproduce`: the paper's experiments and studies as recipes, from their data to their tables and figures."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from syntagma.cli.common import Device, Precision, option

if TYPE_CHECKING:
    from syntagma.recipes.recipe import Recipe

RUNS = Path("runs")
OWN = "model"
"""The name of a model's own search settings."""


class StepName(StrEnum):
    """The steps of a recipe."""

    prepare = "prepare"
    distil = "distil"
    train = "train"
    generate = "generate"
    table = "table"


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("reproduce")(reproduce)


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(help="A recipe's name or YAML file: an experiment or a study of the paper.", show_default=False),
    ] = None,
    data: Annotated[Path | None, option("The run", "The folder with the recipe's files.")] = None,
    show_list: Annotated[
        bool,
        option("The run", "Show the recipes, with the files and hours that each needs.", "--list"),
    ] = False,
    out: Annotated[
        Path | None,
        option(
            "The run", "The folder of the run; give it again to go on after a stop.", show_default="runs/NAME[-trial]"
        ),
    ] = None,
    until: Annotated[StepName, option("The run", "The last step to take.")] = StepName.table,
    stored: Annotated[
        bool,
        option("The run", "Only make the tables, from the outputs in --out; no model is needed.", "--stored"),
    ] = False,
    model: Annotated[
        list[str] | None,
        option("Systems", "SYSTEM=MODEL: a finished model for a system; SYSTEM= leaves its rows out; repeat it."),
    ] = None,
    pairs: Annotated[
        str | None,
        option("Test sets", "A file of pairs to test on instead: source, tab, reference."),
    ] = None,
    sources: Annotated[str | None, option("Test sets", "A file of sources to test on instead.")] = None,
    references: Annotated[
        list[str] | None,
        option("Test sets", "A file with a reference for each of those sources; repeat it."),
    ] = None,
    exemplars: Annotated[str | None, option("Test sets", "A file with an exemplar for each source or pair.")] = None,
    search: Annotated[
        str | None,
        option("Systems", f"Search all rows with these settings: paper, or {OWN} for each model's own."),
    ] = None,
    only: Annotated[
        list[str] | None,
        option("Test sets", "Of the recipe's test sets, only this one; repeat it.", "--test"),
    ] = None,
    limit: Annotated[int | None, option("Test sets", "Of each test set, only the first so many.", min=1)] = None,
    train_limit: Annotated[
        int | None, option("Systems", "Of each file of training and dev pairs, only the first so many.", min=1)
    ] = None,
    trial: Annotated[
        bool,
        option("The run", "Everything in miniature, in minutes: few pairs, tiny models, few sources.", "--trial"),
    ] = False,
    minutes: Annotated[
        float | None,
        option("Systems", "Plan the training of each system to end in so many minutes."),
    ] = None,
    devices: Annotated[int, option("Systems", "Processes that train a model together, a GPU each.", min=1)] = 1,
    resamples: Annotated[int, option("Test sets", "For intervals and p-values; 0 for none.", min=0)] = 1000,
    device: Device = "auto",
    precision: Precision = None,
    as_json: Annotated[bool, option("The run", "One JSON object a table.", "--json")] = False,
) -> None:
    """Run an experiment or a study of the paper from its data to its table and figure.

    Example: syntagma reproduce paranmt-small --data paranmt --out runs/paranmt

    Example: syntagma reproduce alpha --model guided=my-model --pairs dev.tsv --limit 300
    """
    if show_list:
        _list(as_json)
        return
    if name is None:
        raise typer.BadParameter("give the name of a recipe; --list shows what there is")
    if data is None and not (pairs or sources):
        raise typer.BadParameter("give --data, the folder with the recipe's files, or --pairs or --sources")
    from syntagma.recipes.reading import read_recipe
    from syntagma.recipes.run import RecipeRun, Stopped
    from syntagma.recipes.trial import SOURCES
    from syntagma.recipes.trial import trial as small

    recipe = read_recipe(name, data=data)
    smaller = (small(recipe) if trial else {}, _training_changes(minutes, train_limit))
    tested = _own_test(pairs, sources, references or [], exemplars)
    changes = _changes(recipe, model or [], search, only or [], tested)
    recipe = read_recipe(name, *smaller, changes, data=data)
    folder = out or RUNS / (f"{recipe.name}-trial" if trial else recipe.name)
    limit = SOURCES if trial and limit is None else limit
    run = RecipeRun(recipe, data or Path(), folder, devices, resamples, device, precision, _say, limit)
    try:
        tables = run.tables(stored=True) if stored else run.run(until.value)
    except Stopped as stopped:
        raise typer.Exit(128 + stopped.signal) from None
    for table in tables:
        print(table.to_json() if as_json else table.to_markdown() + "\n")
    if not as_json:
        for signature in dict.fromkeys(signature for table in tables for signature in table.signatures):
            _say(signature)


def _training_changes(minutes: float | None, train_limit: int | None) -> dict[str, Any]:
    planned = {} if minutes is None else {"training": {"minutes": minutes}}
    return planned | ({} if train_limit is None else {"prepare": {"max_rows": train_limit}})


def _own_test(
    pairs: str | None, sources: str | None, references: list[str], exemplars: str | None
) -> dict[str, Any] | None:
    """The test set that the options describe, if they do; files count from where the user is."""
    if not (pairs or sources):
        if references or exemplars:
            raise typer.BadParameter("--references and --exemplars go with --sources or --pairs")
        return None
    files = {"pairs": pairs, "sources": sources, "exemplars": exemplars}
    given = {name: str(Path(file).resolve()) for name, file in files.items() if file}
    return given | {"references": [str(Path(file).resolve()) for file in references]}


def _changes(
    recipe: Recipe, models: list[str], search: str | None, only: list[str], tested: dict[str, Any] | None
) -> dict[str, Any]:
    """The values that options lay over a recipe."""
    from syntagma.errors import ConfigError

    changes: dict[str, Any] = {"systems": {}, "tests": {}, "rows": {}}
    for choice in models:
        name, equals, model = choice.partition("=")
        if not equals or name not in recipe.systems:
            known = ", ".join(recipe.systems)
            raise ConfigError(f"{choice!r} names no system", remedy=f"write SYSTEM=MODEL for one of {known}")
        folder = Path(model)
        given = {"model": str(folder.resolve()) if model and folder.is_dir() else model}
        changes["systems"][name] = given if model else None
        if not model:
            changes["rows"] |= _without(recipe, name)
    for name in only:
        if name not in recipe.tests:
            raise ConfigError(
                f"{recipe.name} has no test set {name!r}", remedy=f"choose from {', '.join(recipe.tests)}"
            )
    if tested is not None:
        first = next(iter(recipe.tests.values()))
        same = {"title": "your test set", "tokenize": first.tokenize, "printed": first.printed}
        changes["tests"] = {**dict.fromkeys(recipe.tests), "yours": same | tested}
    elif only:
        changes["tests"] = {name: None for name in recipe.tests if name not in only}
    if search is not None:
        kept = [row for row in recipe.rows if changes["rows"].get(row, {}) is not None]
        setting = {"search": None if search == OWN else search}
        changes["rows"] |= {row: changes["rows"].get(row, {}) | setting for row in kept}
    return changes


def _without(recipe: Recipe, system: str) -> dict[str, Any]:
    """The changes that take a system's rows away, and the comparisons with them."""
    removed = [name for name, row in recipe.rows.items() if row.system == system]
    return dict.fromkeys(removed) | {
        name: {"against": None} for name, row in recipe.rows.items() if row.against in removed
    }


def _list(as_json: bool) -> None:
    from syntagma.recipes.reading import bundled_recipes, read_recipe

    for name in bundled_recipes():
        recipe = read_recipe(name)
        if as_json:
            facts: dict[str, Any] = {
                "title": recipe.title,
                "hours": recipe.hours,
                "files": recipe.files(),
                "models": recipe.models(),
            }
            facts |= {"note": recipe.note}
            print(json.dumps({"recipe": name, **facts}, ensure_ascii=False))
            continue
        print(f"{name}\n  {recipe.title}\n  systems: {', '.join(recipe.systems)}\n  hours: {recipe.hours}")
        print(f"  files in --data: {', '.join(recipe.files())}")
        if recipe.models():
            print(f"  models in --data, as folders, or from the hub (owner/name): {', '.join(recipe.models())}")
        print(f"  {recipe.note}\n" if recipe.note else "")


def _say(text: str) -> None:
    print(f"syntagma: {text}", file=sys.stderr)
