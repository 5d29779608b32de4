"""A recipe from its data to its table, step by step; what is done is skipped, what was stopped goes on.

RUN/recipe.json          what is run
RUN/corpus               prepare: the corpus
RUN/distilled            distil: the corpus that a teacher wrote
RUN/models/SYSTEM        train: a run for each system
RUN/outputs/TEST/*.jsonl generate: a JSON line for each source, a file for each row of the table
RUN/tables.md, .jsonl    table: a table for each test set
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from syntagma.corpus import Corpus, prepare
from syntagma.errors import ConfigError, Place, SyntagmaError
from syntagma.experiment.table import Table, TableRow, TestRows, compare_systems
from syntagma.files import atomic_write, lines_begun, read_lines, remove_parts
from syntagma.hub import PRETRAINED_FILES, fetch, hash_file
from syntagma.recipes.data import TestTexts, check_data, corpus_parser, parses_outputs, read_test, rows_for
from syntagma.recipes.recipe import OutputRow, Recipe
from syntagma.runtime.device import check_device
from syntagma.search.options import SearchOptions
from syntagma.search.parallel import SearchWork, parallel, processes_for
from syntagma.search.steered import SteeredText, Text
from syntagma.settings import read_mapping
from syntagma.train.config import TrainConfig

Step = Literal["prepare", "distil", "train", "generate", "table"]
STEPS: tuple[Step, ...] = get_args(Step)
Say = Callable[[str], None]


class Stopped(Exception):
    """A signal has stopped a training run, which has saved where it was."""

    def __init__(self, signal: int) -> None:
        super().__init__(signal)
        self.signal = signal


@dataclass(frozen=True)
class RecipeRun:
    """A recipe on its way in the folder `out`."""

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

    def run(self, until: Step = "table") -> list[Table]:
        """Go through all steps up to one; the tables, where that is the last."""
        self._claim(until)
        self.corpus()
        if until == "prepare":
            return []
        if self.recipe.distil is not None:
            self.train(self.recipe.distil.teacher)
            self.distilled()
        if until == "distil":
            return []
        for system in self.recipe.systems:
            self.train(system)
        if until == "train":
            return []
        for test in self.recipe.tests:
            self.generate(test)
        return [] if until == "generate" else self.tables()

    def _claim(self, until: Step) -> None:
        """Check everything, and that no other recipe has begun here."""
        check_device(self.device, self.precision)
        told = json.loads(json.dumps(asdict(self.recipe)))
        path = self.out / "recipe.json"
        if path.exists():
            begun = read_mapping(path)
            if changed := sorted(name for name in told if told[name] != begun.get(name) and name not in _MAY_CHANGE):
                what = f"another recipe was begun here (it differs in {', '.join(changed)})"
                raise ConfigError(what, Place(str(self.out)), "give another --out")
        prepared = (self.out / "corpus" / "corpus.json").is_file()
        check_data(self.recipe, self.data, prepared=prepared, parsers=list(self._parsers(until, prepared)))
        remove_parts(self.out)
        with atomic_write(path) as stream:
            json.dump(told, stream, indent=2, ensure_ascii=False)
            stream.write("\n")

    def _parsers(self, until: Step, prepared: bool) -> Iterator[str]:
        """The parsers that the steps to come need."""
        distilled = (self.out / "distilled" / "corpus.json").is_file()
        if not prepared or (self.recipe.distil is not None and until != "prepare" and not distilled):
            yield corpus_parser(self.recipe)
        follows = any(row.follow not in (None, "templates") for row in self.recipe.rows.values())
        if follows and until in ("generate", "table"):
            yield "neural"
        if until == "table" and parses_outputs(self.recipe):
            yield self.recipe.parser

    # -- prepare, distil, train

    def corpus(self) -> Path:
        """The prepared corpus."""
        folder = self.out / "corpus"
        if not (folder / "corpus.json").is_file():
            self.say("prepare: parsing and storing the pairs")
            options = self.recipe.corpus_options(self.data)
            if options.pieces is not None and not Path(options.pieces).is_dir():
                options = replace(options, pieces=str(fetch(options.pieces, "model", PRETRAINED_FILES)))
            prepare(options, folder)
        return folder

    def distilled(self) -> Path:
        """The corpus that the teacher has written."""
        assert self.recipe.distil is not None
        folder = self.out / "distilled"
        if not (folder / "corpus.json").is_file():
            from syntagma.train.distillation import Teacher, distill

            self.say(f"distil: {self.recipe.distil.teacher} writes the targets anew")
            teacher = Teacher.load(
                str(self._model(self.recipe.distil.teacher)),
                self.recipe.distil.beam,
                device=self.device,
                precision=self.precision,
            )
            distill(teacher, Corpus.open(self.out / "corpus"), folder)
        return folder

    def _model(self, system: str) -> Path:
        return self.out / "models" / system

    def train(self, system: str) -> None:
        """Train a system, or go on with it."""
        folder = self._model(system)
        corpus = self.out / ("distilled" if self.recipe.learns_from_teacher(system) else "corpus")
        config = self.recipe.train_config(system, self.data, corpus)
        if (folder / "config.json").is_file():  # it is written last
            return
        self.say(f"train: {system}")
        command = f"syntagma reproduce {self.recipe.name}"
        if self.devices > 1:
            self._train_together(config, folder)
            return
        from syntagma.train.run import train

        result = train(config, folder, command=command)
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

    def outputs(self, test: str, row: str) -> Path:
        """The file with a row's outputs for a test set."""
        return self.out / "outputs" / test / f"{re.sub(r'[^A-Za-z0-9]+', '-', row).strip('-')}.jsonl"

    def generate(self, test: str) -> None:
        """Write what each row's system makes of a test set, unless it is there."""
        texts = read_test(self.recipe.tests[test], self.data)
        for name, row in rows_for(self.recipe, self.recipe.tests[test]).items():
            path = self.outputs(test, name)
            steered = texts.steered(row)
            mark = self._mark(row, steered)
            if path.exists() and _note(path).exists() and _note(path).read_text() == mark:
                continue
            self.say(f"generate: {name}, {test}")
            options = row.options()
            given = options.to_dict() if isinstance(options, SearchOptions) else options
            model = str(self._model(row.system))
            work = SearchWork(model, given, nbest=row.nbest, device=self.device, precision=self.precision)
            failed = write_records(path, steered, work, mark)
            if failed:
                self.say(f"{failed} of {len(steered)} sources failed and have no output ({path})")

    def _mark(self, row: OutputRow, texts: Sequence[Text]) -> str:
        """The same for equal models, searches and texts."""
        told = [hash_file(self._model(row.system) / "config.json"), asdict(row), [repr(text) for text in texts]]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]

    # -- table

    def tables(self) -> list[Table]:
        """A table for each test set, and one of their averages where there are several; also written to files."""
        tables = [self._table(test) for test in self.recipe.tests]
        if len(tables) > 1:
            tables.append(average(tables))
        with atomic_write(self.out / "tables.md") as stream:
            stream.write(f"# {self.recipe.title}\n\n" + "\n\n".join(table.to_markdown() for table in tables) + "\n")
        with atomic_write(self.out / "tables.jsonl") as stream:
            stream.writelines(table.to_json() + "\n" for table in tables)
        return tables

    def _table(self, test: str) -> Table:
        described = self.recipe.tests[test]
        texts = read_test(described, self.data)
        rows = TestRows(
            described.title or test,
            texts.sources,
            texts.references,
            self.recipe.metrics,
            described.tokenize,
            {f"paper: {name}": figures for name, figures in described.printed.items()},
            self.recipe.same_language,
            self.recipe.parser,
            self.device,
            self.precision,
        )
        made = rows_for(self.recipe, described)
        outputs = {name: _best_texts(self.outputs(test, name), texts) for name in made}
        return compare_systems(
            rows,
            outputs,
            against=lambda name: made[name].against if name in made else None,
            resamples=self.resamples,
            note=self.say,
        )


_MAY_CHANGE = ("title", "hours", "note", "tests", "rows", "metrics", "parser")
"""What decides nothing that is kept: outputs know themselves what they were made from."""


def write_records(path: Path, texts: Sequence[Text], work: SearchWork, mark: str) -> int:
    """A JSON line for each text, as `generate --json` writes it; goes on after the last whole line.

    How many texts have failed.  The file appears when it is complete, and a note of its `mark` beside it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{mark}.part")
    for left in {*path.parent.glob(f".{path.name}.*.part"), *path.parent.glob(f".{_note(path).name}.*.part")} - {part}:
        left.unlink()  # of another model or search, or of a note that was cut short
    waiting = texts[lines_begun(part) :]
    with open(part, "a", encoding="utf-8", newline="\n") as stream:
        for text, found in zip(
            waiting, parallel(work, waiting, workers=processes_for(len(waiting), work.device)), strict=True
        ):
            stream.write(json.dumps(_record(text, found, work.nbest), ensure_ascii=False) + "\n")
            stream.flush()
    part.replace(path)
    with atomic_write(_note(path)) as stream:
        stream.write(mark)
    return sum("error" in json.loads(line) for line in read_lines(path))


def _record(text: Text, found: Any, nbest: int) -> dict[str, Any]:
    source = text.source if isinstance(text, SteeredText) else text
    if isinstance(found, SyntagmaError):
        return {"source": source, "hypotheses": [], "error": str(found)}
    return {"source": source, "hypotheses": [output.to_dict() for output in found[:nbest]]}


def _note(path: Path) -> Path:
    return path.with_name(f".{path.name}.mark")


def _best_texts(path: Path, texts: TestTexts) -> list[str]:
    found = []
    for line in read_lines(path):
        hypotheses = json.loads(line)["hypotheses"]
        found.append(" ".join(hypotheses[0]["text"].split()) if hypotheses else "")
    if len(found) != len(texts.sources):
        what = f"it has {len(found)} lines for {len(texts.sources)} sources"
        raise ConfigError(what, Place(str(path)), "run the recipe again, at least to --until generate")
    return found


def average(tables: Sequence[Table]) -> Table:
    """The mean of the figures of rows that all tables have."""
    by_name: list[dict[str, TableRow]] = [{row.system: row for row in table.rows} for table in tables]
    names = [row.system for row in tables[0].rows if all(row.system in rows for rows in by_name)]
    rows = tuple(TableRow(name, dict(_means([rows[name] for rows in by_name])), {}, {}) for name in names)
    segments = sum(table.segments for table in tables)
    return Table("average", segments, tables[0].names, rows, tables[0].signatures)


def _means(rows: Sequence[TableRow]) -> Iterator[tuple[str, float]]:
    for name in rows[0].figures:
        values = [row.figures[name] for row in rows if name in row.figures]
        if len(values) == len(rows):
            yield name, sum(values) / len(values)
