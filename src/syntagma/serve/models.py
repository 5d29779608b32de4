"""The models and the parser that a service was started with; nothing else is ever loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from syntagma.errors import ConfigError, SyntagmaError
from syntagma.hub import bundled, find_folder
from syntagma.network.config import ModelConfig
from syntagma.network.folder import read_config
from syntagma.network.purpose import Purpose
from syntagma.parse import Parser
from syntagma.search import Generator
from syntagma.serve import schemas
from syntagma.serve.worker import Busy, Worker
from syntagma.settings import read_mapping

Answer = TypeVar("Answer")


class Desk:
    """A thread for short tasks that would hold up the event loop; it refuses when too many wait."""

    def __init__(self, name: str, queue: int = 64) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._queue = queue
        self._waiting = 0

    async def do(self, call: Callable[..., Answer], *arguments: Any) -> Answer:
        """Run `call`; `Busy` where too many wait."""
        if self._waiting >= self._queue:
            raise Busy("too many requests are waiting", remedy="ask again in a moment")
        self._waiting += 1
        task = asyncio.get_running_loop().run_in_executor(self._pool, call, *arguments)
        task.add_done_callback(self._done)  # also where nobody waits for it any more
        return await task

    def _done(self, _: object) -> None:
        self._waiting -= 1

    def close(self) -> None:
        """Finish what waits, and end."""
        self._pool.shutdown()


@dataclass(frozen=True)
class Served:
    """A model that clients know by its name."""

    name: str
    generator: Generator
    worker: Worker
    desk: Desk
    purpose: Purpose

    @property
    def guided(self) -> bool:
        """Whether it grows trees."""
        return self.generator.config.guided

    def info(self) -> dict[str, Any]:
        """The model's entry in /v1/models."""
        return {
            "name": self.name,
            "task": self.purpose.task,
            "source_language": self.purpose.source_language,
            "target_language": self.purpose.target_language,
            "guided": self.guided,
            "labels": list(self.generator.vocabulary.labels),
            "defaults": self.generator.defaults.to_dict(),
            "limits": {"text": schemas.TEXT, "beam": schemas.BEAM, "nbest": schemas.NBEST},
        }


def load_models(
    names: Sequence[str],
    *,
    batch: int = 32,
    queue: int = 128,
    threads: int | None = None,
    device: str = "auto",
    precision: str | None = None,
) -> dict[str, Served]:
    """The models of those names or folders, by default all bundled guided ones, each under its folder's name."""
    chosen = list(names) or bundled_guided()
    if not chosen:
        raise ConfigError("this build has no bundled model to serve", remedy="give a model's folder with --model")
    models: dict[str, Served] = {}
    for name in chosen:
        folder = find_folder(name, "model", "model")
        known = folder.resolve().name if Path(name).exists() or name in bundled("model") else name.rpartition("/")[2]
        if known in models:
            raise ConfigError(f"two models are called {known!r}", remedy="rename the folder of one of them")
        generator = Generator.from_pretrained(folder, device=device, precision=precision, threads=threads)
        _, about = read_config(folder, read_mapping(folder / "config.json"))
        models[known] = serve_model(known, generator, purpose=Purpose.of(about, known), batch=batch, queue=queue)
    return models


def serve_model(
    name: str,
    generator: Generator,
    *,
    purpose: Purpose | None = None,
    batch: int = 32,
    queue: int = 128,
) -> Served:
    """A model with a thread of its own, which is not started yet."""
    worker = Worker(generator, batch=batch, queue=queue)
    return Served(name, generator, worker, Desk("details", queue), purpose or Purpose.of({}, name))


def bundled_guided() -> list[str]:
    """The bundled models that grow trees."""
    guided = []
    for name in bundled("model"):
        values = read_mapping(find_folder(name, "model", "model") / "config.json")
        if ModelConfig.from_dict(values["model"]).guided:
            guided.append(name)
    return guided


def load_bundled_parser() -> Parser | None:
    """The bundled parser; None in a build that has none."""
    try:
        return Parser.from_pretrained()
    except SyntagmaError:
        return None
