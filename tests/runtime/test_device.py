from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from syntagma.runtime import device


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["nvidia0", "nvidiactl"], True),
        (["nvidia1"], True),
        (["nvidia12", "nvidia-uvm"], True),
        (["dxg"], True),
        (["nvidiactl", "nvidia-uvm", "null"], False),
        ([], False),
    ],
)
def test_torch_is_asked_where_there_is_a_gpu(
    files: list[str], found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container may be given another GPU than the first."""
    for name in files:
        (tmp_path / name).touch()
    monkeypatch.setattr(device, "_DEVICES", tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device.has_gpu() == found
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert not device.has_gpu()
    monkeypatch.setitem(sys.modules, "torch", None)
    assert not device.has_gpu()
