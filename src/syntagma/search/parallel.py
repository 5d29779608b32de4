"""Generation on several processes or machines: the same outputs in the same order, whoever makes them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from syntagma.errors import SyntagmaError
from syntagma.executors import run, session
from syntagma.runtime.device import on_gpu
from syntagma.search.batches import AUTO
from syntagma.search.generator import Generator
from syntagma.search.result import Output
from syntagma.search.steered import Text

CHUNK = 128
"""Texts that a worker takes at once."""

Found = list[Output] | SyntagmaError


@dataclass
class SearchWork:
    """The search for a chunk of texts in a worker, which loads the model once, when it first needs it."""

    model: str
    options: dict[str, Any] = field(default_factory=dict)
    """Of `SearchOptions`."""
    steering: dict[str, Any] = field(default_factory=dict)
    """The arguments of `Generator.steering`."""
    batch: int = AUTO
    nbest: int = 1
    device: str = "auto"
    precision: str | None = None

    def __call__(self, texts: list[Text]) -> list[Found]:
        """The hypotheses of each text, or what was wrong with it."""
        generator = self._generator()
        steering = generator.steering(**self.steering)
        options = generator.defaults.changed(self.options)
        results = generator.stream(texts, steering=steering, options=options, batch=self.batch, nbest=self.nbest)
        return list(results)

    def _generator(self) -> Generator:
        loaded: Generator | None = self.__dict__.get("_loaded")
        if loaded is None:
            loaded = self.__dict__["_loaded"] = Generator.from_pretrained(
                self.model, device=self.device, precision=self.precision
            )
        return loaded

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_loaded"}


def processes_for(texts: int, device: str = "auto") -> int:
    """As many processes as pay off for so many texts: one a core, where each has several chunks to do; one on a GPU."""
    return 1 if on_gpu(device) else max(1, min(os.cpu_count() or 1, texts // (2 * CHUNK)))


def parallel(work: SearchWork, texts: Iterable[Text], executor: str = "local", workers: int = 1) -> Iterator[Found]:
    """The results for all texts, in order; with `ray` the texts are held in memory, a chunk a job."""
    waiting = iter(texts)
    chunks = iter(lambda: list(islice(waiting, CHUNK)), [])
    with session(executor, workers):
        for results in run(executor, work, chunks, workers):
            yield from results
