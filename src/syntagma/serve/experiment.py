"""Common ground of experiments with people: items by their ids, answers that are never lost, a person's own order.

Answers are rows that are only ever added to a SQLite file.  They are on disk before the person is told: WAL mode with
full synchronisation.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from syntagma.errors import ConfigError, InputError, Place
from syntagma.files import read_lines


class HasId(Protocol):
    """An item of an experiment."""

    @property
    def id(self) -> str:
        """Its name, which no other item of the file has."""


Found = TypeVar("Found", bound=HasId)
Store = TypeVar("Store", bound="AnswerStore")


def read_by_id(path: Path, read: Callable[[Any, str, Place], Found], remedy: str) -> list[Found]:
    """The items of a file of JSON lines; `read` is given the values of a line, its number and its place."""
    items: dict[str, Found] = {}
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        place = Place(str(path), number)
        try:
            values = json.loads(line)
        except ValueError:
            raise InputError("this is not JSON", place, remedy) from None
        item = read(values, str(number), place)
        if item.id in items:
            raise InputError(f"the id {item.id!r} comes twice", place, "give each item its own")
        items[item.id] = item
    if not items:
        raise InputError("it has no items", Place(str(path)), remedy)
    return list(items.values())


class Experiment(Generic[Found, Store]):
    """The items of an experiment and the file of its answers.  Its calls wait for the disk: not for the event loop."""

    def __init__(self, items: Sequence[Found], store: Store) -> None:
        self.items = {item.id: item for item in items}
        self.store = store

    def find(self, item_id: str) -> Found:
        """The item of that id."""
        if item_id not in self.items:
            raise ConfigError("there is no such item", remedy="ask for the next one")
        return self.items[item_id]

    def in_order_of(self, *person: str) -> list[Found]:
        """All items in a person's own order."""
        return sorted(self.items.values(), key=lambda item: chance(*person, item.id))


class AnswerStore:
    """Tables of answers in a SQLite file, which may hold those of another experiment as well."""

    tables: ClassVar[str]
    """The statements that make them where they are not there."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        if not create and not path.is_file():
            raise InputError("there is no such file", Place(str(path)), "give the file of `syntagma serve --votes`")
        try:
            self.base = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
            if create:
                self.base.execute("PRAGMA journal_mode=WAL")
                self.base.execute("PRAGMA synchronous=FULL")
                self.base.executescript(self.tables)
            else:
                self.base.execute("SELECT 1 FROM sqlite_master")
        except sqlite3.Error as error:
            what = f"it cannot be used as a file of votes ({error})"
            raise InputError(what, Place(str(path)), "check the path, or give another") from None

    def has_table(self, name: str) -> bool:
        """Whether the file has a table of that name."""
        return bool(self.base.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone())

    def close(self) -> None:
        """Close the file."""
        self.base.close()


def now() -> str:
    """The time of an answer."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def chance(*parts: str) -> int:
    """A number that looks drawn at random, and is always the same for the same parts."""
    return int.from_bytes(hashlib.sha256(json.dumps(parts).encode()).digest()[:8], "big")
