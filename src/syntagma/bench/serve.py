"""`syntagma bench serve`: a real server on loopback, asked by many clients at once and by one at a time.

Batching across clients is what the ratio tells.  Every answer's status is counted; the server's memory is read when the
clients begin (after a short warm-up) and when they end.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from syntagma.bench.report import Measurement
from syntagma.errors import InputError
from syntagma.files import read_lines

CLIENTS, SECONDS, WARM_UP = 64, 30.0, 3.0
TARGET_RATIO = 3.0

_SENTENCES = (
    "It seems like he has made a mistake.",
    "I do not think that she will ever come back to London.",
    "When the rain stopped, the children ran out into the garden.",
    "What do you usually do after work?",
    "A small company in Ohio builds engines for boats.",
    "Nobody expected the train to arrive on time.",
    "Could you tell me where the station is?",
    "My sister, who lives abroad, calls us every Sunday.",
)


@dataclass
class Load:
    """What some clients met."""

    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Answered requests a second; refused ones do not count."""
        return self.statuses[200] / self.seconds

    def percentile(self, share: float) -> float:
        """The latency in ms that so much of the answered requests did not exceed."""
        ordered = sorted(self.latencies)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def run(
    data: Path | None = None,
    *,
    quick: bool = False,
    model: str | None = None,
    seconds: float = SECONDS,
    clients: int = CLIENTS,
    threads: int = 2,
) -> Iterator[Measurement]:
    """Rows for throughput, latency, statuses and memory; if quick, the clients ask for a tenth of the time.

    `data` is a file of sentences, one a line.
    """
    if model is None:
        raise InputError("there is no model to serve", remedy="give its folder or name with --model")
    length = seconds / 10 if quick else seconds
    texts = list(read_lines(data)) if data is not None else list(_SENTENCES)
    bodies = [json.dumps({"text": text}).encode() for text in texts if text.strip()]
    with _server(model, threads) as (process, port):
        asyncio.run(_ask(port, bodies, clients, min(WARM_UP, length)))
        before = _megabytes(process.pid)
        many = asyncio.run(_ask(port, bodies, clients, length))
        after = _megabytes(process.pid)
        one = asyncio.run(_ask(port, bodies, 1, length))
    if not one.statuses[200]:
        raise InputError("no request was answered", remedy="look at what the server says on stderr")
    ratio = many.rate / one.rate
    yield Measurement(f"requests of {clients} clients", many.rate, "requests/s", "one at a time", one.rate, ratio)
    yield Measurement("batching, as a ratio", ratio, "x", "target", TARGET_RATIO, ratio / TARGET_RATIO)
    for share in (0.5, 0.95):
        what = f"latency of {clients} clients, p{100 * share:.0f}"
        yield Measurement(what, many.percentile(share), "ms", "one at a time", one.percentile(share))
    for status, count in sorted((many.statuses + one.statuses).items()):
        yield Measurement(
            f"answers with status {status}" if status else "requests without an answer", count, "requests"
        )
    yield Measurement(f"the server's memory after {length:g} s", after, "MB", "when it began", before, before / after)


@contextmanager
def _server(model: str, threads: int) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server on a free port."""
    command = [sys.executable, "-m", "syntagma", "serve", "--port", "0", "--model", model, "--threads", str(threads)]
    environment = {name: value for name, value in os.environ.items() if name != "SYNTAGMA_TOKEN"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = re.search(r"at http://[\d.]+:(\d+)/", line)
        if found is None:
            what = line.strip().removeprefix("syntagma: ") or "it said nothing"
            raise InputError(f"the server did not start: {what}", remedy="mend that")
        yield process, int(found[1])
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate()


def _megabytes(pid: int) -> float:
    """The memory that a process holds."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in status if line.startswith("VmRSS"))) / 1024


async def _ask(port: int, bodies: list[bytes], clients: int, seconds: float) -> Load:
    """Ask with so many clients, each as soon as it has its answer, for so long."""
    load = Load()
    begun = time.monotonic()
    starts = (number % len(bodies) for number in range(clients))
    await asyncio.gather(*(_client(port, bodies[at:] + bodies[:at], load, begun + seconds) for at in starts))
    load.seconds = time.monotonic() - begun
    return load


async def _client(port: int, bodies: list[bytes], load: Load, end: float) -> None:
    """One client on one connection; a refused request is asked again after a second, as the service says."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for body in cycle(bodies):
            begun = time.monotonic()
            if begun >= end:
                return
            head = f"POST /v1/generate HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            status = await _status(reader)
            load.statuses[status] += 1
            if status == 200:
                load.latencies.append(time.monotonic() - begun)
            elif status == 503:
                await asyncio.sleep(1)
    except (OSError, asyncio.IncompleteReadError):
        load.statuses[0] += 1
    finally:
        writer.close()


async def _status(reader: asyncio.StreamReader) -> int:
    """The status of the next answer, whose body is read and dropped."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = re.search(r"content-length: (\d+)", head)
    await reader.readexactly(int(length[1]) if length else 0)
    return int(head.split(" ", 2)[1])
