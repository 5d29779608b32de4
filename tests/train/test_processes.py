"""Two processes that share every batch lose as one does."""

from __future__ import annotations

import socket
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from syntagma.train import TrainConfig, train
from train.toy import read_log, train_as_torchrun


def test_two_processes_have_the_loss_curve_of_one(
    configure: Callable[..., TrainConfig], tmp_path: Path, processes: ForkServerContext
) -> None:
    pytest.importorskip("lightning_fabric")
    config = configure(dropout=0.0, accumulate=2, log_every=1, batch_tokens=150, level_floor=0.5)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    started = [
        processes.Process(target=train_as_torchrun, args=(rank, port, config, tmp_path / "two")) for rank in range(2)
    ]
    for process in started:
        process.start()
    train(config, tmp_path / "one", quiet=True)
    for process in started:
        process.join(120)
    assert [process.exitcode for process in started] == [0, 0]
    one, two = read_log(tmp_path / "one", "world"), read_log(tmp_path / "two", "world")
    assert len(one) == len(two)
    for mine, theirs in zip(one, two, strict=True):
        assert mine.keys() == theirs.keys()
        for name, value in mine.items():
            wanted = pytest.approx(theirs[name], rel=1e-5) if isinstance(value, float) else theirs[name]
            assert value == wanted, (mine["step"], name)
