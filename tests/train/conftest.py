"""A tiny corpus made by `prepare`, and the settings of tiny runs."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from typing import Any

import pytest
import torch

from syntagma.corpus import Corpus
from syntagma.train import TrainConfig
from train.toy import make_corpus


@pytest.fixture(scope="module", autouse=True)
def threads() -> Iterator[None]:
    """Runs set the number of threads; other tests get it back."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def settings(corpus: Corpus) -> dict[str, Any]:
    return {
        "data": str(corpus.folder), "preset": "tiny", "steps": 24, "batch_tokens": 400, "lr": 0.01, "warmup": 4,
        "validate_every": 7, "save_every": 5, "log_every": 3, "keep_best": 2, "threads": 1,
    }  # fmt: skip


@pytest.fixture(scope="session")
def configure(settings: dict[str, Any]) -> Callable[..., TrainConfig]:
    return lambda **changes: TrainConfig.from_dict(settings | changes)


@pytest.fixture(scope="session")
def processes() -> Iterator[ForkServerContext]:
    """Processes that begin with everything already loaded; an optimiser loads `torch._dynamo`."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["syntagma.train.run", "torch._dynamo", "lightning_fabric"])
    yield context
    forkserver._forkserver._stop()  # type: ignore[attr-defined]
