"""Frozen dataclasses to and from JSON, unknown keys refused."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from syntagma.errors import ConfigError, Place
from syntagma.settings import read_mapping, typed

T = TypeVar("T")


def from_dict(kind: type[T], values: Mapping[str, Any], where: str = "") -> T:
    """A dataclass from plain values; nested dataclasses are filled from nested mappings."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(values) - names)
    place = Place(where or None)
    if unknown:
        what = f"unknown settings: {', '.join(unknown)}"
        raise ConfigError(what, place, f"the settings are: {', '.join(sorted(names))}")
    hints = get_type_hints(kind)
    filled: dict[str, Any] = {}
    for name, value in values.items():
        if is_dataclass(hints[name]) and isinstance(value, Mapping):
            value = from_dict(hints[name], value, where)
        else:
            value = typed(value, hints[name], name)
        filled[name] = value
    try:
        return kind(**filled)
    except TypeError as error:
        raise ConfigError(f"settings are missing ({error})", place, "give a whole configuration") from None


def from_settings(kind: type[T], given: Mapping[str, Any], settings: Iterable[str]) -> T:
    """A dataclass from values and `key=value` words; a value is JSON or else a string, `a.b=1` reaches a nested one."""
    values: dict[str, Any] = dict(given)
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key:
            raise ConfigError(f"{setting!r} is no setting", remedy="write it as key=value")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        *outer, last = key.split(".")
        inner = values
        for name in outer:
            inner = inner.setdefault(name, {})
        inner[last] = value
    return from_dict(kind, values)


def to_dict(config: Any) -> dict[str, Any]:
    """A dataclass as plain values."""
    return asdict(config)


def read_config(kind: type[T], path: str | Path) -> T:
    """A dataclass from a JSON file."""
    return from_dict(kind, read_mapping(path), str(path))
