"""Blind comparison: two systems' outputs side by side, and votes that are never lost.

The last vote of a voter, item and question counts.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syntagma.errors import ConfigError, InputError, Place
from syntagma.serve.experiment import AnswerStore, Experiment, chance, now, read_by_id
from syntagma.serve.questions import QUESTIONS, Question

_TABLES = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS votes (
    number INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, voter TEXT NOT NULL, item TEXT NOT NULL,
    question TEXT NOT NULL, answer TEXT NOT NULL, left TEXT NOT NULL, right TEXT NOT NULL, winner TEXT
);
CREATE INDEX IF NOT EXISTS votes_of ON votes (voter, item, question, number);
"""


@dataclass(frozen=True)
class Item:
    """A source with the outputs of two systems."""

    id: str
    source: str
    outputs: Mapping[str, tuple[str, ...]]

    @property
    def several(self) -> bool:
        """Whether both systems have several lines."""
        return all(len(texts) > 1 for texts in self.outputs.values())


def read_items(path: Path) -> list[Item]:
    """The items of a file of JSON lines: `{"source": ..., "outputs": {"A": ..., "B": ...}, "id": ...}`."""
    return read_by_id(path, _item, "write one JSON object a line")


def _item(values: Any, number: str, place: Place) -> Item:
    good = isinstance(values, dict) and isinstance(values.get("source"), str)
    outputs = values.get("outputs") if good else None
    if not isinstance(outputs, dict) or len(outputs) != 2:
        what = "an item has a source and the outputs of two systems"
        raise InputError(what, place, 'write {"source": "...", "outputs": {"A": "...", "B": "..."}}')
    by_system: dict[str, tuple[str, ...]] = {}
    for system, texts in outputs.items():
        by_system[system] = (texts,) if isinstance(texts, str) else tuple(texts) if isinstance(texts, list) else ()
        if not by_system[system] or not all(isinstance(text, str) for text in by_system[system]):
            raise InputError(f"the outputs of {system!r} are no texts", place, "give a text or a list of texts")
    name = values.get("id", number)
    if not isinstance(name, str | int) or not 1 <= len(str(name)) <= 128:
        raise InputError("an id is a text of at most 128 characters", place, "give another, or none")
    return Item(str(name), values["source"], by_system)


class VoteStore(AnswerStore):
    """The votes in one SQLite file."""

    tables = _TABLES

    def __init__(self, path: Path, *, create: bool = True) -> None:
        super().__init__(path, create=create)
        if not self.has_table("votes"):
            self.close()
            raise InputError("it holds no votes", Place(str(path)), "give the file of `syntagma serve --votes`")

    @property
    def salt(self) -> str:
        """The salt that decides who is left, made once for a file."""
        self.base.execute("INSERT OR IGNORE INTO settings VALUES ('salt', ?)", (secrets.token_hex(16),))
        return str(self.base.execute("SELECT value FROM settings WHERE name = 'salt'").fetchone()[0])

    def add(self, voter: str, item: str, sides: tuple[str, str], answers: Mapping[str, str]) -> None:
        """Store a voter's answers; those that are stored already are not stored again."""
        time = now()
        winner = {"left": sides[0], "right": sides[1], "tie": None}
        known = {row[4]: row[5] for row in self.rows(voter, item)}
        fresh = [
            (time, voter, item, question, answer, *sides, winner[answer])
            for question, answer in answers.items()
            if known.get(question) != answer
        ]
        self.base.execute("BEGIN IMMEDIATE")
        try:
            statement = "INSERT INTO votes (time, voter, item, question, answer, left, right, winner)"
            self.base.executemany(f"{statement} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", fresh)
            self.base.execute("COMMIT")
        except BaseException:
            self.base.execute("ROLLBACK")
            raise

    def rows(self, voter: str | None = None, item: str | None = None) -> Iterator[tuple[Any, ...]]:
        """All votes as they came: number, time, voter, item, question, answer, left, right, winner."""
        yield from self.base.execute(
            "SELECT number, time, voter, item, question, answer, left, right, winner FROM votes "
            "WHERE (?1 IS NULL OR voter = ?1) AND (?2 IS NULL OR item = ?2) ORDER BY number",
            (voter, item),
        )

    def answers(self, voter: str) -> dict[str, dict[str, str]]:
        """The answers of a voter, by item and question, in the order of their last votes."""
        by_item: dict[str, dict[str, str]] = {}
        for _, _, _, item, question, answer, *_ in self.rows(voter):
            by_item[item] = {**by_item.pop(item, {}), question: answer}
        return by_item


class VotingSession(Experiment[Item, VoteStore]):
    """The next question for a voter, and the file of votes."""

    def __init__(
        self, items: Sequence[Item], store: VoteStore, questions: Sequence[Question] = QUESTIONS, *, ties: bool = True
    ) -> None:
        super().__init__(items, store)
        self.questions, self.ties = tuple(questions), ties
        self._salt = store.salt
        if all(question.several for question in questions) and not all(item.several for item in items):
            what = "nothing is asked about items with a single line"
            raise ConfigError(what, remedy="give a question that is not about several lines")

    def next(self, voter: str, again: str | None = None) -> dict[str, Any]:
        """The voter's next item, or the one to see again, the systems unnamed."""
        answers = self.store.answers(voter)
        open_items = [item for item in self.in_order_of(self._salt, voter) if not self._complete(item, answers)]
        item = self.find(again) if again is not None else open_items[0] if open_items else None
        done = [
            item_id for item_id in answers if item_id in self.items and self._complete(self.items[item_id], answers)
        ]
        earlier = done[: done.index(item.id)] if item is not None and item.id in done else done
        progress: dict[str, Any] = {
            "item": None, "done": len(self.items) - len(open_items), "total": len(self.items), "ties": self.ties,
            "before": earlier[-1] if earlier else None,
        }  # fmt: skip
        if item is None:
            return progress
        left, right = self.sides(voter, item)
        return progress | {
            "item": item.id, "source": item.source, "left": list(item.outputs[left]),
            "right": list(item.outputs[right]), "answers": answers.get(item.id, {}),
            "questions": [question.to_dict() for question in self.asked(item)],
        }  # fmt: skip

    def vote(self, voter: str, item_id: str, answers: Mapping[str, str]) -> dict[str, Any]:
        """Store a vote; it is on disk when this returns."""
        item = self.find(item_id)
        names = [question.name for question in self.asked(item)]
        for question, answer in answers.items():
            if question not in names:
                raise ConfigError("this is no question about this item", remedy=f"answer {', '.join(names)}")
            if answer == "tie" and not self.ties:
                raise ConfigError("one of the two must be chosen", remedy="answer left or right")
        self.store.add(voter, item.id, self.sides(voter, item), answers)
        known = self.store.answers(voter)
        return {"stored": True, "done": sum(self._complete(item, known) for item in self.items.values())}

    def asked(self, item: Item) -> list[Question]:
        """The questions about an item: those about several lines only where there are several."""
        return [question for question in self.questions if item.several or not question.several]

    def sides(self, voter: str, item: Item) -> tuple[str, str]:
        """The systems on the left and on the right: by chance, but always the same for a voter and an item."""
        first, second = sorted(item.outputs)
        return (first, second) if chance(self._salt, voter, item.id, "side") % 2 else (second, first)

    def _complete(self, item: Item, answers: Mapping[str, Mapping[str, str]]) -> bool:
        return answers.get(item.id, {}).keys() >= {question.name for question in self.asked(item)}
