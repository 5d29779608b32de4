"""`syntagma reproduce`: the paper's experiments as recipes, and its tables and studies at the scale of this package."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from syntagma.cli.common import Device, Precision

if TYPE_CHECKING:
    from syntagma.experiment.outputs import System
    from syntagma.experiment.tasks import Task
    from syntagma.recipes.run import Step as StepKind

RESULTS = Path("results")


STORED = ("paraphrase", "translate", "trees", "alpha", "reward", "control")
"""Tables from stored outputs, and studies."""


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
        typer.Argument(
            help="A recipe's name or YAML file; a table of stored outputs (paraphrase, translate); or a study of a "
            "guided model on dev (trees, alpha, reward, control).",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="The folder with the recipe's files; or one with paraphrase/ and translation/ in it."),
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="Show the recipes, with the files and hours that each needs.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="A recipe's folder; give it again to go on after a stop.")] = None,
    until: Annotated[StepName, typer.Option(help="The last step of a recipe to take.")] = StepName.table,
    minutes: Annotated[
        float | None, typer.Option(help="Plan the training of each system of a recipe to end in so many minutes.")
    ] = None,
    devices: Annotated[
        int, typer.Option(min=1, help="Processes that train a recipe's model together, a GPU each.")
    ] = 1,
    results: Annotated[Path, typer.Option(help="Where outputs are kept and read.")] = RESULTS,
    system: Annotated[
        list[str] | None,
        typer.Option(help="NAME=MODEL: generate with this model what is not there yet, at beam 1 and 5; repeat it."),
    ] = None,
    against: Annotated[
        str, typer.Option(help="The system that others are compared with, at the same beam.")
    ] = "seq2seq",
    model: Annotated[str, typer.Option(help="The model of a study.")] = "paraphrase-en",
    task: Annotated[str, typer.Option(help="The task whose dev pairs a study uses.")] = "paraphrase",
    only: Annotated[
        list[str] | None, typer.Option("--test", help="Of a table's test sets, only this one; repeat it.")
    ] = None,
    beam: Annotated[
        list[int] | None, typer.Option(min=1, help="A system's beam instead of 1 and 5; repeat it.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many pairs.")] = None,
    resamples: Annotated[int, typer.Option(min=0, help="For intervals and p-values; 0 for none.")] = 1000,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the study of alpha or reward here (svg and png).")
    ] = None,
    device: Device = "auto",
    precision: Precision = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a table.")] = False,
) -> None:
    """Run an experiment of the paper from its data to its table; or make a table of stored outputs, or a study.

    Example: syntagma reproduce paranmt-small --data paranmt --out runs/paranmt
    """
    from syntagma.experiment.tasks import TASKS
    from syntagma.experiment.tasks import task as task_of
    from syntagma.runtime.device import check_device

    if show_list:
        _list(as_json)
        return
    check_device(device, precision)
    if name is None or data is None:
        raise typer.BadParameter("give the name of a recipe, table or study, and --data; --list shows the recipes")
    if name not in STORED:
        if out is None:
            raise typer.BadParameter("a recipe needs --out, the folder of its run")
        _recipe(name, data, out, until.value, minutes, devices, resamples, device, precision, as_json)
    elif name in TASKS:
        chosen = task_of(name).restricted(only or [])
        systems = _systems(system or [], beam or [1, 5])
        _table(chosen, data, results, systems, against, limit, resamples, device, precision, as_json)
    else:
        _study(name, task_of(task), data, model, limit, plot, device, precision)


def _list(as_json: bool) -> None:
    from syntagma.recipes.recipe import bundled_recipes, read_recipe

    for name in bundled_recipes():
        recipe = read_recipe(name)
        if as_json:
            facts = {"title": recipe.title, "hours": recipe.hours, "files": recipe.files(), "note": recipe.note}
            print(json.dumps({"recipe": name, **facts}, ensure_ascii=False))
            continue
        print(f"{name}\n  {recipe.title}\n  systems: {', '.join(recipe.systems)}\n  hours: {recipe.hours}")
        print(f"  files in --data: {', '.join(recipe.files())}")
        print(f"  {recipe.note}\n" if recipe.note else "")


def _recipe(
    name: str,
    data: Path,
    out: Path,
    until: StepKind,
    minutes: float | None,
    devices: int,
    resamples: int,
    device: str,
    precision: str | None,
    as_json: bool,
) -> None:
    from dataclasses import replace

    from syntagma.recipes.recipe import read_recipe
    from syntagma.recipes.run import RecipeRun, Stopped

    recipe = read_recipe(name)
    if minutes is not None:
        recipe = replace(recipe, training=recipe.training | {"minutes": minutes})
    run = RecipeRun(recipe, data, out, devices, resamples, device, precision, _say)
    try:
        tables = run.run(until)
    except Stopped as stopped:
        raise typer.Exit(128 + stopped.signal) from None
    for table in tables:
        print(table.to_json() if as_json else table.to_markdown() + "\n")


def _systems(given: list[str], beams: list[int]) -> list[System]:
    from syntagma.errors import ConfigError
    from syntagma.experiment.outputs import System

    found = []
    for one in given:
        name, equals, model = one.partition("=")
        if not (name and equals and model) or "/" in name or ".beam" in name:
            raise ConfigError(f"{one!r} is no system", remedy="write NAME=MODEL, such as guided=paraphrase-en")
        found += [System(name, model, beam) for beam in beams]
    return found


def _table(
    task: Task,
    data: Path,
    results: Path,
    systems: list[System],
    against: str,
    limit: int | None,
    resamples: int,
    device: str,
    precision: str | None,
    as_json: bool,
) -> None:
    from syntagma.errors import InputError, Place
    from syntagma.experiment.outputs import stored, write_outputs
    from syntagma.experiment.table import make_table

    def rival(name: str) -> str | None:
        return f"{against}, {name.split(', ')[1]}" if ", beam " in name else None

    for tested in task.sets:
        pairs = tested.pairs(data)[:limit]
        folder = results / task.name / tested.name
        missing = [system for system in systems if not (folder / system.file).exists()]
        if missing:
            from syntagma.hub import find_folder, hash_folder
            from syntagma.search.parallel import SearchWork, parallel, processes_for

            folder.mkdir(parents=True, exist_ok=True)
            for system in missing:
                _say(f"{system.name}, beam {system.beam}: {tested.title}")
                work = SearchWork(system.model, {"beam": system.beam}, device=device, precision=precision)
                system = system._replace(version=hash_folder(find_folder(system.model, "model", "model")))
                workers = processes_for(len(pairs), device)
                write_outputs(system, pairs, folder, partial(parallel, work, workers=workers))
        if not list(stored(folder)):
            remedy = f"generate some with --system guided={task.model}"
            raise InputError("there are no stored outputs", Place(str(folder)), remedy)
        table = make_table(
            task,
            tested,
            pairs,
            folder,
            against=rival,
            resamples=resamples,
            part=limit is not None,
            device=device,
            precision=precision,
            note=_say,
        )
        print(table.to_json() if as_json else table.to_markdown() + "\n")
        if not as_json:
            for signature in table.signatures:
                _say(signature)


def _study(
    name: str,
    task: Task,
    data: Path,
    model: str,
    limit: int | None,
    plot: Path | None,
    device: str,
    precision: str | None,
) -> None:
    from syntagma.errors import ConfigError
    from syntagma.experiment.studies import STUDIES, Study
    from syntagma.search import Generator

    if plot is not None and name not in ("alpha", "reward"):
        raise ConfigError(f"there is no drawing of {name!r}", remedy="leave --plot out")
    pairs = task.dev.pairs(data)[:limit]
    generator = Generator.from_pretrained(model, device=device, precision=precision)
    study = Study(generator, pairs, task.dev.tokenize)
    lines = []
    for figures in STUDIES[name](study):
        lines.append(json.dumps(figures))
        print(lines[-1], flush=True)
    if plot is not None:
        _plot(name, lines, plot)


def _plot(name: str, lines: list[str], out: Path) -> None:
    from syntagma.files import atomic_write
    from syntagma.metrics.plots import plot_accumulation, plot_reward

    stored = out.with_suffix(".jsonl")
    with atomic_write(stored) as stream:
        stream.write("\n".join(lines) + "\n")
    draw = plot_accumulation if name == "alpha" else plot_reward
    figures = ("beam_ibleu", "d_syn_beam") if name == "alpha" else ("bleu", "d_syn_ref")
    for path in draw(stored, out, figures):
        _say(f"wrote {path}")


def _say(text: str) -> None:
    print(f"syntagma: {text}", file=sys.stderr)
