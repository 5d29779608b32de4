"""Settings as frozen dataclasses that round-trip through JSON and YAML and refuse what they do not know.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Shape(Settings):
...     width: int = 8
...     norm: Literal["pre", "post"] = "pre"
>>> Shape.from_dict({"width": 16}).changed({"norm": "post"})
Shape(width=16, norm='post')
>>> Shape.from_dict({"widht": 16})
Traceback (most recent call last):
    ...
syntagma.errors.ConfigError: 'widht' is not a setting of Shape; did you mean 'width'?
"""

from __future__ import annotations

import difflib
import json
import types
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Literal, Self, Union, get_args, get_origin, get_type_hints

from syntagma.aliases import renamed
from syntagma.errors import ConfigError, Place
from syntagma.files import atomic_write


class Settings:
    """Base of every configuration: subclasses are frozen dataclasses with typed fields."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The settings with `values`, also under their former names, and defaults for the rest.

        An unknown or ill-typed one is a `ConfigError`.
        """
        if not isinstance(values, Mapping):
            raise ConfigError(f"{shown(values)} are no settings of {cls.__name__}", remedy="give a mapping of them")
        values = renamed(cls.__name__, values)
        hints = get_type_hints(cls)
        known = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        for name in values:
            if name not in known:
                near = difflib.get_close_matches(str(name), known, n=1)
                remedy = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(known))}"
                raise ConfigError(f"{shown(name)} is not a setting of {cls.__name__}", remedy=remedy)
        try:
            return cls(**{name: typed(value, hints[name], name) for name, value in values.items()})
        except TypeError as error:
            raise ConfigError(f"a setting of {cls.__name__} is missing ({error})", remedy="give it") from None
        except ArithmeticError:
            what = f"some numbers among the settings of {cls.__name__} make no sense together"
            raise ConfigError(what, remedy="give others") from None

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values."""
        return {name: _plain(value) for name, value in asdict(self).items()}  # type: ignore[call-overload]

    def changed(self, values: Mapping[str, Any]) -> Self:
        """The settings with some changed, checked like all; a former name is read with a warning on stderr."""
        return type(self).from_dict(self.to_dict() | renamed(type(self).__name__, values, warn=True))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The settings in a JSON or YAML file."""
        return cls.from_dict(read_mapping(path))

    def save(self, path: str | Path) -> None:
        """Write the settings as JSON."""
        with atomic_write(path) as stream:
            json.dump(self.to_dict(), stream, indent=2, ensure_ascii=False)
            stream.write("\n")


def read_mapping(path: str | Path) -> dict[str, Any]:
    """The mapping in a JSON or YAML file (by its ending)."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        if str(path).endswith((".yaml", ".yml")):
            import yaml

            try:
                values = yaml.safe_load(text)
            except yaml.YAMLError as error:
                raise ConfigError(
                    f"this is not YAML ({error})".replace("\n", " "), Place(str(path)), "mend it"
                ) from None
        else:
            values = json.loads(text)
    except OSError as error:
        raise ConfigError(f"it cannot be opened ({error.strerror})", Place(str(path)), "check the path") from None
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"this is not JSON: {error.msg}", Place(str(path), error.lineno, error.colno), "mend it"
        ) from None
    except (ValueError, RecursionError) as error:  # not UTF-8, a number of thousands of digits, brackets without end
        what = "it is nested too deeply" if isinstance(error, RecursionError) else f"this cannot be read ({error})"
        raise ConfigError(what, Place(str(path)), "mend it") from None
    if not isinstance(values, dict):
        raise ConfigError("this is not a mapping of settings to values", Place(str(path)), "write key: value lines")
    return values


def parse_overrides(pairs: list[str]) -> dict[str, Any]:
    """`["width=256", "norm=pre"]` as a mapping; values are read as JSON where they can be, else as text."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise ConfigError(f"{pair!r} is not key=value", remedy="write it like width=256")
        try:
            values[name] = json.loads(text)
        except json.JSONDecodeError:
            values[name] = text
    return values


def shown(value: Any) -> str:
    """A value as a message shows it, which need not be all of it.

    >>> shown("width"), len(shown("x" * 1000))
    ("'width'", 83)
    """
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # more digits, or deeper, than can be written
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:80] + "..."


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def typed(value: Any, hint: Any, name: str) -> Any:
    """`value` as `hint` asks, or a `ConfigError`; an int serves as a float, a list as a tuple."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        if value in inner:
            return value
        raise ConfigError(f"{name!r} cannot be {shown(value)}", remedy=f"choose one of {', '.join(map(repr, inner))}")
    if origin in (Union, types.UnionType):
        for choice in inner:
            try:
                return typed(value, choice, name)
            except ConfigError:
                continue
        raise ConfigError(f"{name!r} cannot be {shown(value)}", remedy=f"give {hint}")
    if origin is tuple:
        if isinstance(value, list | tuple):
            return tuple(typed(item, inner[0], name) for item in value)
    elif origin is dict:
        if isinstance(value, Mapping):
            return {typed(key, inner[0], name): typed(item, inner[1], name) for key, item in value.items()}
    elif hint is float and isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**1023:
        return float(value)
    elif (hint is type(None) and value is None) or (type(value) is hint):
        return value
    wanted = getattr(hint, "__name__", str(hint))
    raise ConfigError(f"{name!r} cannot be {shown(value)}", remedy=f"give a value of type {wanted}")
