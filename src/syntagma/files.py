"""Lines in and files out, the same way for every command.

Reading streams: a line at a time, once, from a file, a pipe, or standard input for `-`, each plain or gzip.  A
byte-order mark is dropped, Windows line ends are accepted, and bytes that are not UTF-8 are an error with the line and
column.  Writing is whole or not at all: into a temporary name beside the target, renamed when complete.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from syntagma.errors import ConfigError, InputError, Place

STDIN = "-"
LONGEST_LINE = 1 << 26
"""Bytes.  A longer line is no text that anything here can work on, and must not fill the memory."""
_GZIP = b"\x1f\x8b"
_BLOCK = 1 << 20


def read_lines(source: str | Path) -> Iterator[str]:
    """The lines of a file, or of standard input for `-`, without their ends; the first that is not text is raised."""
    for line in scan_lines(source):
        if isinstance(line, InputError):
            raise line
        yield line


def scan_lines(source: str | Path) -> Iterator[str | InputError]:
    """Like `read_lines`, but a line that is not text comes as an error in its place, so that the rest can go on."""
    name = source_name(source)
    with open_binary(source) as stream:
        for number, raw in enumerate(raw_lines(stream, name), 1):
            yield _decode(raw, name, number) if raw is not None else _too_long(name, number)


def raw_lines(stream: BinaryIO, name: str) -> Iterator[bytes | None]:
    """The lines of an open stream, unpacked where it is gzip, without their ends and without a byte-order mark.

    The stream is read once from where it is, so it may be a pipe.  None stands for a line longer than `LONGEST_LINE`,
    whose bytes are passed over.
    """
    try:
        head = stream.read(2)
        stream = io.BufferedReader(_Rejoined(head, stream))
        unpacked = gzip.GzipFile(fileobj=stream) if head == _GZIP else stream
        first = True
        while raw := unpacked.readline(LONGEST_LINE):
            whole = len(raw) < LONGEST_LINE or raw.endswith(b"\n")
            while not whole:
                rest = unpacked.readline(LONGEST_LINE)
                if not rest or rest.endswith(b"\n"):
                    break
            if first:
                raw, first = raw.removeprefix(b"\xef\xbb\xbf"), False
            yield raw.removesuffix(b"\n").removesuffix(b"\r") if whole else None
    except (gzip.BadGzipFile, EOFError, zlib.error, OSError) as error:
        raise InputError(f"it cannot be read to its end ({reason(error)})", Place(name), "give a whole file") from None


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes have been read, with those bytes in front again."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._head or self._rest.read1(len(buffer))  # type: ignore[attr-defined]
        self._head = b""
        buffer[: len(chunk)] = chunk
        return len(chunk)


def source_name(source: str | Path) -> str:
    """The name of a source of lines in messages."""
    return "standard input" if str(source) == STDIN else str(source)


def _decode(raw: bytes, name: str, number: int) -> str | InputError:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(raw[: error.start].decode("utf-8")) + 1
        what = f"the byte 0x{raw[error.start]:02x} is not UTF-8 text"
        return InputError(what, Place(name, number, column), "save the file as UTF-8")


def _too_long(name: str, number: int) -> InputError:
    what = f"the line is longer than {LONGEST_LINE >> 20} MiB"
    return InputError(what, Place(name, number), "give a file with one text a line")


@contextmanager
def open_binary(source: str | Path) -> Iterator[BinaryIO]:
    """The bytes of a file, or of standard input for `-`, which stays open."""
    if str(source) == STDIN:
        if sys.stdin is None:
            raise InputError("it is closed", Place(source_name(source)), "name a file instead")
        yield sys.stdin.buffer
        return
    try:
        stream = open(source, "rb")  # noqa: SIM115
    except OSError as error:
        raise InputError(f"it cannot be opened ({reason(error)})", Place(str(source)), "check the path") from None
    with stream:
        yield stream


def reason(error: Exception) -> str:
    """Why the system refused something, as a part of a sentence."""
    return (getattr(error, "strerror", None) or str(error)).lower()


@contextmanager
def atomic_write(path: str | Path, mode: str = "w") -> Iterator[IO[Any]]:
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
    except BrokenPipeError:  # of another stream: nobody reads the output any more
        raise
    except OSError as error:
        raise InputError(
            f"it cannot be written ({reason(error)})", Place(str(path)), "check the folder and the space left"
        ) from None
    finally:
        with suppress(OSError):
            part.unlink()


def remove_parts(folder: Path) -> None:
    """Remove the partial files of a killed process from a folder that no other process is writing to."""
    for part in folder.glob(".*.part"):
        with suppress(OSError):
            part.unlink()


def lines_begun(part: Path) -> int:
    """How many lines an interrupted run wrote into its file; one that it began and did not finish is cut off."""
    if not part.exists():
        return 0
    lines, whole, size = 0, 0, 0
    with open(part, "rb") as stream:
        while block := stream.read(_BLOCK):
            lines += block.count(b"\n")
            last = block.rfind(b"\n")
            whole = size + last + 1 if last >= 0 else whole
            size += len(block)
    os.truncate(part, whole)
    return lines


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
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
            f"it cannot be written ({reason(error)})", Place(str(folder)), "check the path and the space left"
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make the folder and keep other runs out of it; the lock goes with the process, however that ends."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError("this is a file", Place(str(folder)), "give --out a new or empty folder")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        what = "another run is at work in this folder"
        raise ConfigError(what, Place(str(folder)), "wait for it or stop it") from None
    finally:
        os.close(handle)
