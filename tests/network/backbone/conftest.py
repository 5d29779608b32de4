"""Tiny pretrained models and a tiny corpus, made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from network.backbone.tiny import KINDS, make_base
from syntagma.corpus import Corpus
from train.toy import make_corpus


@pytest.fixture(scope="session")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of each kind of base."""
    home = tmp_path_factory.mktemp("bases")
    return {kind: make_base(home / kind, kind) for kind in KINDS}


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module", autouse=True)
def threads() -> Iterator[None]:
    """Runs set the number of threads; other tests get it back."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def copied(bases: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of a base, to be changed."""
    import shutil

    return lambda kind: Path(shutil.copytree(bases[kind], tmp_path / f"copy-{kind}"))
