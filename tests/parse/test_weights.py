from __future__ import annotations

from pathlib import Path

import pytest
import torch

from syntagma.errors import ConfigError
from syntagma.network.packing import quantise
from syntagma.parse.weights import load, save

ROWS = torch.linspace(-1, 1, 64) * torch.tensor([[100.0], [1.0], [0.01]])


def test_each_row_has_its_own_scale() -> None:
    whole, scale = quantise(ROWS)
    assert scale.shape == (3,)
    assert whole.abs().amax(dim=1).tolist() == [127, 127, 127]
    for row, kept in zip(ROWS, whole.float() * scale.float()[:, None], strict=True):
        assert (row - kept).abs().max() <= row.abs().max() / 100


def test_stored_rows_keep_their_precision(tmp_path: Path) -> None:
    """Of quite different size, each comes back; one scale for the tensor would make the smallest nothing."""
    stored, again = torch.nn.Linear(64, 3), torch.nn.Linear(64, 3)
    with torch.no_grad():
        stored.weight.copy_(ROWS)
    save(stored, tmp_path / "w.safetensors")
    load(again, tmp_path / "w.safetensors")
    for row, kept in zip(ROWS, again.weight.detach(), strict=True):
        assert (row - kept).abs().max() <= row.abs().max() / 100
    assert (stored.bias - again.bias).abs().max() < 1e-3
    with pytest.raises(ConfigError, match="'int4' is no precision"):
        save(stored, tmp_path / "x", "int4")
