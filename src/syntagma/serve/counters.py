"""Counters for /metrics, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds: the upper bounds of the latency histogram."""


HELP = {
    "syntagma_requests_total": "Requests answered, by path and status.",
    "syntagma_requests_open": "Requests that are being answered.",
    "syntagma_requests_refused_total": "Requests refused because others would have kept them waiting.",
    "syntagma_request_seconds": "How long requests took.",
    "syntagma_queue_sentences": "Sentences that wait for a place in the batch.",
    "syntagma_alive_sentences": "Sentences that are being searched.",
    "syntagma_finished_sentences_total": "Sentences whose search has ended.",
    "syntagma_withdrawn_sentences_total": "Sentences whose clients left or ran out of time.",
    "syntagma_turns_total": "Steps of the decoder.",
    "syntagma_row_steps_total": "Rows decoded, summed over steps: what searching costs.",
}


class Counters:
    """Requests by path and status, and how long they took; used from the event loop only."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.seconds: dict[str, list[int]] = {}
        self.sums: Counter[str] = Counter()
        self.open = 0

    def count(self, path: str, status: int, seconds: float) -> None:
        """Note an answered request."""
        self.requests[path, status] += 1
        buckets = self.seconds.setdefault(path, [0] * (len(BOUNDS) + 1))
        buckets[bisect_left(BOUNDS, seconds)] += 1
        self.sums[path] += seconds  # type: ignore[assignment]

    def text(
        self, gauges: Mapping[str, Mapping[str, float]], totals: Mapping[str, Mapping[str, float]], refused: int = 0
    ) -> str:
        """Everything as text; `gauges` and `totals` have a value for each model."""
        lines = [
            *_head("syntagma_requests_total", "counter"),
            *(
                f'syntagma_requests_total{{path="{path}",status="{status}"}} {count}'
                for (path, status), count in sorted(self.requests.items())
            ),
            *_head("syntagma_requests_open", "gauge"),
            f"syntagma_requests_open {self.open}",
            *_head("syntagma_requests_refused_total", "counter"),
            f"syntagma_requests_refused_total {refused}",
            *_head("syntagma_request_seconds", "histogram"),
        ]
        for path, buckets in sorted(self.seconds.items()):
            running = 0
            for bound, count in zip((*map(str, BOUNDS), "+Inf"), buckets, strict=True):
                running += count
                lines.append(f'syntagma_request_seconds_bucket{{path="{path}",le="{bound}"}} {running}')
            lines.append(f'syntagma_request_seconds_sum{{path="{path}"}} {self.sums[path]}')
            lines.append(f'syntagma_request_seconds_count{{path="{path}"}} {running}')
        lines += _by_model(gauges, "gauge")
        lines += _by_model(totals, "counter")
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {HELP[name]}", f"# TYPE {name} {kind}"


def _by_model(values: Mapping[str, Mapping[str, float]], kind: str) -> Iterable[str]:
    for name, by_model in values.items():
        yield from _head(name, kind)
        for model, value in by_model.items():
            yield f'{name}{{model="{escape(model)}"}} {value}'


def escape(value: str) -> str:
    r"""A label's value as Prometheus writes it.

    >>> escape('a"b\\c')
    'a\\"b\\\\c'
    """
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
