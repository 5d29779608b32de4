"""Threads that suit a network."""

from __future__ import annotations

import pytest

from syntagma.process import Background, use_threads_for
from syntagma.train.config import TrainConfig
from syntagma.train.engine import Engine


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of threads that torch is told."""
    import torch

    numbers: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", numbers.append)
    return numbers


def test_small_networks_get_one_thread(asked: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    network = torch.nn.Linear(3, 4)
    use_threads_for(network)
    assert asked == [1]
    monkeypatch.setattr("syntagma.process._SMALL", 16)  # its weights and biases, which is no longer small
    use_threads_for(network)
    use_threads_for(torch.nn.Linear(3, 2), network)
    use_threads_for(object())  # another engine's, which has threads of its own
    use_threads_for()
    assert asked == [1]


def test_training_chooses_by_size_unless_it_is_told(asked: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    network = torch.nn.Linear(3, 4)
    Engine(TrainConfig("corpus")).wrap(network)  # type: ignore[arg-type]
    assert asked == [1]
    Engine(TrainConfig("corpus", threads=3)).wrap(network)  # type: ignore[arg-type]
    assert asked == [1, 3]
    monkeypatch.setattr("syntagma.process._SMALL_TO_TRAIN", 16)
    Engine(TrainConfig("corpus")).wrap(network)  # type: ignore[arg-type]
    assert asked == [1, 3]


def test_what_a_thread_raises_is_raised_where_it_is_waited_for() -> None:
    done: list[int] = []
    Background(lambda: done.append(1)).wait()
    assert done == [1]
    failing = Background(lambda: 1 // 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            failing.wait()
