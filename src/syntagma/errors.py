"""The one family of errors that a user of Syntagma meets.

An error says what was wrong, where, and what to do about it, in one sentence.  The command line prints that
sentence and exits with 1; a library user catches `SyntagmaError`.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was found: a file, a line and a column, each as far as it is known (both count from 1)."""

    file: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.file or ""]
        if self.line is not None:
            parts.append(f"line {self.line}")
        if self.column is not None:
            parts.append(f"column {self.column}")
        return ", ".join(part for part in parts if part)


class SyntagmaError(Exception):
    """Base of every error that is the input's fault, not the program's.

    >>> str(SyntagmaError("the file is empty", Place("a.txt"), "give a file with one tree a line"))
    'a.txt: the file is empty; give a file with one tree a line'
    """

    def __init__(self, what: str, place: Place | None = None, remedy: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.place = place or Place()
        self.remedy = remedy

    def __str__(self) -> str:
        where = str(self.place)
        text = f"{where}: {self.what}" if where else self.what
        return f"{text}; {self.remedy}" if self.remedy else text

    def at(self, *, file: str | None = None, line: int | None = None) -> SyntagmaError:
        """The same error with the file and line that only the caller knows filled in."""
        self.place = Place(file or self.place.file, line or self.place.line, self.place.column)
        return self

    def __reduce__(self) -> tuple[object, ...]:  # errors cross process borders whole
        return (_rebuild, (type(self), self.what, self.place, self.remedy, self.__dict__))


def _rebuild(
    kind: type[SyntagmaError], what: str, place: Place, remedy: str | None, extra: dict[str, object]
) -> SyntagmaError:
    error = kind.__new__(kind)
    SyntagmaError.__init__(error, what, place, remedy)
    error.__dict__.update(extra)
    return error


class BracketError(SyntagmaError):
    """A bracketed tree that cannot be read."""


class LabelError(SyntagmaError):
    """A constituent label that is not allowed, or not one of the kept ones."""


class BackboneError(SyntagmaError):
    """A pretrained model that cannot be found or used."""


class InputError(SyntagmaError):
    """A file or line that cannot be read as text."""


class ConfigError(SyntagmaError):
    """A setting that is unknown, ill-typed or contradicts another."""


class MissingExtra(SyntagmaError):
    """An optional package that a command needs is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package}, which is not installed",
            remedy=f"install it with: pip install 'syntagma[{extra}]'",
        )


_TRAINING = ("torch", "transformers", "tokenizers", "pyarrow", "onnx")
"""Packages that only the extra `train` brings."""


def explain(error: BaseException) -> SyntagmaError | None:
    """Turn an error of the system into one of this family; None for anything else.

    >>> str(explain(OSError(errno.ENOSPC, "No space left on device", "run/log.jsonl")))
    'run/log.jsonl: no space left on device; make room and give the same command again'
    >>> explain(KeyError("a bug")) is None
    True
    """
    if isinstance(error, ModuleNotFoundError):
        return MissingExtra(error.name, "train", "this command") if error.name in _TRAINING else None
    if isinstance(error, UnicodeEncodeError):
        character = error.object[error.start : error.start + 1]
        if error.encoding.lower().replace("-", "") == "utf8":
            what = "a name or text among the arguments is not UTF-8"
            return InputError(what, remedy="give it as UTF-8, or in a file")
        what = f"the output takes {error.encoding} only, and {character!r} is not in it"
        return InputError(what, remedy="set PYTHONIOENCODING=utf-8")
    if is_out_of_memory(error):
        return SyntagmaError(
            "there is not enough memory", remedy="give shorter texts, a smaller batch or fewer workers"
        )
    if isinstance(error, RecursionError):
        return SyntagmaError("something is nested too deeply", remedy="look at the input that was read last")
    if not isinstance(error, OSError) or error.errno is None:
        return None
    place = Place(None if error.filename is None else _text(error.filename))
    what = (error.strerror or str(error)).lower()
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return InputError(what, place, "make room and give the same command again" if full else "check the path")


_ALLOCATION = ("can't allocate memory", "out of memory", "failed to allocate memory", "bad allocation", "bad_alloc")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory has run out, be it a device's; torch and ONNX Runtime say so in words only.

    >>> is_out_of_memory(RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")), is_out_of_memory(KeyError(1))
    (True, False)
    """
    text = str(error).lower() if isinstance(error, Exception) and not isinstance(error, OSError | SyntagmaError) else ""
    return isinstance(error, MemoryError) or any(phrase in text for phrase in _ALLOCATION)


def _text(name: object) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
