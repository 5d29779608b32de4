"""A recipe: an experiment as a YAML file, from its data to its table (docs/recipes.md has the keys).

What each part may hold is said here; `reading` reads a file and tells everything that is wrong with it at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from syntagma.corpus.options import AUTO, BRACKETS, CorpusOptions, Input
from syntagma.hub import bundled, find_folder
from syntagma.search.options import SearchOptions, named
from syntagma.settings import Settings, setting
from syntagma.train.config import PRESET_TRAINING, TrainConfig

REFERENCES = "references"
"""Names the first reference as what steers a row; `references:2` is the third."""
EDITS = "edits"
"""Begins the name of edited contexts that a row grows on from: `edits:pin`, ... (`syntagma.recipes.edits`)."""
PLAIN_ARCHITECTURES = ("seq2seq", "linearised")
"""Architectures that write their target in one go."""

HUB_ID = re.compile(r"[\w-][\w.-]*/[\w.-]+")
"""What a model's name looks like that is fetched where it is no folder."""

Option = int | float | bool | str


@dataclass(frozen=True)
class Texts(Settings):
    """Files of one split: sources and references side by side, or pairs in the first two columns of one file."""

    title: str = ""
    pairs: str | tuple[str, ...] | None = None
    """One file of them, or several."""
    swapped: bool = False
    """Whether the target stands before the source in a test set's pairs."""
    columns: tuple[int, ...] = (0, 1)
    """Where source and target stand in a test set's pairs, from 0."""
    where: str | None = None
    """COLUMN=VALUE[,VALUE], columns from 0: of a test set's pairs only these."""
    group: bool = False
    """Whether pairs of a test set with the same source are one source with several references."""
    both_ways: bool = False
    """Whether each pair of a test set serves in both directions."""
    sources: str | None = None
    references: tuple[str, ...] = ()
    exemplars: str | None = None
    """A sentence a line, whose shape the output shall have."""
    exemplar_pool: str | None = None
    """Sentences (the second column of several): the one nearest in shape to a reference is its exemplar."""
    templates: str | None = None
    tokenize: str = "none"
    """BLEU's tokenisation."""
    printed: dict[str, dict[str, float]] = field(default_factory=dict)
    """The paper's printed figures: a row of figures for each of its systems."""

    def files(self) -> list[str]:
        """All files that are asked for."""
        return [*self.aligned_files(), *([self.exemplar_pool] if self.exemplar_pool else [])]

    def aligned_files(self) -> list[str]:
        """The files that have a line for each source."""
        single = (self.sources, self.exemplars, self.templates)
        return [*self.pair_files, *(name for name in single if name), *self.references]

    @property
    def pair_files(self) -> tuple[str, ...]:
        """The files of pairs."""
        return (self.pairs,) if isinstance(self.pairs, str) else self.pairs or ()


@dataclass(frozen=True)
class Distil(Settings):
    """Sequence-level distillation: the other systems learn what this one makes of the training sources."""

    teacher: str
    beam: int = 5


@dataclass(frozen=True)
class FigureSettings(Settings):
    """The drawing beside the table: figures over a setting of the rows, or, without one, over the rows."""

    figures: tuple[str, ...]
    x: str | None = None
    """An option of the search, or of `prepare`, that rows have different values of."""
    label: str = ""


@dataclass(frozen=True)
class OutputRow(Settings):
    """One row of the table: a system and how it is searched."""

    system: str
    search: str | None = None
    """A named setting, such as paper; the model's own where not given."""
    beam: int | None = None
    reward: float | None = None
    options: dict[str, Option] = field(default_factory=dict)
    """Other settings of the search, such as alpha."""
    follow: str | None = None
    """The steering of each line: exemplars, templates, references (the first one's shape), references:1, edits:KIND."""
    of: str | None = None
    """The row whose contexts are edited."""
    control: Literal["soft", "hard"] = "soft"
    exemplar_depth: int | None = None
    """How deep a shape that is followed counts; complete where not given."""
    nbest: int = setting(1, ge=1)
    scored_by: int | None = None
    """The one reference that the row is scored against, from 0; all of them where not given."""
    against: str | None = None
    """The row that this one is compared with, by paired bootstrap."""

    def search_options(self) -> SearchOptions | dict[str, Any]:
        """How to search: whole settings where they have a name, else what differs from the model's own."""
        given: dict[str, Any] = dict(self.options)
        given |= {name: value for name, value in (("beam", self.beam), ("reward", self.reward)) if value is not None}
        return given if self.search is None else named(self.search).changed(given)

    @property
    def followed_reference(self) -> int | None:
        """Which reference is followed, if one is."""
        name, _, number = (self.follow or "").partition(":")
        return (int(number) if number else 0) if name == REFERENCES and (number or "0").isdigit() else None

    @property
    def edit(self) -> str | None:
        """Which kind of edit is followed, if one is."""
        name, _, kind = (self.follow or "").partition(":")
        return kind if name == EDITS else None


@dataclass(frozen=True)
class Recipe:
    """An experiment; `prepare`, `training` and `systems` hold settings of those parts as they are written."""

    name: str
    title: str
    hours: str
    splits: dict[str, Texts]
    """train, and dev unless it is drawn; none where no system is trained."""
    tests: dict[str, Texts]
    prepare: dict[str, Any]
    training: dict[str, Any]
    systems: dict[str, dict[str, Any]]
    rows: dict[str, OutputRow]
    metrics: tuple[str, ...]
    facts: tuple[str, ...] = ()
    """Of the models and not of single sentences: params, speed, output_tokens."""
    figure: FigureSettings | None = None
    distil: Distil | None = None
    same_language: bool = False
    parser: str = "parser-en"
    """Who parses outputs for the figures that need trees."""
    note: str = ""

    def files(self) -> list[str]:
        """All files that the data folder must hold."""
        given = [name for texts in (*self.splits.values(), *self.tests.values()) for name in texts.files()]
        tokenizer, parser = self.prepare.get("tokenizer"), str(self.prepare.get("parser", ""))
        given += self.prepare.get("exclude", ())
        given += [tokenizer] if tokenizer and tokenizer not in bundled("model") else []
        given += [parser.removeprefix(BRACKETS)] if parser.startswith(BRACKETS) else []
        return list(dict.fromkeys(given))

    def models(self) -> list[str]:
        """All models that are not bundled: folders among the data, or hub ids."""
        named = [self.prepare.get("pieces")]
        for system in self.systems:
            settings = self.training | self.systems[system]
            usual = PRESET_TRAINING.get(str(settings.get("preset")), {})
            started_from = [settings.get("init"), (usual | settings).get("backbone")]
            named += [self.given_model(system)] if self.given_model(system) else started_from
        return [model for model in dict.fromkeys(named) if model and model not in bundled("model")]

    def given_model(self, system: str) -> str | None:
        """The finished model that a system is, where it is not trained."""
        model = self.systems[system].get("model")
        return model if isinstance(model, str) else None

    def trained(self) -> list[str]:
        """The systems that are trained."""
        return [system for system in self.systems if self.given_model(system) is None]

    def learns_from_teacher(self, system: str) -> bool:
        """Whether a system is trained on the distilled corpus."""
        return self.distil is not None and system != self.distil.teacher

    def variant(self, system: str) -> dict[str, Any]:
        """Options of `prepare` that a system's corpus has otherwise than the others'."""
        return dict(self.systems[system].get("prepare", {}))

    def corpus_options(self, data: Path) -> CorpusOptions:
        """The options that the corpus is made with."""
        values = dict(self.prepare)
        values["exclude"] = [str(data / name) for name in values.get("exclude", ())]
        if values.get("tokenizer"):
            values["tokenizer"] = locate_tokenizer(values["tokenizer"], data)
        if values.get("pieces"):
            values["pieces"] = locate(values["pieces"], data)
        parser = str(values.get("parser", "neural"))
        if parser.startswith(BRACKETS):
            values["parser"] = f"{BRACKETS}{data / parser.removeprefix(BRACKETS)}"
        elif (data / parser).is_dir():
            values["parser"] = str(data / parser)
        inputs = [_plain(input_) for input_ in self._inputs(data)]
        return CorpusOptions.from_dict({"dev": AUTO} | values | {"inputs": inputs})

    def _inputs(self, data: Path) -> Iterator[Input]:
        for split, texts in self.splits.items():
            for name in texts.pair_files:
                yield Input(str(data / name), None, split)
            if not texts.pairs:
                yield Input(str(data / str(texts.sources)), str(data / texts.references[0]), split, "parallel")

    def train_config(self, system: str, data: Path, corpus: Path) -> TrainConfig:
        """How a system is trained on a corpus."""
        own = {name: value for name, value in self.systems[system].items() if name != "prepare"}
        values = self.training | own
        for name in ("init", "backbone"):
            if values.get(name):
                values[name] = locate(values[name], data)
        return TrainConfig.from_dict(values | {"data": str(corpus)})


def _plain(input_: Input) -> dict[str, Any]:
    return {"path": input_.path, "target": input_.target, "split": input_.split, "format": input_.format}


def locate(name: str, data: Path) -> str:
    """A pretrained model: its folder among the data, also under the last part of a hub id, else the name itself."""
    for folder in (data / name, data / name.rpartition("/")[2]):
        if folder.is_dir():
            return str(folder)
    return name


def locate_tokenizer(name: str, data: Path) -> str:
    """A vocabulary: a file among the data, or that of a bundled model."""
    if name in bundled("model"):
        return str(find_folder(name, "model", "model") / "tokenizer.json")
    return str(data / name)


def can_follow(row: OutputRow, texts: Texts) -> bool:
    """Whether a test set has what a row follows, and the reference that it is scored by."""
    references = len(texts.references) or 1
    if row.scored_by is not None and row.scored_by >= references:
        return False
    if row.follow == "exemplars":
        return texts.exemplars is not None or texts.exemplar_pool is not None
    if row.follow == "templates":
        return texts.templates is not None
    return row.followed_reference is None or row.followed_reference < references
