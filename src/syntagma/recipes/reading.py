"""Recipes read from YAML files: everything that is wrong with one is collected and reported at once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import reduce
from pathlib import Path
from typing import Any

from syntagma.corpus.options import SPLITS, CorpusOptions
from syntagma.errors import ConfigError, Place, SyntagmaError
from syntagma.metrics.bleu import TOKENISERS
from syntagma.metrics.registry import known_names
from syntagma.recipes.edits import KINDS
from syntagma.recipes.facts import FACTS
from syntagma.recipes.recipe import (
    PLAIN_ARCHITECTURES,
    Distil,
    FigureSettings,
    OutputRow,
    Recipe,
    Texts,
    can_follow,
)
from syntagma.search.options import SearchOptions
from syntagma.settings import read_mapping, shown
from syntagma.train.config import TrainConfig

FOLDER = Path(__file__).parent
_NEEDED = ("title", "hours", "tests", "systems", "rows", "metrics")


class RecipeError(ConfigError):
    """All that is wrong with a recipe, or with the data that it asks for."""

    def __init__(self, name: str, problems: Sequence[str]) -> None:
        listed = "".join(f"\n  - {problem}" for problem in problems)
        super().__init__(f"the recipe cannot be run as it is:{listed}", Place(name))


def bundled_recipes() -> dict[str, Path]:
    """The recipes of the package, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}


def read_recipe(name: str, *changes: Mapping[str, Any], data: Path | None = None) -> Recipe:
    """A recipe of the package, or one in a YAML file; all that is wrong with it is reported at once.

    `changes` are laid over what the file says one after another, as a recipe's own keys are over those of the one that
    it extends.  With `data`, the files that are not there are told of a recipe that is wrong, too.
    """
    path = _find(name)
    reader = _Reader(reduce(merged, changes, _values(path, ())))
    recipe = reader.recipe(path.stem)
    if reader.problems:
        raise RecipeError(str(name), [*reader.problems, *(missing_files(recipe.files(), data) if data else ())])
    return recipe


def missing_files(names: Iterable[str], data: Path) -> Iterator[str]:
    """A sentence for each file that is not there."""
    return (f"{data / name}: there is no such file" for name in names if not (data / name).is_file())


def _find(name: str) -> Path:
    path = Path(name) if name.endswith((".yaml", ".yml")) else bundled_recipes().get(name)
    if path is None:
        near = difflib.get_close_matches(name, bundled_recipes(), n=1)
        remedy = f"did you mean {near[0]!r}?" if near else "`syntagma reproduce --list` shows what there is"
        raise ConfigError(f"there is no recipe {name!r}", remedy=remedy)
    return path


def _values(path: Path, extended_by: tuple[Path, ...]) -> dict[str, Any]:
    """Lay the values of a file over those of the recipe that it extends."""
    if path in extended_by:
        raise ConfigError("the recipe extends itself", Place(str(path)), "change its 'extends'")
    values = read_mapping(path)
    base = values.pop("extends", None)
    if base is None:
        return values
    beside = path.parent / str(base)
    return merged(_values(beside if beside.is_file() else _find(str(base)), (*extended_by, path)), values)


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings laid over each other, key by key; None takes a key away.

    >>> merged({"rows": {"a": 1, "b": 2}, "title": "x"}, {"rows": {"a": None, "c": 3}})
    {'rows': {'b': 2, 'c': 3}, 'title': 'x'}
    """
    result = dict(base)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result


def faults_of(read: Callable[[Any], object], values: Any) -> tuple[list[str], Any]:
    """The faults of values that are read together, and the values without them; None where no single one is to blame.

    >>> def read(values: dict[str, int]) -> None:
    ...     for name, value in values.items():
    ...         if value < 0:
    ...             raise ConfigError(f"{name} cannot be {value}", remedy="give another")
    >>> faults_of(read, {"a": -1, "b": 2, "c": -3})
    (['a cannot be -1; give another', 'c cannot be -3; give another'], {'b': 2})
    """
    faults: list[str] = []
    while (fault := _fault(read, values)) is not None:
        faults.append(fault)
        rest = values if isinstance(values, Mapping) else {}
        without = ({key: value for key, value in rest.items() if key != name} for name in rest)
        values = next((others for others in without if _fault(read, others) != fault), None)
        if values is None:
            break
    return faults, values


def _fault(read: Callable[[Any], object], values: Any) -> str | None:
    try:
        read(values)
    except SyntagmaError as error:
        return str(error)
    return None


class _Reader:
    """Reads a recipe and collects what is wrong with it."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.problems: list[str] = []

    def recipe(self, name: str) -> Recipe:
        """The recipe, as far as it can be read."""
        known = {item.name for item in fields(Recipe)} - {"name", "splits"} | {"train", "dev"}
        for key in self.values.keys() - known:
            near = difflib.get_close_matches(str(key), known, n=1)
            self.problems.append(
                f"{shown(key)} is no part of a recipe" + (f"; did you mean {near[0]!r}?" if near else "")
            )
        for key in _NEEDED:
            if not self.values.get(key):
                self.problems.append(f"{key!r} is missing")
        splits = {name: self._settings(Texts, self.values[name], name) for name in SPLITS if self.values.get(name)}
        tests = {name: self._settings(Texts, value, f"tests, {name}") for name, value in self._mapping("tests").items()}
        rows = {
            name: self._settings(OutputRow, value, f"rows, {name}") for name, value in self._mapping("rows").items()
        }
        recipe = Recipe(
            name,
            str(self.values.get("title", "")),
            str(self.values.get("hours", "")),
            {name: texts for name, texts in splits.items() if texts is not None},
            {name: texts for name, texts in tests.items() if texts is not None},
            self._mapping("prepare"),
            self._mapping("training"),
            {name: self._system(name, value) for name, value in self._mapping("systems").items()},
            {name: row for name, row in rows.items() if row is not None},
            tuple(self.values.get("metrics") or ()),
            tuple(self.values.get("facts") or ()),
            self._optional(FigureSettings, "figure"),
            self._optional(Distil, "distil"),
            bool(self.values.get("same_language", False)),
            str(self.values.get("parser", "parser-en")),
            str(self.values.get("note", "")),
        )
        self._check_texts(recipe)
        self._check_rows(recipe)
        self._check_figure(recipe)
        self._check_parts(recipe)
        return recipe

    def _mapping(self, key: str) -> dict[str, Any]:
        value = self.values.get(key) or {}
        if isinstance(value, dict):
            return value
        self.problems.append(f"{key!r} is no mapping of names to values")
        return {}

    def _system(self, name: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict) or "/" in str(name):
            self.problems.append(f"systems, {name}: give a name without '/' and its settings")
            return {}
        return value

    def _settings(self, kind: type[Any], values: Any, where: str) -> Any:
        before = len(self.problems)
        self._sound(kind.from_dict, values, where)
        return kind.from_dict(values) if len(self.problems) == before else None

    def _sound(self, read: Callable[[Any], object], values: Any, where: str) -> Any:
        """The values without those that cannot be read, each of which is told; None where no value is to blame."""
        faults, sound = faults_of(read, values)
        self.problems += [f"{where}: {fault}" for fault in faults]
        return sound

    def _optional(self, kind: type[Any], key: str) -> Any:
        value = self.values.get(key)
        return None if value is None else self._settings(kind, value, key)

    def _check_texts(self, recipe: Recipe) -> None:
        for where, texts in (*recipe.splits.items(), *recipe.tests.items()):
            if bool(texts.pairs) == bool(texts.sources and texts.references):
                self.problems.append(f"{where}: give either pairs, or sources and references")
            if texts.both_ways and not texts.pairs:
                self.problems.append(f"{where}: only pairs serve both ways")
            if (texts.both_ways or texts.group or texts.where) and (texts.exemplars or texts.templates):
                self.problems.append(f"{where}: exemplars and templates are for pairs that are taken as they stand")
            if texts.where is not None and not re.fullmatch(r"\d+=.+", texts.where):
                self.problems.append(f"{where}: {texts.where!r} is no COLUMN=VALUE, such as 2=test")
            if len(texts.columns) != 2 or min(texts.columns) < 0:
                self.problems.append(f"{where}: columns are two numbers from 0, of the source and the target")
            if texts.tokenize not in TOKENISERS:
                self.problems.append(f"{where}: there is no tokenisation {texts.tokenize!r}")
            for row, figures in texts.printed.items():
                if unknown := sorted(figures.keys() - {*known_names(), *FACTS}):
                    self.problems.append(f"{where}, printed, {row}: there is no metric {unknown[0]!r}")
        for where, texts in recipe.splits.items():
            if texts.where or texts.group or texts.both_ways or texts.swapped or texts.columns != (0, 1):
                self.problems.append(f"{where}: select and turn training pairs with options of 'prepare'")
        for metric in recipe.metrics:
            if metric not in known_names():
                self.problems.append(f"metrics: there is no metric {shown(metric)}")
        for fact in recipe.facts:
            if fact not in FACTS:
                self.problems.append(f"facts: there is no {shown(fact)}; choose from {', '.join(FACTS)}")

    def _check_rows(self, recipe: Recipe) -> None:
        for name, row in recipe.rows.items():
            if row.system not in recipe.systems:
                self.problems.append(f"rows, {name}: there is no system {row.system!r}")
            if row.against is not None and row.against not in recipe.rows:
                self.problems.append(f"rows, {name}: there is no row {row.against!r} to compare it with")
            if row.beam is not None and row.nbest > row.beam:
                self.problems.append(f"rows, {name}: a beam of {row.beam} has no {row.nbest} texts")
            self._check_following(recipe, name, row)
            try:
                options = row.search_options()
                SearchOptions().changed(options if isinstance(options, dict) else options.to_dict())
            except SyntagmaError as error:
                self.problems.append(f"rows, {name}: {error}")

    def _check_following(self, recipe: Recipe, name: str, row: OutputRow) -> None:
        if row.edit is not None:
            if row.edit not in KINDS:
                self.problems.append(f"rows, {name}: there is no edit {row.edit!r}; choose from {', '.join(KINDS)}")
            earlier = list(recipe.rows)[: list(recipe.rows).index(name)]
            if row.of not in earlier:
                self.problems.append(f"rows, {name}: 'of' must name a row above it, whose contexts are edited")
        elif row.follow not in (None, "exemplars", "templates") and row.followed_reference is None:
            self.problems.append(f"rows, {name}: it cannot follow {row.follow!r}")
        elif not any(can_follow(row, texts) for texts in recipe.tests.values()):
            needed = row.follow if row.follow else f"a reference {row.scored_by}"
            self.problems.append(f"rows, {name}: no test set has {needed} to follow")
        system = recipe.systems.get(row.system, {})
        if row.follow and (recipe.training | system).get("architecture") in PLAIN_ARCHITECTURES:
            self.problems.append(f"rows, {name}: {row.system} writes its target in one go and can follow nothing")

    def _check_figure(self, recipe: Recipe) -> None:
        figure = recipe.figure
        if figure is None:
            return
        given = {*recipe.metrics, *recipe.facts}
        settings = {item.name for kind in (SearchOptions, CorpusOptions, OutputRow) for item in fields(kind)}
        if figure.x is not None and figure.x not in settings:
            self.problems.append(f"figure: {figure.x!r} is no setting that rows may differ in")
        for name in figure.figures:
            if name not in given:
                self.problems.append(f"figure: {name!r} is not among the metrics and facts of the table")

    def _check_parts(self, recipe: Recipe) -> None:
        if recipe.trained() and "train" not in recipe.splits:
            self.problems.append(f"'train' is missing: {recipe.trained()[0]} has to be trained, or give its 'model'")
        if "train" in recipe.splits:

            def prepared(values: dict[str, Any]) -> object:
                return replace(recipe, prepare=values).corpus_options(Path())

            sound = self._sound(prepared, recipe.prepare, "prepare")
            if sound == recipe.prepare:
                options = recipe.corpus_options(Path())
                for system in recipe.systems:
                    changes = recipe.variant(system)
                    self._sound(
                        lambda values: options.from_dict(options.to_dict() | values), changes, f"systems, {system}"
                    )

        def trained(values: dict[str, Any]) -> object:
            return TrainConfig.from_dict(values | {"data": ""})

        if recipe.trained():
            shared = self._sound(trained, recipe.training, "training") or {}
            for name in recipe.trained():
                own = {key: value for key, value in recipe.systems[name].items() if key != "prepare"}
                self._sound(lambda values: trained(shared | values), own, f"systems, {name}")
        if recipe.distil is not None and recipe.distil.teacher not in recipe.systems:
            self.problems.append(f"distil: there is no system {recipe.distil.teacher!r}")
