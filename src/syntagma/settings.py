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

A field made by `setting` carries its bounds:

>>> @dataclass(frozen=True)
... class Beam(Settings):
...     beam: int = setting(5, ge=1)
>>> Beam(beam=0)
Traceback (most recent call last):
    ...
syntagma.errors.ConfigError: 'beam' cannot be 0; give a number of at least 1
"""

from __future__ import annotations

import ast
import difflib
import functools
import inspect
import json
import math
import re
import textwrap
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, asdict, field, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, Union, get_args, get_origin, get_type_hints

from syntagma.aliases import renamed
from syntagma.errors import ConfigError, Place
from syntagma.files import atomic_write


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    """The types of a class's fields; a service asks for them with every request."""
    return get_type_hints(kind)


def setting(
    default: Any = MISSING,
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
) -> Any:
    """A field of `Settings` with bounds; one without a default must be given."""
    return field(default=default, metadata={"bounds": NumberRange(ge, gt, le, lt)})


class NumberRange(NamedTuple):
    """The range of a setting: at least, above, at most, below."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None

    def hold(self, value: float) -> bool:
        """Whether a number is in the range."""
        return (
            (self.ge is None or value >= self.ge)
            and (self.gt is None or value > self.gt)
            and (self.le is None or value <= self.le)
            and (self.lt is None or value < self.lt)
        )

    def __str__(self) -> str:
        """The bounds in words.

        >>> [str(bounds) for bounds in (NumberRange(ge=1), NumberRange(ge=0, lt=1), NumberRange(gt=0, le=1))]
        ['of at least 1', 'from 0 up to 1', 'above 0, at most 1']
        """
        low = None if self.ge is None else f"{self.ge:g}"
        if low is not None and self.le is not None:
            return f"from {low} to {self.le:g}"
        if low is not None and self.lt is not None:
            return f"from {low} up to {self.lt:g}"
        words = {"of at least": self.ge, "above": self.gt, "at most": self.le, "below": self.lt}
        parts = [f"{word} {value:g}" for word, value in words.items() if value is not None and math.isfinite(value)]
        return ", ".join(parts)


_FREE = NumberRange()


class Settings:
    """Base of every configuration: subclasses are frozen dataclasses with typed fields."""

    def __post_init__(self) -> None:
        for item in _fields(type(self)):
            bounds, value = item.metadata.get("bounds", _FREE), getattr(self, item.name)
            if isinstance(value, int | float) and not bounds.hold(value):
                raise ConfigError(f"{item.name!r} cannot be {value}", remedy=f"give a number {bounds}")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The settings with `values`, also under their former names, and defaults for the rest.

        An unknown or ill-typed one is a `ConfigError`.
        """
        if not isinstance(values, Mapping):
            raise ConfigError(f"{shown(values)} are no settings of {cls.__name__}", remedy="give a mapping of them")
        values = renamed(cls.__name__, values)
        hints = _hints(cls)  # type: ignore[arg-type]
        known = {item.name for item in _fields(cls)}
        for name in values:
            if name not in known:
                raise unknown(name, known, cls.__name__)
        try:
            return cls(**{name: typed(value, hints[name], name) for name, value in values.items()})
        except TypeError as error:
            raise ConfigError(f"a setting of {cls.__name__} is missing ({error})", remedy="give it") from None
        except ArithmeticError:
            what = f"some numbers among the settings of {cls.__name__} make no sense together"
            raise ConfigError(what, remedy="give others") from None

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain JSON values."""
        plain: dict[str, Any] = _plain(asdict(self))  # type: ignore[call-overload]
        return plain

    def changed(self, values: Mapping[str, Any]) -> Self:
        """A copy with some settings changed, checked like all; a former name is read with a warning on stderr."""
        return type(self).from_dict(self.to_dict() | renamed(type(self).__name__, values, warn=True))

    def differences(self, other: Self, apart_from: Collection[str] = ()) -> list[str]:
        """The settings in which `other` differs, for an error message."""
        before, after = self.to_dict(), other.to_dict()
        names = [name for name in before if name not in apart_from and before[name] != after[name]]
        return [f"{name} was {before[name]}, now {after[name]}" for name in names]

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The settings in a JSON or YAML file."""
        values = read_mapping(path)
        try:
            return cls.from_dict(values)
        except ConfigError as error:
            raise error.at(file=str(path)) from None

    def save(self, path: str | Path) -> None:
        """Write the settings as JSON."""
        with atomic_write(path) as stream:
            json.dump(self.to_dict(), stream, indent=2, ensure_ascii=False)
            stream.write("\n")

    @classmethod
    def read_arguments(cls, arguments: Iterable[str]) -> dict[str, Any]:
        """`key=value` arguments as a mapping for `from_dict`, under present names.

        Text stays text where a setting is one; a list gets a value each time that its name is given; `a.b=1` reaches
        settings inside settings; all else is read as JSON.
        """
        hints = _hints(cls)  # type: ignore[arg-type]
        values: dict[str, Any] = {}
        for name, text in split_arguments(arguments):
            (name, text), *_ = renamed(cls.__name__, {name: _json_or_text(text)}, warn=True).items()
            outer, dot, inner = name.partition(".")
            hint = hints.get(outer)
            if hint is None:
                raise unknown(outer, hints, cls.__name__)
            if dot and isinstance(hint, type) and issubclass(hint, Settings):
                nested = hint.read_arguments([f"{inner}={text if isinstance(text, str) else json.dumps(text)}"])
                values.setdefault(outer, {}).update(nested)
            elif get_origin(hint) is tuple and not isinstance(text, list):
                values.setdefault(outer, []).append(_text(text) if get_args(hint)[0] is str else text)
            elif hint is str or (str in get_args(hint) and text is not None):
                values[outer] = _text(text)
            else:
                values[outer] = text
        return values


def unknown(name: Any, known: Iterable[str], kind: str) -> ConfigError:
    """The error for a setting that does not exist."""
    near = difflib.get_close_matches(str(name), list(known), n=1)
    remedy = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(known))}"
    return ConfigError(f"{shown(name)} is not a setting of {kind}", remedy=remedy)


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


def split_arguments(arguments: Iterable[str]) -> Iterator[tuple[str, str]]:
    """`["width=256", "norm=pre"]` as names and texts."""
    for argument in arguments:
        name, equals, text = argument.partition("=")
        if not equals or not name:
            raise ConfigError(f"{argument!r} is not key=value", remedy="write it like width=256")
        yield name, text


def parse_overrides(arguments: Iterable[str]) -> dict[str, Any]:
    """`["width=256", "norm=pre"]` as a mapping; values are read as JSON where they can be, else as text."""
    return {name: _json_or_text(text) for name, text in split_arguments(arguments)}


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def shown(value: Any) -> str:
    """A value as a message shows it, cut where it is long.

    >>> shown("width"), len(shown("x" * 1000))
    ("'width'", 83)
    """
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # more digits, or deeper, than can be written
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:80] + "..."


def _fields(kind: type[Settings]) -> tuple[Field[Any], ...]:
    return fields(kind)  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


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
        raise ConfigError(f"{name!r} cannot be {shown(value)}", remedy=f"give a value: {kind_of(hint)}")
    if origin is tuple:
        if isinstance(value, list | tuple):
            return tuple(typed(item, inner[0], name) for item in value)
    elif isinstance(hint, type) and issubclass(hint, Settings):
        return value if isinstance(value, hint) else hint.from_dict(value)
    elif origin is dict:
        if isinstance(value, Mapping):
            return {typed(key, inner[0], name): typed(item, inner[1], name) for key, item in value.items()}
    elif hint is float and isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**1023:
        return float(value)
    elif (hint is type(None) and value is None) or (type(value) is hint):
        return value
    raise ConfigError(f"{name!r} cannot be {shown(value)}", remedy=f"give a value: {kind_of(hint)}")


# -- for people


class Description(NamedTuple):
    """A setting as a person reads it."""

    name: str
    kind: str
    default: str
    help: str

    def __str__(self) -> str:
        return f"{self.name} ({self.kind}, {self.default}): {self.help}"


def describe(kind: type[Settings]) -> Iterator[Description]:
    """Every setting of a class, in its order."""
    hints, docs = get_type_hints(kind), _docstrings(kind)
    for item in _fields(kind):
        default = item.default_factory() if item.default_factory is not MISSING else item.default
        shown_default = "must be given" if default is MISSING else _told(default)
        yield Description(item.name, kind_of(hints[item.name]), shown_default, docs.get(item.name, ""))


def _docstrings(kind: type[Settings]) -> dict[str, str]:
    """The first sentence under each field of a class, by the field's name; none where the source is not at hand."""
    try:
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError, SyntaxError):
        return {}
    docs = {}
    for before, after in pairwise(getattr(body, "body", ())):
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and isinstance(after, ast.Expr):
            text = " ".join(str(getattr(after.value, "value", "")).split())
            docs[before.target.id] = re.split(r"(?<=\.) ", text)[0]
    return docs


def _told(value: Any) -> str:
    if value is None or value in ((), {}, ""):
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


_KINDS = {int: "whole number", float: "number", bool: "true or false", str: "text", type(None): "none"}


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def kind_of(hint: Any) -> str:
    """A type in words.

    >>> [kind_of(hint) for hint in (int, float | None, Literal["pre", "post"], tuple[str, ...])]
    ['whole number', 'number or none', 'pre or post', 'list of text']
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _listed(map(str, inner))
    if origin in (Union, types.UnionType):
        return _listed(word for choice in inner for word in kind_of(choice).replace(" or ", ", ").split(", "))
    if origin is tuple:
        return f"list of {kind_of(inner[0])}"
    if origin is dict:
        return "mapping"
    return _KINDS.get(hint, "mapping" if isinstance(hint, type) and issubclass(hint, Settings) else "value")
