"""The same corpus from a Ray with two workers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from syntagma.corpus import CorpusOptions, Input, prepare

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        yield
        ray.shutdown()


def test_ray_makes_the_same_corpus(
    cluster: None,
    tmp_path: Path,
    write_pairs: Callable[[int], tuple[str, str]],
    hashes: Callable[[Path], dict[str, str]],
) -> None:
    pairs, trees = write_pairs(300)
    options = CorpusOptions(inputs=(Input(pairs),), parser=f"brackets:{trees}", vocab_size=400, chunk_rows=60, dev=10)
    prepare(options, tmp_path / "local", workers=1)
    prepare(options, tmp_path / "ray", executor="ray", workers=2)
    assert hashes(tmp_path / "ray") == hashes(tmp_path / "local")
