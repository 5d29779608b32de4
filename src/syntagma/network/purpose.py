"""The purpose of a model: its task and its languages, which its config.json names under `about`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from syntagma.errors import ConfigError
from syntagma.hub import bundled, find_folder
from syntagma.settings import read_mapping
from syntagma.text.language import guess_language

TASKS = ("paraphrase", "translate")

_NAME = re.compile(r"(?:^|-)(paraphrase|translate)-([a-z]{2,3})(?:-([a-z]{2,3}))?(?:-|$)")
_CODE = re.compile(r"[a-z]{2,3}")


@dataclass(frozen=True)
class Purpose:
    """A task, and the codes of the languages that a model reads and writes; None where nobody said."""

    task: str | None = None
    source_language: str | None = None
    target_language: str | None = None

    @staticmethod
    def of(about: Mapping[str, Any], name: str = "") -> Purpose:
        """Read the purpose from a folder's `about`, or, of an older one that names no language, from its name.

        >>> Purpose.of({"task": "translate", "source_language": "de", "target_language": "en"})
        Purpose(task='translate', source_language='de', target_language='en')
        >>> Purpose.of({}, "paraphrase-en")
        Purpose(task='paraphrase', source_language='en', target_language='en')
        """
        task, *codes = (about.get(key) for key in ("task", "source_language", "target_language"))
        task = task if task in TASKS else None
        source, target = (code if isinstance(code, str) and _CODE.fullmatch(code) else None for code in codes)
        named = _NAME.search(name)
        if named is not None and not (source or target):
            task, source, target = task or named[1], named[2], named[3] or named[2]
        return Purpose(task, source, target)

    @staticmethod
    def guess(sources: Iterable[str], targets: Iterable[str]) -> Purpose:
        """Guess the purpose of pairs by their languages.

        >>> Purpose.guess(["Ich habe das Buch nicht gelesen."], ["I have not read the book."]).task
        'translate'
        """
        source, target = guess_language(sources), guess_language(targets)
        known = source is not None and target is not None
        return Purpose(TASKS[source != target] if known else None, source, target)

    def checked(self) -> Purpose:
        """The same, if it makes sense; else a `ConfigError`."""
        if self.task is not None and self.task not in TASKS:
            raise ConfigError(f"{self.task!r} is no task", remedy=f"give {' or '.join(TASKS)}")
        for code in (self.source_language, self.target_language):
            if code is not None and not _CODE.fullmatch(code):
                raise ConfigError(f"{code!r} is no code of a language", remedy="give one such as en, de or zh")
        return self

    def to_dict(self) -> dict[str, str]:
        """The fields that are known, for config.json."""
        values = {"task": self.task, "source_language": self.source_language, "target_language": self.target_language}
        return {name: value for name, value in values.items() if value is not None}


def bundled_purposes(task: str) -> dict[str, Purpose]:
    """The bundled models for a task, by their names.

    >>> bundled_purposes("paraphrase")["paraphrase-en"].source_language
    'en'
    """
    purposes = {}
    for name in bundled("model"):
        values = read_mapping(find_folder(name, "model", "model") / "config.json")
        purposes[name] = Purpose.of(values.get("about", {}), name)
    return {name: purpose for name, purpose in purposes.items() if purpose.task == task}
