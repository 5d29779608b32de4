"""Concurrent clients of a server on loopback, and the answers that they received."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, NamedTuple

GRACE = 10.0
"""Seconds after the end for which the last answers are awaited; those that have not come then never came."""


class Call(NamedTuple):
    """A request: its path and its body."""

    path: str
    body: bytes

    @staticmethod
    def of(path: str, values: Mapping[str, Any]) -> Call:
        """A request with a body of JSON."""
        return Call(path, json.dumps(values).encode())


@dataclass
class Load:
    """The answers that some clients received; a request without an answer has status 0."""

    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    """Of the answered requests, in seconds."""
    slowest: float = 0.0
    """Of all, refused ones too."""

    @property
    def rate(self) -> float:
        """Answered requests a second; refused ones do not count."""
        return self.statuses[200] / self.seconds

    @property
    def failed(self) -> int:
        """Requests that were neither answered nor refused: time-outs, and answers that never came."""
        return sum(count for status, count in self.statuses.items() if status < 200 or status in (500, 502, 504))

    def percentile(self, share: float) -> float:
        """The latency in ms that so much of the answered requests did not exceed."""
        ordered = sorted(self.latencies)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0

    def note(self, status: int, seconds: float) -> None:
        """Count a request."""
        self.statuses[status] += 1
        self.slowest = max(self.slowest, seconds)
        if status == 200:
            self.latencies.append(seconds)


def ask(port: int, calls: Sequence[Call], clients: int, seconds: float) -> Load:
    """Ask with so many clients, each as soon as it has its answer, for so long."""
    return asyncio.run(_ask(port, calls, clients, seconds))


def ask_beside(
    port: int, calls: Sequence[Call], others: Sequence[Sequence[Call]], seconds: float, settle: float = 1.0
) -> tuple[Load, Load]:
    """Ask with one client while others ask, each with calls of its own; the load of each side."""
    return asyncio.run(_ask_beside(port, calls, others, seconds, settle))


async def _ask(port: int, calls: Sequence[Call], clients: int, seconds: float) -> Load:
    load = Load()
    begun = time.monotonic()
    starts = (number % len(calls) for number in range(clients))
    turned = ([*calls[start:], *calls[:start]] for start in starts)
    tasks = [asyncio.ensure_future(_client(port, own, load, begun + seconds)) for own in turned]
    await _end(tasks, seconds + GRACE)
    load.seconds = time.monotonic() - begun
    return load


async def _end(tasks: Sequence[asyncio.Future[None]], seconds: float) -> None:
    """Wait for clients, so long and no longer."""
    await asyncio.wait(tasks, timeout=seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _ask_beside(
    port: int, calls: Sequence[Call], others: Sequence[Sequence[Call]], seconds: float, settle: float
) -> tuple[Load, Load]:
    crowd = Load()
    begun = time.monotonic()
    tasks = [asyncio.ensure_future(_client(port, own, crowd, begun + settle + seconds)) for own in others]
    await asyncio.sleep(settle)
    load = await _ask(port, calls, 1, seconds)
    await _end(tasks, GRACE)
    crowd.seconds = time.monotonic() - begun
    return load, crowd


async def _client(port: int, calls: Sequence[Call], load: Load, end: float) -> None:
    """One client; where it is refused it leaves, and comes back with a new connection when the service says."""
    waiting = cycle(calls)
    while time.monotonic() < end:
        begun = time.monotonic()
        try:
            retry = await _talk(port, waiting, load, end)
        except (OSError, asyncio.IncompleteReadError):
            load.note(0, time.monotonic() - begun)
            retry = 1.0
        await asyncio.sleep(min(retry, max(0.0, end - time.monotonic())))


async def _talk(port: int, calls: Iterator[Call], load: Load, end: float) -> float:
    """Ask on one connection until the end or a refusal; the seconds after which to come back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        while (begun := time.monotonic()) < end:
            path, body = next(calls)
            head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            try:
                status, retry = await _answer(reader)
            except asyncio.CancelledError:
                load.note(0, time.monotonic() - begun)
                raise
            load.note(status, time.monotonic() - begun)
            if status == 503:
                return retry
        return 0.0
    finally:
        writer.close()


async def _answer(reader: asyncio.StreamReader) -> tuple[int, float]:
    """The status of the next answer, 504 for a stream that ends in an error, and when to ask again."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = re.search(r"content-length: (\d+)", head)
    retry = re.search(r"retry-after: (\d+)", head)
    failed = False
    if length:
        await reader.readexactly(int(length[1]))
    elif "transfer-encoding: chunked" in head:
        while size := int(await reader.readline(), 16):
            failed |= b"event: error" in await reader.readexactly(size + 2)
        await reader.readline()
    status = 504 if failed else int(head.split(" ", 2)[1])
    return status, float(retry[1]) if retry else 1.0
