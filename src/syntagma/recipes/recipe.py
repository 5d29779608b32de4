"""A recipe: an experiment as a YAML file, from its data to its table (docs/recipes.md has the keys).

A recipe is read as a whole: everything that is wrong with it is collected and told at once, before anything starts.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from syntagma.corpus.options import AUTO, BRACKETS, SPLITS, Input
from syntagma.corpus.options import CorpusOptions as CorpusOptions
from syntagma.errors import ConfigError, Place, SyntagmaError
from syntagma.metrics.bleu import TOKENISERS
from syntagma.metrics.registry import known_names
from syntagma.search.options import SearchOptions, named
from syntagma.settings import Settings, read_mapping, shown
from syntagma.train.config import TrainConfig

FOLDER = Path(__file__).parent
REFERENCES = "references"
"""What a row follows to be steered by the first reference; `references:2` is the third."""


_PLAIN = ("seq2seq", "linearised")
"""Architectures that write their target in one go."""


class RecipeError(ConfigError):
    """All that is wrong with a recipe, or with the data that it asks for."""

    def __init__(self, name: str, problems: Sequence[str]) -> None:
        listed = "".join(f"\n  - {problem}" for problem in problems)
        super().__init__(f"the recipe cannot be run as it is:{listed}", Place(name))


@dataclass(frozen=True)
class Texts(Settings):
    """Files of one split: sources and references side by side, or pairs in the first two columns of one file."""

    title: str = ""
    pairs: str | None = None
    sources: str | None = None
    references: tuple[str, ...] = ()
    exemplars: str | None = None
    """A sentence a line, whose shape the output shall have."""
    templates: str | None = None
    tokenize: str = "none"
    """BLEU's tokenisation."""
    printed: dict[str, dict[str, float]] = field(default_factory=dict)
    """What the paper prints: a row of figures for each of its systems."""

    def files(self) -> list[str]:
        """All files that are asked for."""
        single = (self.pairs, self.sources, self.exemplars, self.templates)
        return [*(name for name in single if name), *self.references]


@dataclass(frozen=True)
class Distil(Settings):
    """Sequence-level distillation: the other systems learn what this one makes of the training sources."""

    teacher: str
    beam: int = 5


@dataclass(frozen=True)
class OutputRow(Settings):
    """One row of the table: a system and how it is searched."""

    system: str
    search: str | None = None
    """A named setting, such as paper; the model's own where not given."""
    beam: int | None = None
    follow: str | None = None
    """What steers each line: exemplars, templates, references (the first one's shape), references:1, ..."""
    control: Literal["soft", "hard"] = "soft"
    exemplar_depth: int | None = None
    reward: float | None = None
    nbest: int = 1
    against: str | None = None
    """The row that this one is compared with, by paired bootstrap."""

    def options(self) -> SearchOptions | dict[str, Any]:
        """How to search: whole settings where they have a name, else what differs from the model's own."""
        given = {name: value for name, value in (("beam", self.beam), ("reward", self.reward)) if value is not None}
        return given if self.search is None else named(self.search).changed(given)

    @property
    def reference(self) -> int | None:
        """Which reference is followed, if one is."""
        name, _, number = (self.follow or "").partition(":")
        return (int(number) if number else 0) if name == REFERENCES and (number or "0").isdigit() else None


@dataclass(frozen=True)
class Recipe:
    """An experiment; `prepare`, `training` and `systems` hold settings of those parts as they are written."""

    name: str
    title: str
    hours: str
    splits: dict[str, Texts]
    """train, and dev unless it is drawn."""
    tests: dict[str, Texts]
    prepare: dict[str, Any]
    training: dict[str, Any]
    systems: dict[str, dict[str, Any]]
    rows: dict[str, OutputRow]
    metrics: tuple[str, ...]
    distil: Distil | None = None
    same_language: bool = False
    parser: str = "parser-en"
    """Who parses outputs for the figures that need trees."""
    note: str = ""

    def files(self) -> list[str]:
        """All files that the data folder must hold."""
        given = [name for texts in (*self.splits.values(), *self.tests.values()) for name in texts.files()]
        return list(dict.fromkeys(given))

    def learns_from_teacher(self, system: str) -> bool:
        """Whether a system is trained on the distilled corpus."""
        return self.distil is not None and system != self.distil.teacher

    def corpus_options(self, data: Path) -> CorpusOptions:
        """The options that the corpus is made with."""
        values = dict(self.prepare)
        values["exclude"] = [str(data / name) for name in values.get("exclude", ())]
        if values.get("tokenizer"):
            values["tokenizer"] = str(data / values["tokenizer"])
        if values.get("pieces"):
            values["pieces"] = locate(values["pieces"], data)
        parser = str(values.get("parser", "neural"))
        if parser.startswith(BRACKETS):
            values["parser"] = f"{BRACKETS}{data / parser.removeprefix(BRACKETS)}"
        inputs = [_plain(one) for one in self._inputs(data)]
        return CorpusOptions.from_dict({"dev": AUTO} | values | {"inputs": inputs})

    def _inputs(self, data: Path) -> Iterator[Input]:
        for split, texts in self.splits.items():
            if texts.pairs:
                yield Input(str(data / texts.pairs), None, split)
            else:
                yield Input(str(data / str(texts.sources)), str(data / texts.references[0]), split, "parallel")

    def train_config(self, system: str, data: Path, corpus: Path) -> TrainConfig:
        """How a system is trained on a corpus."""
        values = self.training | self.systems[system]
        for name in ("init", "backbone"):
            if values.get(name):
                values[name] = locate(values[name], data)
        return TrainConfig.from_dict(values | {"data": str(corpus)})


def _plain(one: Input) -> dict[str, Any]:
    return {"path": one.path, "target": one.target, "split": one.split, "format": one.format}


def locate(name: str, data: Path) -> str:
    """A pretrained model: its folder among the data, also under the last part of a hub id, else the name itself."""
    for folder in (data / name, data / name.rpartition("/")[2]):
        if folder.is_dir():
            return str(folder)
    return name


# -- reading


def bundled_recipes() -> dict[str, Path]:
    """The recipes of the package, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}


def read_recipe(name: str) -> Recipe:
    """A recipe of the package, or one in a YAML file; all that is wrong with it is told at once."""
    path = Path(name) if name.endswith((".yaml", ".yml")) else bundled_recipes().get(name)
    if path is None:
        near = difflib.get_close_matches(name, bundled_recipes(), n=1)
        remedy = f"did you mean {near[0]!r}?" if near else "`syntagma reproduce --list` shows what there is"
        raise ConfigError(f"there is no recipe {name!r}", remedy=remedy)
    reader = _RecipeReader(read_mapping(path))
    recipe = reader.recipe(path.stem)
    if reader.problems or recipe is None:
        raise RecipeError(str(name), reader.problems)
    return recipe


class _RecipeReader:
    """Reads a recipe and collects what is wrong with it."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.problems: list[str] = []

    def recipe(self, name: str) -> Recipe | None:
        """The recipe, or None where it is too wrong to be one."""
        known = {one.name for one in fields(Recipe)} - {"name", "splits"} | {"train", "dev"}
        for key in self.values.keys() - known:
            near = difflib.get_close_matches(str(key), known, n=1)
            self.problems.append(
                f"{shown(key)} is no part of a recipe" + (f"; did you mean {near[0]!r}?" if near else "")
            )
        for key in ("title", "hours", "train", "tests", "systems", "rows", "metrics"):
            if not self.values.get(key):
                self.problems.append(f"{key!r} is missing")
        splits = {one: self._settings(Texts, self.values[one], one) for one in SPLITS if self.values.get(one)}
        tests = {one: self._settings(Texts, value, f"tests, {one}") for one, value in self._mapping("tests").items()}
        rows = {one: self._settings(OutputRow, value, f"rows, {one}") for one, value in self._mapping("rows").items()}
        distil = self.values.get("distil")
        recipe = Recipe(
            name,
            str(self.values.get("title", "")),
            str(self.values.get("hours", "")),
            {one: texts for one, texts in splits.items() if texts is not None},
            {one: texts for one, texts in tests.items() if texts is not None},
            self._mapping("prepare"),
            self._mapping("training"),
            {one: value or {} for one, value in self._mapping("systems").items()},
            {one: row for one, row in rows.items() if row is not None},
            tuple(self.values.get("metrics") or ()),
            None if distil is None else self._settings(Distil, distil, "distil"),
            bool(self.values.get("same_language", False)),
            str(self.values.get("parser", "parser-en")),
            str(self.values.get("note", "")),
        )
        self._check_texts(recipe)
        self._check_rows(recipe)
        self._check_parts(recipe)
        return recipe

    def _mapping(self, key: str) -> dict[str, Any]:
        value = self.values.get(key) or {}
        if isinstance(value, dict):
            return value
        self.problems.append(f"{key!r} is no mapping of names to values")
        return {}

    def _settings(self, kind: type[Any], values: Any, where: str) -> Any:
        try:
            return kind.from_dict(values)
        except SyntagmaError as error:
            self.problems.append(f"{where}: {error}")
            return None

    def _check_texts(self, recipe: Recipe) -> None:
        for where, texts in (*recipe.splits.items(), *recipe.tests.items()):
            if bool(texts.pairs) == bool(texts.sources and texts.references):
                self.problems.append(f"{where}: give either pairs, or sources and references")
            if texts.tokenize not in TOKENISERS:
                self.problems.append(f"{where}: there is no tokenisation {texts.tokenize!r}")
            for row, figures in texts.printed.items():
                if unknown := sorted(figures.keys() - set(known_names())):
                    self.problems.append(f"{where}, printed, {row}: there is no metric {unknown[0]!r}")
        for metric in recipe.metrics:
            if metric not in known_names():
                self.problems.append(f"metrics: there is no metric {shown(metric)}")

    def _check_rows(self, recipe: Recipe) -> None:
        for name, row in recipe.rows.items():
            if row.system not in recipe.systems:
                self.problems.append(f"rows, {name}: there is no system {row.system!r}")
            if row.against is not None and row.against not in recipe.rows:
                self.problems.append(f"rows, {name}: there is no row {row.against!r} to compare it with")
            if row.follow not in (None, "exemplars", "templates") and row.reference is None:
                self.problems.append(f"rows, {name}: it cannot follow {row.follow!r}")
            elif row.follow and not any(can_follow(row, texts) for texts in recipe.tests.values()):
                self.problems.append(f"rows, {name}: no test set has {row.follow} to follow")
            system = recipe.systems.get(row.system)
            plain = isinstance(system, dict) and (recipe.training | system).get("architecture") in _PLAIN
            if row.follow and plain:
                self.problems.append(f"rows, {name}: {row.system} writes its target in one go and can follow nothing")
            try:
                options = row.options()
                SearchOptions().changed(options if isinstance(options, dict) else options.to_dict())
            except SyntagmaError as error:
                self.problems.append(f"rows, {name}: {error}")

    def _check_parts(self, recipe: Recipe) -> None:
        try:
            if "train" in recipe.splits:
                recipe.corpus_options(Path())
        except SyntagmaError as error:
            self.problems.append(f"prepare: {error}")
        for name, system in recipe.systems.items():
            if not isinstance(system, dict) or "/" in str(name):
                self.problems.append(f"systems, {name}: give a name without '/' and its settings")
                continue
            try:
                recipe.train_config(name, Path(), Path())
            except SyntagmaError as error:
                self.problems.append(f"systems, {name}: {error}")
        if recipe.distil is not None and recipe.distil.teacher not in recipe.systems:
            self.problems.append(f"distil: there is no system {recipe.distil.teacher!r}")


def can_follow(row: OutputRow, texts: Texts) -> bool:
    """Whether a test set has what a row follows."""
    if row.follow == "exemplars":
        return texts.exemplars is not None
    if row.follow == "templates":
        return texts.templates is not None
    return row.reference is None or row.reference < (len(texts.references) or 1)
