"""The stored outputs of a recipe's rows as segments to score, and the table that they give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from syntagma.errors import ConfigError, Place
from syntagma.metrics.base import Candidate, Segment
from syntagma.recipes.data import TestTexts
from syntagma.recipes.edits import edit_outputs
from syntagma.recipes.outputs import Record
from syntagma.recipes.recipe import OutputRow, Recipe
from syntagma.recipes.shapes import ShapeReader
from syntagma.recipes.table import COPIED, REFERENCE, Scoring, Table, compare_systems
from syntagma.tree import KEPT_LABELS, Tree


@dataclass(frozen=True)
class RowTexts:
    """A row and what its system wrote."""

    row: OutputRow
    records: Sequence[Record]


@dataclass(frozen=True)
class Scorer:
    """A test set, and the rows that are scored on it."""

    recipe: Recipe
    test: str
    texts: TestTexts
    rows: Mapping[str, RowTexts]
    shapes: ShapeReader
    parser: str
    device: str = "cpu"
    precision: str | None = None

    def table(self, resamples: int, note: Callable[[str], None]) -> Table:
        """The figures of all rows, framed by the source copied and the reference where they are in one language."""
        described = self.recipe.tests[self.test]
        scoring = Scoring(
            described.title or self.test,
            self.recipe.metrics,
            described.tokenize,
            described.printed,
            self.parser,
            self.device,
            self.precision,
        )
        against = {name: made.row.against for name, made in self.rows.items()}
        return compare_systems(scoring, self._segments(), against=against.get, resamples=resamples, note=note)

    def _segments(self) -> dict[str, list[Segment]]:
        """The segments of each system; where contexts are edited, of the sources that every kind of edit suits."""
        edits = {name: self._edits(made.row) for name, made in self.rows.items() if made.row.edit is not None}
        kept = [index for index in range(len(self.texts.sources)) if all(texts[index] for texts in edits.values())]
        if not kept:
            what = f"none of {len(self.texts.sources)} sources suits all the edits"
            raise ConfigError(what, Place(self.test), "take more of them with --limit")
        sources, references = self.texts.sources, self.texts.references
        frame: dict[str, list[Segment]] = {}
        if self.recipe.same_language:
            frame[COPIED] = [Segment(sources[index], references[index], sources[index]) for index in kept]
        templates = self._templates()
        for name, made in self.rows.items():
            rows = list(self._row(made, edits.get(name), templates))
            frame[name] = [rows[index] for index in kept]
        if self.recipe.same_language:
            frame[REFERENCE] = [Segment(references[index][0], references[index], sources[index]) for index in kept]
        return frame

    def _row(self, made: RowTexts, edits: Sequence[str] | None, templates: Sequence[str]) -> Iterator[Segment]:
        scored_by = made.row.scored_by
        for index, record in enumerate(made.records):
            references = self.texts.references[index]
            outputs = [
                Candidate(" ".join(hypothesis["text"].split()), _tree(hypothesis))
                for hypothesis in record["hypotheses"]
            ]
            best = outputs[0] if outputs else Candidate("")
            yield Segment(
                best.text,
                references if scored_by is None else (references[scored_by],),
                self.texts.sources[index],
                induced=best.tree,
                template=templates[index],
                nbest=tuple(outputs),
                edit=edits[index] if edits else "",
            )

    def _templates(self) -> list[str]:
        """The first reference's shape of each source, where a figure asks for it."""
        if "template_match" not in self.recipe.metrics:
            return [""] * len(self.texts.sources)
        labels = self.recipe.prepare.get("labels", KEPT_LABELS)
        return self.shapes.templates([references[0] for references in self.texts.references], None, labels)

    def _edits(self, row: OutputRow) -> list[str]:
        """The edit asked of each source; nothing where no edit suited it."""
        assert row.edit is not None
        assert row.of is not None
        trees = self.shapes.trees([references[0] for references in self.texts.references])
        edits = edit_outputs(row.edit, self.rows[row.of].records, trees)
        return ["" if edit is None else edit.to_json() for edit in edits]


def _tree(output: Mapping[str, str]) -> Tree | None:
    return Tree.read(output["tree"]) if output.get("tree") else None
