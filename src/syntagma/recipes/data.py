"""The files of a recipe: what is missing or uneven among them, and the texts of a test set with what steers them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from syntagma.corpus.options import BRACKETS
from syntagma.errors import SyntagmaError
from syntagma.files import read_lines
from syntagma.metrics.registry import to_parse
from syntagma.parse import load_parser
from syntagma.recipes.reading import RecipeError, missing_files
from syntagma.recipes.recipe import HUB_ID, OutputRow, Recipe, Texts, can_follow, locate
from syntagma.recipes.shapes import ShapeReader
from syntagma.search.steered import SteeredText, Text


@dataclass(frozen=True)
class TestTexts:
    """A test set in memory: a reference for each source from every file of them."""

    sources: list[str]
    references: list[tuple[str, ...]]
    exemplars: list[str]
    exemplar_pool: list[str]
    templates: list[str]

    def steered(self, row: OutputRow, shapes: ShapeReader, labels: Sequence[str]) -> list[Text]:
        """The sources, each with the template that the row follows; one without a shape is not steered."""
        if row.follow is None:
            return list(self.sources)
        if row.follow == "templates":
            templates = self.templates
        else:
            templates = shapes.templates(self._followed(row, shapes), row.exemplar_depth, labels)
        return [
            SteeredText(source, template=template, control=row.control) if template.strip() else source
            for source, template in zip(self.sources, templates, strict=True)
        ]

    def _followed(self, row: OutputRow, shapes: ShapeReader) -> list[str]:
        """The sentences whose shapes a row follows."""
        if row.followed_reference is not None:
            return [references[row.followed_reference] for references in self.references]
        if self.exemplars:
            return self.exemplars
        return shapes.nearest([references[0] for references in self.references], self.sources, self.exemplar_pool)


def read_test(texts: Texts, data: Path, limit: int | None = None) -> TestTexts:
    """The texts of a test set, or the first so many; columns of a line count as `prepare` counts them."""
    references: list[tuple[str, ...]]
    if texts.pairs:
        pairs = list(_pairs(texts, data))
        if texts.both_ways:
            pairs += [(target, source) for source, target in pairs]
        sources, references = [source for source, _ in pairs], [(target,) for _, target in pairs]
        if texts.group:
            grouped: dict[str, list[str]] = {}
            for source, target in pairs:
                grouped.setdefault(source, []).append(target)
            sources, references = list(grouped), [tuple(targets) for targets in grouped.values()]
    else:
        sources = _lines(data / str(texts.sources))
        references = list(zip(*(_lines(data / name) for name in texts.references), strict=True))
    exemplars, templates = ([] if name is None else _lines(data / name) for name in (texts.exemplars, texts.templates))
    pool = [] if texts.exemplar_pool is None else _lines(data / texts.exemplar_pool)
    pool = [line.split("\t")[1] if "\t" in line else line for line in pool]
    return TestTexts(sources[:limit], references[:limit], exemplars[:limit], pool, templates[:limit])


def _pairs(texts: Texts, data: Path) -> Iterator[tuple[str, str]]:
    column, _, values = (texts.where or "").partition("=")
    for name in texts.pair_files:
        for line in read_lines(data / name):
            row = line.split("\t")
            if not texts.where or row[int(column)] in values.split(","):
                source, target = (row[number].strip() for number in texts.columns)
                yield (target, source) if texts.swapped else (source, target)


def _lines(path: Path) -> list[str]:
    return [line.strip() for line in read_lines(path)]


def check_data(
    recipe: Recipe,
    data: Path,
    *,
    prepared: bool = False,
    parsers: Sequence[str] | None = None,
    others: Sequence[str] = (),
) -> None:
    """Raise with everything that the recipe needs and the data folder, or this installation, does not have.

    What only `prepare` reads is not asked for where that is done; `parsers` are those that are still needed, `others`
    the problems that are known already.
    """
    problems = [*others, *_missing_files(recipe, data, prepared), *_missing_models(recipe, data)]
    for name, texts in recipe.splits.items() if not prepared else ():
        if not texts.pairs and all((data / file).is_file() for file in texts.files()):
            problems += [f"{name}: {problem}" for problem in _uneven(texts, data)]
    for name, texts in recipe.tests.items():
        if all((data / file).is_file() for file in texts.files()):
            problems += [f"tests, {name}: {problem}" for problem in _uneven(texts, data)]
    for parser in [corpus_parser(recipe, data)] if parsers is None else parsers:
        try:
            if not parser.startswith(BRACKETS):
                load_parser(parser)
        except SyntagmaError as error:
            problems.append(f"parser {parser}: {error}")
    if problems:
        raise RecipeError(recipe.name, problems)


def corpus_parser(recipe: Recipe, data: Path) -> str:
    """The parser of the training pairs: a folder among the data, or a name."""
    name = str(recipe.prepare.get("parser", "neural"))
    return str(data / name) if (data / name).is_dir() else name


def parses_outputs(recipe: Recipe) -> bool:
    """Whether figures of the table need parses."""
    return bool(to_parse(recipe.metrics, {"hyp", "refs", "src", "nbest", "edit", "induced", "template"}))


def _missing_files(recipe: Recipe, data: Path, prepared: bool) -> Iterator[str]:
    names = recipe.files() if not prepared else [name for texts in recipe.tests.values() for name in texts.files()]
    return missing_files(names, data)


def _missing_models(recipe: Recipe, data: Path) -> Iterator[str]:
    """Models that are neither bundled nor a folder of the data nor look like a hub id."""
    given = {recipe.given_model(system): system for system in recipe.systems}
    for model in recipe.models():
        folder = Path(locate(model, data))
        if not folder.is_dir() and not HUB_ID.fullmatch(model):
            name = given.get(model)
            remedy = f"; give --model {name}=FOLDER, or --model {name}= to leave that system out" if name else ""
            yield f"{folder if folder.is_absolute() else data / model}: there is no such folder{remedy}"


def _uneven(texts: Texts, data: Path) -> Iterator[str]:
    try:
        columns = 1 + max(1, int((texts.where or "1").partition("=")[0]), *texts.columns)
        for name in texts.pair_files:
            for number, line in enumerate(read_lines(data / name), 1):
                if line.count("\t") < columns - 1:
                    yield f"line {number} of {name} " + ("has no tab" if columns == 2 else f"has no {columns} columns")
                    return
        if texts.pairs and not any(True for _ in _pairs(texts, data)):
            yield "there are no pairs" + (f" with {texts.where}" if texts.where else "")
        if texts.group or texts.where or len(texts.pair_files) > 1:
            return
        counts = {name: sum(1 for _ in read_lines(data / name)) for name in texts.aligned_files()}
        if 0 in counts.values() or len(set(counts.values())) > 1:
            yield "the files have " + ", ".join(f"{count} lines ({name})" for name, count in counts.items())
    except SyntagmaError as error:
        yield str(error)


def rows_for(recipe: Recipe, texts: Texts) -> dict[str, OutputRow]:
    """The rows for which a test set has the data."""
    return {name: row for name, row in recipe.rows.items() if can_follow(row, texts)}
