"""A service over a tiny random model, in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

pytest.importorskip("fastapi")
import httpx
import torch

from search_models import TEXTS, random_model
from syntagma.network.purpose import Purpose
from syntagma.runtime.torch import TorchRuntime
from syntagma.search import Generator, SearchOptions
from syntagma.serve.app import make_app
from syntagma.serve.models import serve_model
from syntagma.serve.service import Service
from syntagma.text import Subwords, split

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)


def growing_generator(**options: Any) -> Generator:
    """A random model that likes labels, so that its texts grow several levels."""
    network = random_model(SUBWORDS, 7)
    with torch.no_grad():
        network.embedding.weight[list(network.config.labels)[1:]] *= 3.0
    return Generator(
        TorchRuntime(network),
        SUBWORDS,
        SearchOptions.from_dict({"beam": 3, "max_depth": 5, "max_tokens": 12} | options),
    )


def tiny_service(batch: int = 32, queue: int = 128, **settings: Any) -> Service:
    """A service of one such model."""
    served = serve_model("tiny", growing_generator(), purpose=Purpose("paraphrase"), batch=batch, queue=queue)
    return Service({"tiny": served}, **settings)


@asynccontextmanager
async def client_of(service: Service, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service that runs in this process."""
    app = make_app(service)
    service.start()
    transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
            yield client
    finally:
        await service.stop()
