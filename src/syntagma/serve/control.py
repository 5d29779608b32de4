"""Partial control as an experiment (the paper's section 6.3): annotators edit a model's contexts and judge its answers.

A task is a file of sources with the contexts that a model made of them.  Each annotator edits one context of each
source in her own way, sees what the model makes of it, and says whether it followed; then she judges what others have
edited, so that agreement can be told.  The last judgement of an annotator and edit counts.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from syntagma.errors import ConfigError, InputError, Place
from syntagma.files import read_lines
from syntagma.serve.experiment import AnswerStore, Experiment, now, read_by_id
from syntagma.serve.votes import krippendorff, wilson

_REMEDY = "make the file with `syntagma control-task`"
EDIT_COLUMNS = ("edit", "time", "annotator", "item", "source", "before", "after", "output")
_TABLES = """
CREATE TABLE IF NOT EXISTS edits (
    number INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, annotator TEXT NOT NULL, item TEXT NOT NULL,
    source TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL, output TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS judgements (
    number INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, annotator TEXT NOT NULL,
    edit INTEGER NOT NULL REFERENCES edits (number), followed INTEGER NOT NULL
);
"""


@dataclass(frozen=True)
class ControlItem:
    """A source, and the contexts that a model made on the way to its output, from the first below the root on."""

    id: str
    source: str
    contexts: tuple[str, ...]
    output: str = ""


def sample_task(outputs: Path, sample: int | None, seed: int = 1) -> list[ControlItem]:
    """Draw so many sources, all where None, from the output of `generate --json`; an item's id is its line."""
    fit = []
    for number, line in enumerate(read_lines(outputs), 1):
        try:
            record = json.loads(line)
            source, hypotheses = record["source"], record["hypotheses"]
            best = hypotheses[0] if hypotheses else {"levels": [], "text": ""}
            contexts, text = tuple(best["levels"][1:-1]), str(best["text"])
        except (ValueError, KeyError, TypeError, IndexError):
            what = "this is no record with levels"
            raise InputError(what, Place(str(outputs), number), "give what `generate --json` wrote") from None
        if contexts:
            fit.append(ControlItem(str(number), str(source), contexts, text))
    if not fit:
        raise InputError("no output has contexts to edit", Place(str(outputs)), "give those of a guided model")
    drawn = fit if sample is None or sample >= len(fit) else random.Random(seed).sample(fit, sample)
    return sorted(drawn, key=lambda item: int(item.id))


def read_task(path: Path) -> list[ControlItem]:
    """The items of a task file: `{"id": ..., "source": ..., "contexts": [...], "output": ...}` a line."""
    return read_by_id(path, _item, _REMEDY)


def _item(values: Any, number: str, place: Place) -> ControlItem:
    try:
        contexts = tuple(values["contexts"])
        item = ControlItem(str(values.get("id", number)), values["source"], contexts, str(values.get("output", "")))
        good = isinstance(item.source, str) and contexts and all(isinstance(context, str) for context in contexts)
    except (KeyError, TypeError, AttributeError):
        good = False
    if not good:
        raise InputError("this is no item of a control task", place, _REMEDY)
    return item


class ControlStore(AnswerStore):
    """Edits and judgements in one SQLite file, which may hold votes as well."""

    tables = _TABLES

    @property
    def is_empty(self) -> bool:
        """Whether no edit was ever stored in the file."""
        return not (self.has_table("edits") and self.base.execute("SELECT 1 FROM edits LIMIT 1").fetchone())

    @property
    def has_votes(self) -> bool:
        """Whether the file also holds votes of a blind comparison."""
        return self.has_table("votes") and bool(self.base.execute("SELECT 1 FROM votes LIMIT 1").fetchone())

    def add_edit(self, annotator: str, item: ControlItem, before: str, after: str, output: str) -> int:
        """Store an edit and what the model made of it; its number."""
        inserted = self.base.execute(
            "INSERT INTO edits (time, annotator, item, source, before, after, output) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (now(), annotator, item.id, item.source, before, after, output),
        )
        assert inserted.lastrowid is not None
        return inserted.lastrowid

    def add_judgement(self, annotator: str, edit: int, followed: bool) -> None:
        """Store what an annotator says of an edit."""
        statement = "INSERT INTO judgements (time, annotator, edit, followed) VALUES (?, ?, ?, ?)"
        self.base.execute(statement, (now(), annotator, edit, int(followed)))

    def edits(self) -> list[dict[str, Any]]:
        """All edits as they came."""
        rows = self.base.execute("SELECT number, time, annotator, item, source, before, after, output FROM edits")
        return [dict(zip(EDIT_COLUMNS, row, strict=True)) for row in rows]

    def judgements(self) -> Iterator[tuple[str, int, bool]]:
        """The last judgement of each annotator and edit."""
        rows = self.base.execute("SELECT annotator, edit, followed FROM judgements ORDER BY number")
        last = {(annotator, edit): bool(followed) for annotator, edit, followed in rows}
        return ((annotator, edit, followed) for (annotator, edit), followed in last.items())


class ControlTask(Experiment[ControlItem, ControlStore]):
    """The next thing for an annotator to do."""

    def next(self, annotator: str) -> dict[str, Any]:
        """Her own edit that waits for her judgement, else a source to edit, else another's edit to judge."""
        edits = self.store.edits()
        judged = {edit for who, edit, _ in self.store.judgements() if who == annotator}
        own = [edit for edit in edits if edit["annotator"] == annotator]
        done = {edit["item"] for edit in own if edit["edit"] in judged}
        counts = {"done": len(done & self.items.keys()), "total": len(self.items)}
        waiting = [edit for edit in own if edit["edit"] not in judged]
        if waiting:
            return {"task": "judge", **_shown(waiting[-1]), "own": True, **counts}
        for item in self.in_order_of(annotator):
            if item.id not in done:
                return {"task": "edit", **asdict(item), "contexts": list(item.contexts), **counts}
        others = [edit for edit in edits if edit["annotator"] != annotator and edit["edit"] not in judged]
        if others:
            return {"task": "judge", **_shown(others[0]), "own": False, **counts}
        return {"task": None, **counts}

    def check_edit(self, item_id: str, before: str, after: str) -> ControlItem:
        """The item of an edit; an error where nothing was edited."""
        item = self.find(item_id)
        if before not in item.contexts:
            raise ConfigError("this is none of the item's contexts", remedy="edit one of them")
        if before.split() == after.split():
            raise ConfigError("the context is as it was", remedy="change it")
        return item

    def judge(self, annotator: str, edit: int, followed: bool) -> dict[str, Any]:
        """Store a judgement; it is on disk when this returns."""
        if edit not in {stored["edit"] for stored in self.store.edits()}:
            raise ConfigError("there is no such edit", remedy="ask for the next one")
        self.store.add_judgement(annotator, edit, followed)
        return {"stored": True}


def _shown(edit: dict[str, Any]) -> dict[str, Any]:
    return {name: edit[name] for name in ("edit", "item", "source", "before", "after", "output")}


@dataclass(frozen=True)
class Success:
    """How often control was followed, in the judgement of those who asked for it, as the paper counts it."""

    annotator: str
    """`all`, or one of them."""
    edits: int
    followed: int
    rate: float
    low: float
    high: float
    """Wilson's interval of 95%."""
    alpha: float | None = None
    """Krippendorff's over all judgements of the same edits; None where no edit has two."""
    judges: int = 0
    """The most judgements that an edit has."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def success(edits: Iterable[dict[str, Any]], judgements: Iterable[tuple[str, int, bool]]) -> list[Success]:
    """The success rate over all annotators, then of each; edits that their author has not judged do not count."""
    authors = {edit["edit"]: str(edit["annotator"]) for edit in edits}
    own: dict[str, list[bool]] = {}
    by_edit: dict[int, list[bool]] = {}
    for annotator, edit, followed in judgements:
        by_edit.setdefault(edit, []).append(followed)
        if authors.get(edit) == annotator:
            own.setdefault(annotator, []).append(followed)
    if not own:
        return []
    every = [followed for judged in own.values() for followed in judged]
    alpha, judges = krippendorff(by_edit.values()), max(map(len, by_edit.values()))
    wins, share = sum(every), sum(every) / len(every)
    rows = [Success("all", len(every), wins, share, *wilson(wins, len(every)), alpha, judges)]
    for annotator, judged in sorted(own.items()):
        count = sum(judged)
        rows.append(Success(annotator, len(judged), count, count / len(judged), *wilson(count, len(judged))))
    return rows
