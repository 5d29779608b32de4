"""Texts that carry their own steering: a template, an exemplar, a start or words for each line of a file.

>>> SteeredText.parse('{"source": "He left.", "template": "(S (NP) (VP))", "must": "gone"}')
SteeredText(source='He left.', template='(S (NP) (VP))', must=('gone',))
>>> SteeredText("He left.").under({"exemplar": "Did he?", "control": "hard"}).steering()
{'exemplar': 'Did he?', 'control': 'hard'}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from syntagma.errors import ConfigError, InputError, Place, SyntagmaError
from syntagma.settings import Settings

Control = Literal["soft", "hard"]

_SHAPES = ("template", "exemplar", "start")
"""The wishes that decide the shape of an output: one of them at most."""


@dataclass(frozen=True)
class SteeredText(Settings):
    """A source, and what is asked for it alone; the rest are the arguments of `Generator.steering`."""

    source: str
    """The text."""
    template: str | None = None
    """The tree's shape, such as (S (NP) (VP *))."""
    exemplar: str | None = None
    """A sentence whose shape to follow."""
    exemplar_depth: int | None = None
    """How deep the exemplar's shape counts."""
    control: Control | None = None
    """Favour the template's shape (soft, the default), or guarantee it (hard)."""
    start: str | None = None
    """A context to grow from, such as <NP> <VP> , right ?"""
    must: tuple[str, ...] = ()
    """Words that must appear."""
    must_not: tuple[str, ...] = ()
    """Words that must not appear."""

    @staticmethod
    def parse(line: str) -> SteeredText:
        """The text of a JSON line; a single word may stand for a list of one."""
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            raise InputError(
                "this is not JSON", remedy='write an object such as {"source": "He left.", "must": ["gone"]}'
            ) from None
        if not isinstance(values, dict) or not isinstance(values.get("source"), str):
            raise InputError("this line has no text", remedy='give one as "source" of a JSON object')
        values = {name: value for name, value in values.items() if value is not None}
        for name in ("must", "must_not"):
            if isinstance(values.get(name), str):
                values[name] = [values[name]]
        return SteeredText.from_dict(values)

    def under(self, general: Mapping[str, Any]) -> SteeredText:
        """The same with what it leaves open as `general` has it; a shape of its own replaces a general one."""
        given = self.steering()
        shaped = any(name in given for name in _SHAPES)
        open_ = {name: value for name, value in general.items() if name not in given and value}
        return replace(self, **{name: value for name, value in open_.items() if not (shaped and name in _SHAPES)})

    def steering(self) -> dict[str, Any]:
        """The wishes of a line, as keyword arguments."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "source"}
        return {name: value for name, value in values.items() if value}

    def __repr__(self) -> str:
        asked = "".join(f", {name}={value!r}" for name, value in self.steering().items())
        return f"SteeredText(source={self.source!r}{asked})"


Text = str | SteeredText | SyntagmaError
"""A text, one with its own steering, or what was wrong with a line."""


def read_json_lines(lines: Iterable[str | SyntagmaError], general: Mapping[str, Any]) -> Iterator[Text]:
    """The texts of JSON lines, an error in the place of each that cannot be read."""
    for line in lines:
        try:
            yield line if isinstance(line, SyntagmaError) else SteeredText.parse(line).under(general)
        except SyntagmaError as error:
            yield error


def pair_lines(
    lines: Iterable[str | SyntagmaError],
    name: Literal["template", "exemplar"],
    steering: Iterable[str | SyntagmaError],
    general: Mapping[str, Any],
    file: str,
) -> Iterator[Text]:
    """Each text with the template or exemplar of the same line of a `file`; an empty line asks for none."""
    following = iter(steering)
    number = 0
    for number, line in enumerate(lines, 1):
        asked = next(following, None)
        if asked is None:
            raise _uneven(file, number - 1, "more")
        if isinstance(line, SyntagmaError) or isinstance(asked, SyntagmaError):
            yield line if isinstance(line, SyntagmaError) else asked
        elif asked.strip():
            yield SteeredText.from_dict({"source": line, name: asked}).under(general)
        else:
            yield SteeredText(line).under(general)
    if next(following, None) is not None:
        raise _uneven(file, number + 1, "fewer")


def _uneven(file: str, lines: int, more: str) -> ConfigError:
    what = f"it has {'at least ' if more == 'fewer' else ''}{lines} lines and there are {more} texts"
    return ConfigError(what, Place(file), "give a line for each text, an empty one for a text without")
