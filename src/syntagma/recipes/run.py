"""A recipe from its data to its table, step by step; what is done is skipped, what was stopped goes on.

RUN/recipe.json             what is run
RUN/corpus                  prepare: the corpus; corpus-SYSTEM for a system whose corpus is prepared otherwise
RUN/distilled               distil: the corpus that a teacher wrote; distilled-SYSTEM likewise
RUN/models/SYSTEM           train: a run for each system
RUN/outputs/TEST/*.jsonl    generate: a JSON line for each source, a file for each row of the table
RUN/tables.md, .jsonl       table: a table for each test set; RUN/TEST.svg and .png where the recipe has a figure
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from syntagma.corpus import Corpus, CorpusOptions, prepare
from syntagma.errors import ConfigError, MissingExtra, Place, SyntagmaError
from syntagma.files import atomic_write, remove_parts
from syntagma.hub import PRETRAINED_FILES, fetch, find_folder, hash_file
from syntagma.network.folder import ModelFolder
from syntagma.recipes.data import check_data, corpus_parser, parses_outputs, read_test, rows_for
from syntagma.recipes.edits import edit_outputs
from syntagma.recipes.facts import Facts, parameters_of, speed_of, store_facts, stored_facts, tokens_of
from syntagma.recipes.outputs import is_current, read_outputs, write_mark, write_records
from syntagma.recipes.recipe import OutputRow, Recipe, locate
from syntagma.recipes.scoring import RowTexts, Scorer
from syntagma.recipes.shapes import ShapeReader
from syntagma.recipes.table import Table, average
from syntagma.runtime.device import check_device
from syntagma.search.options import SearchOptions
from syntagma.search.parallel import SearchWork
from syntagma.search.steered import SteeredText, Text
from syntagma.settings import read_mapping
from syntagma.train.config import TrainConfig

Step = Literal["prepare", "distil", "train", "generate", "table"]
Say = Callable[[str], None]


class Stopped(Exception):
    """A signal has stopped a training run, which has saved where it was."""

    def __init__(self, signal: int) -> None:
        super().__init__(signal)
        self.signal = signal


@dataclass(frozen=True)
class RecipeRun:
    """A run of a recipe in the folder `out`."""

    recipe: Recipe
    data: Path
    out: Path
    devices: int = 1
    """Processes that train together, a GPU each."""
    resamples: int = 1000
    device: str = "auto"
    """Where texts are written and compared; training takes a GPU where there is one."""
    precision: str | None = None
    say: Say = lambda text: None
    limit: int | None = None
    """Of each test set only the first so many sources; their outputs are kept apart."""

    def run(self, until: Step = "table") -> list[Table]:
        """Go through all steps up to one; the tables, where that is the last."""
        self._claim(until)
        if self.recipe.trained():
            self.corpus()
            if until == "prepare":
                return []
            if self.recipe.distil is not None:
                self.train(self.recipe.distil.teacher)
                self.distilled()
            if until == "distil":
                return []
            for system in self.recipe.trained():
                self.train(system)
        if until not in ("generate", "table"):
            return []
        for test in self.recipe.tests:
            self.generate(test)
        return [] if until == "generate" else self.tables()

    def _claim(self, until: Step) -> None:
        """Check everything, and that no other recipe has begun here."""
        values = json.loads(json.dumps(asdict(self.recipe)))
        path = self.out / "recipe.json"
        prepared = not self.recipe.trained() or (self.out / "corpus" / "corpus.json").is_file()
        parsers = list(self._parsers(until, prepared))
        check_data(
            self.recipe, self.data, prepared=prepared, parsers=parsers, others=list(self._conflicts(values, path))
        )
        remove_parts(self.out)
        with atomic_write(path) as stream:
            json.dump(values, stream, indent=2, ensure_ascii=False)
            stream.write("\n")

    def _conflicts(self, values: dict[str, Any], path: Path) -> Iterator[str]:
        """List what stands against the run on this machine or in the folder."""
        try:
            check_device(self.device, self.precision)
        except SyntagmaError as error:
            yield str(error)
        if self.devices > 1 and self.recipe.trained() and find_spec("lightning_fabric") is None:
            yield str(MissingExtra("lightning-fabric", "fabric", "training in several processes"))
        begun = read_mapping(path) if path.exists() else values
        if changed := sorted(name for name in values if values[name] != begun.get(name) and name not in _MAY_CHANGE):
            yield f"{self.out}: another recipe was begun here (it differs in {', '.join(changed)}); give another --out"

    def _parsers(self, until: Step, prepared: bool) -> Iterator[str]:
        """The parsers that the steps to come need."""
        distilled = (self.out / "distilled" / "corpus.json").is_file()
        if not prepared or (self.recipe.distil is not None and until != "prepare" and not distilled):
            yield corpus_parser(self.recipe, self.data)
        follows = any(row.follow not in (None, "templates") for row in self.recipe.rows.values())
        if (follows and until in ("generate", "table")) or (until == "table" and parses_outputs(self.recipe)):
            yield self.parser

    @property
    def parser(self) -> str:
        """The parser of the outputs: a folder among the data, or a name."""
        folder = self.data / self.recipe.parser
        return str(folder) if folder.is_dir() else self.recipe.parser

    # -- prepare, distil, train

    def corpus(self, system: str | None = None) -> Path:
        """The prepared corpus; that of a system where it has one of its own."""
        variant = {} if system is None else self.recipe.variant(system)
        folder = self.out / (f"corpus-{system}" if variant else "corpus")
        if not (folder / "corpus.json").is_file():
            self.say(f"prepare: parsing and storing the pairs ({folder.name})")
            options = self.recipe.corpus_options(self.data)
            if options.pieces is not None and not Path(options.pieces).is_dir():
                options = replace(options, pieces=str(fetch(options.pieces, "model", PRETRAINED_FILES)))
            if variant:
                options = self._varied(options, variant, self.out / "corpus")
            prepare(options, folder)
        return folder

    @staticmethod
    def _varied(options: CorpusOptions, variant: dict[str, Any], base: Path) -> CorpusOptions:
        """Options for a corpus that differs from another in some of them and has its vocabulary."""
        same = {"tokenizer": str(base / "tokenizer.json"), "pieces": None, "share_pieces": False}
        if "labels" in variant:  # a vocabulary has its labels, so this corpus has one of its own
            same = {}
        return CorpusOptions.from_dict(options.to_dict() | same | variant)

    def distilled(self, system: str | None = None) -> Path:
        """The corpus that the teacher has written; that of a system where it has one of its own."""
        assert self.recipe.distil is not None
        variant = {} if system is None else self.recipe.variant(system)
        folder = self.out / (f"distilled-{system}" if variant else "distilled")
        if (folder / "corpus.json").is_file():
            return folder
        if variant:
            base = self.distilled()
            prepare(self._varied(Corpus.open(base).options, variant, base), folder)
            return folder
        from syntagma.train.distillation import Teacher, distill

        teacher = self.recipe.distil.teacher
        self.say(f"distil: {teacher} writes the targets anew")
        loaded = Teacher.load(
            str(self.model(teacher)), self.recipe.distil.beam, device=self.device, precision=self.precision
        )
        distill(loaded, Corpus.open(self.corpus()), folder)
        return folder

    def model(self, system: str) -> Path:
        """The folder of a system's model."""
        given = self.recipe.given_model(system)
        if given is None:
            return self.out / "models" / system
        return find_folder(locate(given, self.data), "model", "model")

    def train(self, system: str) -> None:
        """Train a system, or go on with it."""
        folder = self.model(system)
        if self.recipe.given_model(system) is not None or (folder / "config.json").is_file():  # it is written last
            return
        corpus = self.distilled(system) if self.recipe.learns_from_teacher(system) else self.corpus(system)
        config = self.recipe.train_config(system, self.data, corpus)
        self.say(f"train: {system}")
        if self.devices > 1:
            self._train_together(config, folder)
            return
        from syntagma.train.run import train

        result = train(config, folder, command=f"syntagma reproduce {self.recipe.name}")
        if result.signal is not None:
            raise Stopped(result.signal)

    def _train_together(self, config: TrainConfig, folder: Path) -> None:
        """Train in several processes, which torchrun starts."""
        settings = folder.with_name(f"{folder.name}.json")
        config.save(settings)
        launch = ["torch.distributed.run", "--standalone", f"--nproc-per-node={self.devices}"]
        train = ["syntagma", "train", "--config", str(settings), "--out", str(folder)]
        done = subprocess.run([sys.executable, "-m", *launch, "-m", *train], stdout=sys.stderr, check=False)
        if done.returncode:
            what = f"training has ended with code {done.returncode}"
            raise ConfigError(what, Place(str(folder)), "see its messages, then give the same command again")

    # -- generate

    @cached_property
    def _shapes(self) -> ShapeReader:
        return ShapeReader(self.parser)

    def outputs(self, test: str, row: str) -> Path:
        """The file with a row's outputs for a test set."""
        part = "" if self.limit is None else f".first{self.limit}"
        return self.out / "outputs" / f"{test}{part}" / f"{re.sub(r'[^A-Za-z0-9]+', '-', row).strip('-')}.jsonl"

    def generate(self, test: str) -> None:
        """Write what each row's system makes of a test set, unless it is there."""
        made: dict[str, Path] = {}
        for name, row in rows_for(self.recipe, self.recipe.tests[test]).items():
            path = self.outputs(test, name)
            texts = self.texts(test, row)
            mark = self.mark(row, texts)
            if not is_current(path, mark):
                if mark in made:  # it differs from another row in how it is scored only
                    shutil.copyfile(made[mark], path)
                    write_mark(path, mark)
                else:
                    self.say(f"generate: {name}, {test}")
                    failed = write_records(path, texts, self.work(row), mark)
                    if failed:
                        self.say(f"{failed} of {len(texts)} sources failed and have no output ({path})")
            made[mark] = path

    def texts(self, test: str, row: OutputRow) -> list[Text]:
        """The sources of a test set with what the row follows; nothing in the place of one that cannot be edited."""
        texts = read_test(self.recipe.tests[test], self.data, self.limit)
        if row.edit is None:
            labels = ModelFolder.open(self.model(row.system)).vocabulary.labels if row.follow else ()
            return texts.steered(row, self._shapes, labels)
        assert row.of is not None
        records = read_outputs(self.outputs(test, row.of), len(texts.sources))
        trees = self._shapes.trees([references[0] for references in texts.references])
        edits = zip(texts.sources, edit_outputs(row.edit, records, trees), strict=True)
        return ["" if edit is None else SteeredText(source, start=edit.start) for source, edit in edits]

    def work(self, row: OutputRow) -> SearchWork:
        """The work of a process for a row."""
        options = row.search_options()
        given = options.to_dict() if isinstance(options, SearchOptions) else options
        model = str(self.model(row.system))
        return SearchWork(model, given, nbest=row.nbest, device=self.device, precision=self.precision)

    def mark(self, row: OutputRow, texts: Sequence[Text]) -> str:
        """A hash, the same for equal models, searches and texts."""
        searched = {**asdict(row), "against": None, "scored_by": None}
        identity = [hash_file(self.model(row.system) / "config.json"), searched, [repr(text) for text in texts]]
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]

    # -- table

    def tables(self, *, stored: bool = False) -> list[Table]:
        """A table for each test set, and one of their averages where there are several; also written to files.

        With `stored` nothing but outputs and what is kept beside them is read: no model is needed.
        """
        tables = [self._table(test, stored) for test in self.recipe.tests]
        if len(tables) > 1:
            tables.append(average(tables))
        with atomic_write(self.out / "tables.md") as stream:
            stream.write(f"# {self.recipe.title}\n\n" + "\n\n".join(table.to_markdown() for table in tables) + "\n")
        with atomic_write(self.out / "tables.jsonl") as stream:
            stream.writelines(table.to_json() + "\n" for table in tables)
        return tables

    def _table(self, test: str, stored: bool) -> Table:
        texts = read_test(self.recipe.tests[test], self.data, self.limit)
        rows = rows_for(self.recipe, self.recipe.tests[test])
        made = {
            name: RowTexts(row, read_outputs(self.outputs(test, name), len(texts.sources)))
            for name, row in rows.items()
        }
        where = (self.device, self.precision)
        scorer = Scorer(self.recipe, test, texts, made, self._shapes, self.parser, *where)
        table = scorer.table(self.resamples, self.say)
        if self.recipe.facts:
            table = table.with_figures(self.recipe.facts, {name: self._facts(test, name, stored) for name in rows})
        if self.recipe.figure is not None:
            from syntagma.recipes.figure import draw

            draw(self.recipe, test, table, self.out, self.say)
        return table

    def _facts(self, test: str, name: str, stored: bool) -> Facts:
        row, path = self.recipe.rows[name], self.outputs(test, name)
        if stored:
            return stored_facts(path) or {}
        texts = self.texts(test, row)
        mark = self.mark(row, texts)
        facts = stored_facts(path, mark) or {}
        for fact in self.recipe.facts:
            if fact in facts:
                continue
            if fact == "params":
                facts[fact] = parameters_of(self.model(row.system))
            elif fact == "speed":
                facts[fact] = speed_of(self.work(row), texts)
            else:
                facts[fact] = tokens_of(self.model(row.system), read_outputs(path, len(texts)))
        store_facts(path, mark, facts)
        return facts


_MAY_CHANGE = ("title", "hours", "note", "tests", "rows", "metrics", "facts", "figure", "parser")
"""Settings that decide nothing that is kept: outputs know themselves what they were made from."""
