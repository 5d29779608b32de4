"""What a program tells its own process, and a library must not: how to keep memory."""

from __future__ import annotations

import ctypes
import sys

# Names of the C library for what `mallopt` sets.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3


def keep_freed_memory() -> bool:
    """Tell the C library to reuse the memory of large tensors; whether it heard.

    Tensors of a few megabytes come and go with every batch.  By default each is mapped anew and its pages are cleared
    when they are first touched, which costs a tenth of the time on a CPU.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        tell = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    settings = {_MMAP_THRESHOLD: 1 << 30, _TRIM_THRESHOLD: 1 << 30, _TOP_PAD: 1 << 26}
    heard = [tell(name, value) == 1 for name, value in settings.items()]
    return all(heard)
