"""Torch loaded by halves, and with threads that suit a network."""

from __future__ import annotations

import subprocess
import sys

import pytest

from syntagma.process import load_less_of_torch, use_threads_for
from syntagma.train.config import TrainConfig
from syntagma.train.engine import Engine

START = """
import sys
from syntagma.process import load_less_of_torch
load_less_of_torch()
import torch
assert torch.nn.Linear(4, 2)(torch.ones(3, 4)).shape == (3, 2)
assert "torch._decomp" not in sys.modules
"""


@pytest.mark.parametrize("module", ["transformers", "torch._dynamo"])
def test_what_was_put_off_is_loaded_when_it_is_needed(module: str) -> None:
    code = f"{START}import {module}\nassert torch.empty(3, 2, device='meta').logsumexp(1).shape == (3,)\n"
    code += "import torch._meta_registrations as put_off\nassert put_off.__file__"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr == ""


def test_a_torch_that_is_loaded_is_left_alone() -> None:
    import torch

    before = list(sys.meta_path)
    load_less_of_torch()
    assert sys.meta_path == before
    assert torch.empty(3, device="meta").add(1).shape == (3,)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of threads that torch is told."""
    import torch

    numbers: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", numbers.append)
    return numbers


def test_small_networks_get_one_thread(asked: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from syntagma.network.int8 import quantised

    network = torch.nn.Linear(3, 4)
    use_threads_for(network)
    assert asked == [1]
    monkeypatch.setattr("syntagma.process._SMALL", 16)  # its weights and biases, which is no longer small
    use_threads_for(network)
    use_threads_for(torch.nn.Linear(3, 2), network)
    use_threads_for(object())  # another engine's, which has threads of its own
    use_threads_for()
    assert asked == [1]
    packed = quantised(torch.nn.Sequential(torch.nn.Linear(3, 4, bias=False)))  # type: ignore[arg-type]
    use_threads_for(packed)
    assert asked == [1, 1]
    monkeypatch.setattr("syntagma.process._SMALL", 12)
    use_threads_for(packed)
    assert asked == [1, 1]


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
