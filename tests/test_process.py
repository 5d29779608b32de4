"""Torch loaded by halves."""

from __future__ import annotations

import subprocess
import sys

import pytest

from syntagma.process import load_less_of_torch

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
