"""`syntagma bench serve`: a real server on loopback, asked by many clients at once and by one at a time.

Many clients ask /v1/generate, /v1/stream and /v1/parse in turn: every request must be answered, or refused, soon.
Batching across clients is what the ratio to one client tells.  Then one client asks as people do while five send the
worst requests that the service takes.  The server's memory is read when the clients begin, after a short warm-up, and
at the end.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from syntagma.bench.clients import Call, ask, ask_beside
from syntagma.bench.report import Measurement
from syntagma.errors import InputError
from syntagma.files import read_lines

CLIENTS, SECONDS, WARM_UP, ALONE = 200, 30.0, 3.0, 10.0
SLOWEST_MS, TARGET_GROWTH = 2_000.0, 3.0
"""How long an answer or a refusal takes at most; how much longer an ordinary one takes beside the worst requests."""
PARSED = 64
STOP = 10.0
"""Seconds in which the server has to end."""

ORDINARY_SENTENCES = (
    "It seems like he has made a mistake.",
    "I do not think that she will ever come back to London.",
    "When the rain stopped, the children ran out into the garden.",
    "What do you usually do after work?",
    "A small company in Ohio builds engines for boats.",
    "Nobody expected the train to arrive on time.",
    "Could you tell me where the station is?",
    "My sister, who lives abroad, calls us every Sunday.",
)


def run(
    data: Path | None = None,
    *,
    quick: bool = False,
    model: str = "paraphrase-en",
    seconds: float = SECONDS,
    clients: int = CLIENTS,
) -> Iterator[Measurement]:
    """Rows for each kind of request, for one client beside the worst, and for memory; quick: a tenth of the time.

    `data` is a file of sentences, one a line.
    """
    length = seconds / 10 if quick else seconds
    texts = [text for text in (read_lines(data) if data is not None else ORDINARY_SENTENCES) if text.strip()]
    kinds = _ordinary(texts)
    with _server(model) as (process, port):
        ask(port, kinds["generate"], clients, min(WARM_UP, length))
        before = _megabytes(process.pid)
        single = ask(port, kinds["generate"], 1, min(ALONE, length))
        if not single.statuses[200]:
            raise InputError("no request was answered", remedy="look at what the server says on stderr")
        alone = single.percentile(0.5)
        yield Measurement("generate: one client alone, p50", alone, "ms")
        for kind, calls in kinds.items():
            many = ask(port, calls, clients, length)
            peer = ("one at a time", single.rate, many.rate / single.rate) if kind == "generate" else (None, None, None)
            yield Measurement(f"{kind}: answers to {clients} clients", many.rate, "requests/s", *peer)
            for share in (0.5, 0.95):
                yield Measurement(f"{kind}: time of an answer, p{100 * share:.0f}", many.percentile(share), "ms")
            yield Measurement(f"{kind}: refused", many.statuses[503], "requests")
            slowest = 1000 * many.slowest
            yield Measurement(
                f"{kind}: slowest answer or refusal", slowest, "ms", "target", SLOWEST_MS, SLOWEST_MS / slowest
            )
            yield Measurement(f"{kind}: neither answered nor refused", many.failed, "requests", "target", 0.0)
        beside, crowd = ask_beside(port, kinds["generate"], worst(), length)
        after = _megabytes(process.pid)
    median = beside.percentile(0.5)
    growth = median / alone if beside.latencies else math.inf
    yield Measurement("an answer beside the worst requests, p50", median, "ms", "alone", alone, 1 / growth)
    yield Measurement("the same as a ratio", growth, "x", "target", TARGET_GROWTH, TARGET_GROWTH / growth)
    yield Measurement(
        "refused or failed beside the worst requests", beside.statuses.total() - beside.statuses[200], "requests"
    )
    for status, count in sorted(crowd.statuses.items()):
        yield Measurement(
            f"worst requests with status {status}" if status else "worst requests unanswered", count, "requests"
        )
    yield Measurement("the server's memory at the end", after, "MB", "when it began", before, before / after)


def _ordinary(texts: Sequence[str]) -> dict[str, list[Call]]:
    """Ordinary requests by their kind; texts to parse come in lots."""
    lots = [[texts[(start + number) % len(texts)] for number in range(PARSED)] for start in range(min(8, len(texts)))]
    return {
        "generate": [Call.of("/v1/generate", {"text": text}) for text in texts],
        "stream": [Call.of("/v1/stream", {"text": text}) for text in texts],
        "parse": [Call.of("/v1/parse", {"texts": lot}) for lot in lots],
    }


def worst() -> list[list[Call]]:
    """The hardest requests that the service takes, for five clients."""
    sentence = " ".join(ORDINARY_SENTENCES)[:400]
    breathless = "and then he said that " * 18
    foreign = "الولد يأكل التفاحة في الحديقة مع أخته الصغيرة كل يوم " * 3
    wide = {"beam": 16, "nbest": 16, "split": False}
    words = ["because", "although", "garden", "engine", "Sunday", "London", "mistake", "children"]
    return [
        [
            Call.of(
                "/v1/generate", {"text": sentence, "template": f"(S {'... ' * 28})", "control": "hard", "beam": 16}
            ),
            Call.of(
                "/v1/generate", {"text": sentence, "template": f"(S {'(NP) ... ' * 14})", "control": "hard", **wide}
            ),
        ],
        [
            Call.of("/v1/generate", {"text": foreign, **wide}),
            Call.of("/v1/stream", {"text": foreign, "beam": 16, "split": False}),
        ],
        [
            Call.of("/v1/explain", {"text": breathless[:400], "beam": 16, "prune": 0.0}),
            Call.of("/v1/stream", {"text": breathless[:400], "beam": 16, "prune": 0.0}),
        ],
        [
            Call.of("/v1/generate", {"texts": [breathless[:400]] * 32, **wide}),
            Call.of("/v1/generate", {"texts": [*ORDINARY_SENTENCES] * 4}),
            Call.of("/v1/parse", {"texts": [breathless[:400]] * PARSED}),
            Call.of("/v1/sentences", {"text": "a. " * 6_000}),
        ],
        [
            Call.of("/v1/generate", {"text": sentence, "must": words, "prune": 0.0, **wide}),
            *(
                Call.of(
                    "/v1/generate", {"text": sentence, "sample": True, "temperature": 2.0 + seed, **wide, "seed": seed}
                )
                for seed in range(8)
            ),
            Call("/v1/generate", b'{"text": "' + b"x" * 500_000 + b'"}'),
        ],
    ]


@contextmanager
def _server(model: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server on a free port."""
    command = [sys.executable, "-m", "syntagma", "serve", "--port", "0", "--model", model]
    environment = {name: value for name, value in os.environ.items() if name != "SYNTAGMA_TOKEN"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    drain = threading.Thread(target=sys.stderr.writelines, args=(process.stderr,), daemon=True)
    try:
        line = process.stderr.readline()
        address = re.search(r"at http://[\d.]+:(\d+)/", line)
        if address is None:
            what = line.strip().removeprefix("syntagma: ") or "it said nothing"
            raise InputError(f"the server did not start: {what}", remedy="mend that")
        drain.start()
        yield process, int(address[1])
    finally:
        process.terminate()
        try:
            process.wait(STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if drain.is_alive():
            drain.join()
        process.stderr.close()


def _megabytes(pid: int) -> float:
    """The memory that a process holds."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in status if line.startswith("VmRSS"))) / 1024
