"""Process-wide settings, for programs rather than libraries: memory and threads."""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Callable, Iterable
from threading import Thread
from typing import Any, TypeVar

from syntagma.errors import is_out_of_memory

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


class Background:
    """A call in a thread of its own; `wait` ends with it, and raises what it raised."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._call()
        except BaseException as error:
            self._error = error

    def wait(self) -> None:
        """Wait for the end."""
        self._thread.join()
        if self._error is not None:
            raise self._error


Item = TypeVar("Item")
Made = TypeVar("Made")


def halving(call: Callable[[list[Item]], Iterable[Made]], items: list[Item]) -> list[Made]:
    """Call `call` with items for one result each; where memory runs out, with their halves.

    >>> def two_at_most(items: list[int]) -> list[int]:
    ...     if len(items) > 2:
    ...         raise MemoryError
    ...     return [10 * item for item in items]
    >>> halving(two_at_most, [1, 2, 3, 4, 5])
    [10, 20, 30, 40, 50]
    """
    try:
        return list(call(items))
    except Exception as error:
        if len(items) < 2 or not is_out_of_memory(error):
            raise
    middle = len(items) // 2
    return halving(call, items[:middle]) + halving(call, items[middle:])


_SMALL = 20_000_000
"""Parameters.  At 6.5 million two threads took 1.8 times as long as one for a single sentence (beam 5)."""
_SMALL_TO_TRAIN = 2_000_000
"""Parameters.  A training step has thousands of tokens at once, so threads pay off sooner; at 0.3 million, beside other
load, they took 17 times as long."""


def use_threads_for(*networks: Any, training: bool = False) -> None:
    """Compute with one thread where all networks are small: their steps are over before several have agreed on who does
    what.  For larger ones it stays with what torch, or the user, has chosen.
    """
    sizes = [parameters(network) for network in networks if hasattr(network, "parameters")]
    if sizes and all(suits_one_thread(size, training) for size in sizes):
        importlib.import_module("torch").set_num_threads(1)


def suits_one_thread(parameters: int, training: bool = False) -> bool:
    """Whether a model of so many parameters is faster, or hardly slower, with one thread.

    >>> suits_one_thread(6_500_000), suits_one_thread(6_500_000, training=True)
    (True, False)
    """
    return parameters < (_SMALL_TO_TRAIN if training else _SMALL)


def parameters(network: Any) -> int:
    """How many weights a network of torch has."""
    return sum(weight.numel() for weight in network.parameters())
