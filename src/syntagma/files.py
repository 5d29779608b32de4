"""Lines in and files out, the same way for every command.

Reading streams: a line at a time, whatever its length, from a file (also gzip), or from standard input for `-`.  A
byte-order mark is dropped, Windows line ends are accepted, and bytes that are not UTF-8 are an error with the line and
column.  Writing is whole or not at all: into a temporary name beside the target, renamed when complete.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from syntagma.errors import InputError, Place

STDIN = "-"


def read_lines(source: str | Path) -> Iterator[str]:
    """The lines of a file, or of standard input for `-`, without their ends; the first that is not text is raised."""
    for line in scan_lines(source):
        if isinstance(line, InputError):
            raise line
        yield line


def scan_lines(source: str | Path) -> Iterator[str | InputError]:
    """Like `read_lines`, but a line that is not text comes as an error in its place, so that the rest can go on."""
    name = source_name(source)
    with _open_binary(source) as stream:
        try:
            for number, raw in enumerate(stream, 1):
                if number == 1:
                    raw = raw.removeprefix(b"\xef\xbb\xbf")
                yield _decode(raw, name, number)
        except (gzip.BadGzipFile, EOFError, OSError) as error:
            raise InputError(
                f"it cannot be read to its end ({_reason(error)})", Place(name), "give a whole file"
            ) from None


def source_name(source: str | Path) -> str:
    """What messages call a source of lines."""
    return "standard input" if str(source) == STDIN else str(source)


def _decode(raw: bytes, name: str, number: int) -> str | InputError:
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(raw[: error.start].decode("utf-8")) + 1
        what = f"the byte 0x{raw[error.start]:02x} is not UTF-8 text"
        return InputError(what, Place(name, number, column), "save the file as UTF-8")


@contextmanager
def _open_binary(source: str | Path) -> Iterator[BinaryIO | gzip.GzipFile]:
    if str(source) == STDIN:
        yield sys.stdin.buffer
        return
    try:
        stream = open(source, "rb")  # noqa: SIM115
    except OSError as error:
        raise InputError(f"it cannot be opened ({_reason(error)})", Place(str(source)), "check the path") from None
    with stream:
        if stream.peek(2)[:2] == b"\x1f\x8b":
            with gzip.open(stream, "rb") as unpacked:
                yield unpacked
        else:
            yield stream


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


@contextmanager
def write_whole(path: str | Path, mode: str = "w") -> Iterator[IO[Any]]:
    """A file that appears under `path` only when it is complete; the folder is made if need be."""
    target = Path(path)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(
            part, mode, encoding=None if "b" in mode else "utf-8", newline=None if "b" in mode else "\n"
        ) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, target)
    except OSError as error:
        raise InputError(
            f"it cannot be written ({_reason(error)})", Place(str(path)), "check the folder and the space left"
        ) from None
    finally:
        with suppress(OSError):
            part.unlink()


def lines_begun(part: Path) -> int:
    """How many lines an interrupted run wrote into its file; one that it began and did not finish is cut off."""
    if not part.exists():
        return 0
    data = part.read_bytes()
    os.truncate(part, data.rfind(b"\n") + 1)
    return data.count(b"\n")


@contextmanager
def make_whole(folder: Path) -> Iterator[Path]:
    """A folder that appears under its name only when it is complete; it must not be there yet."""
    if folder.exists():
        raise InputError("it exists already", Place(str(folder)), "give a new folder")
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        part.mkdir(parents=True)
        yield part
        part.rename(folder)
    except OSError as error:
        raise InputError(
            f"it cannot be written ({_reason(error)})", Place(str(folder)), "check the path and the space left"
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
