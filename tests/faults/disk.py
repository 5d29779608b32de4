"""A disk that has little room: a file system in memory where one may be mounted, else files that count."""

from __future__ import annotations

import builtins
import ctypes
import errno
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any
from unittest.mock import patch

PAGE = 4096
"""What a file system in memory counts in: a file takes whole pages."""
KEPT = "kept"
"""The folder beside the small disk's, with what was on it when its process ended."""
NEW_MOUNTS, NEW_USER = 0x00020000, 0x10000000
PRIVATE, RECURSIVE = 1 << 18, 1 << 14


def pages(folder: Path) -> int:
    """How many pages the files of a folder take."""
    return sum(-(-path.stat().st_size // PAGE) for path in folder.rglob("*") if path.is_file())


def limited(folder: Path, room: int, injected: bool = False) -> AbstractContextManager[None]:
    """The folder with room for so many bytes in all; 0 is without end."""
    if not room:
        return nullcontext()
    return _counted(folder, room) if injected or not _own_mounts() else _mounted(folder, room)


def _own_mounts() -> bool:
    """Let this process mount what no other sees; False where the system forbids it."""
    system = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if system.unshare(NEW_MOUNTS) != 0:
        if system.unshare(NEW_MOUNTS | NEW_USER) != 0:
            return False
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    return bool(system.mount(b"none", b"/", None, RECURSIVE | PRIVATE, None) == 0)


@contextmanager
def _mounted(folder: Path, room: int) -> Iterator[None]:
    """A file system in memory in the folder's place, with the folder's files; what is on it in the end is kept."""
    before = folder.with_name("before")
    shutil.copytree(folder, before)
    system = ctypes.CDLL(None, use_errno=True)
    if system.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={room}".encode()) != 0:
        raise OSError(ctypes.get_errno(), "no file system in memory", str(folder))
    shutil.copytree(before, folder, dirs_exist_ok=True)
    shutil.rmtree(before)
    try:
        yield
    finally:
        shutil.copytree(folder, folder.with_name(KEPT))


@contextmanager
def _counted(folder: Path, room: int) -> Iterator[None]:
    """Files in the folder whose writing fails when all have taken the room."""
    left = room

    class Counting(io.FileIO):
        def write(self, data: Any) -> int:
            nonlocal left
            if memoryview(data).nbytes > left:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            left -= memoryview(data).nbytes
            return super().write(data)

    opened = builtins.open

    def count(file: Any, mode: str = "r", buffering: int = -1, encoding: str | None = None,
              errors: str | None = None, newline: str | None = None, **rest: Any) -> IO[Any]:  # fmt: skip
        inside = isinstance(file, str | os.PathLike) and Path(file).absolute().is_relative_to(folder)
        if not inside or not set(mode) & set("wax") or "+" in mode:
            return opened(file, mode, buffering, encoding, errors, newline, **rest)
        stream = io.BufferedWriter(Counting(file, mode.replace("b", "").replace("t", "")))
        return stream if "b" in mode else io.TextIOWrapper(stream, encoding, errors, newline)

    with patch.object(builtins, "open", count), patch.object(io, "open", count):
        yield
