from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from syntagma.errors import ConfigError, InputError
from syntagma.hub import NotFound, bundled
from syntagma.network.batch import Example, make_batch
from syntagma.network.config import preset
from syntagma.network.network import Network
from syntagma.network.storage import ModelError, from_pretrained, save_pretrained
from syntagma.text import Subwords, split

BATCH = [Example([20, 21], [([5], [4, 6, 30])])]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    subwords = Subwords.train([split("I ate an apple.").words] * 3, size=290)
    torch.manual_seed(0)
    labels = tuple(subwords.label_id(label) for label in ("T", *subwords.labels))
    network = Network(preset("tiny", subwords.size, labels=labels, label_index=True, positions="learned")).eval()
    save_pretrained(tmp_path / "model", network, subwords, "# A model\n", about={"alpha": 0.8})
    return tmp_path / "model"


def test_what_is_saved_is_loaded(folder: Path, tmp_path: Path) -> None:
    model = from_pretrained(folder)
    assert sorted(entry.name for entry in folder.iterdir()) == [
        "README.md",
        "config.json",
        "context.onnx",
        "decoder.onnx",
        "encoder.onnx",
        "model.safetensors",
        "tokenizer.json",
    ]
    assert model.about == {"alpha": 0.8}
    save_pretrained(tmp_path / "again", model.network, model.subwords, "", precision="fp16")
    half = from_pretrained(tmp_path / "again")
    batch = make_batch(BATCH, model.config)
    with torch.inference_mode():
        assert half.network.loss(batch).nll.item() == pytest.approx(model.network.loss(batch).nll.item(), rel=1e-2)
    assert next(half.network.parameters()).dtype == torch.float32
    size = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("model", "again")]
    assert size[1] < 0.6 * size[0]


def test_sinusoids_are_computed_again(tmp_path: Path) -> None:
    subwords = Subwords.train([split("I ate an apple.").words] * 3, size=290)
    network = Network(preset("tiny", subwords.size)).eval()
    save_pretrained(tmp_path / "model", network, subwords, "")
    loaded = from_pretrained(tmp_path / "model").network
    assert torch.equal(loaded.positions.table, network.positions.table)


def test_all_wrong_weights_are_reported_at_once(folder: Path) -> None:
    path = folder / "model.safetensors"
    weights = load_file(path)
    del weights["decoder_norm.bias"]
    weights["strange"] = torch.ones(1)
    weights["decoder_norm.weight"] = torch.ones(3)
    save_file(weights, path)
    with pytest.raises(ModelError) as caught:
        from_pretrained(folder)
    for part in (
        "missing weights: decoder_norm.bias",
        "unknown weights: strange",
        "decoder_norm.weight is (3,), not (32,)",
    ):
        assert part in str(caught.value)


def test_damaged_folders(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"format": 99}))
    with pytest.raises(ModelError, match="format is 99, this version reads 1 and 2"):
        from_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(config | {"model": config["model"] | {"colour": "red"}}))
    with pytest.raises(ConfigError, match="'colour' is not a setting"):
        from_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(config | {"tokenizer": "other"}))
    with pytest.raises(ModelError, match="not the one it was trained with"):
        from_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(b"\x80\x04pickle")
    with pytest.raises(ModelError, match="cannot be read as weights"):
        from_pretrained(folder)
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(InputError, match="not a tokenizer"):
        from_pretrained(folder)


def test_names_that_lead_nowhere(tmp_path: Path) -> None:
    for name, what in (("nonsense", "there is no model 'nonsense'"), (tmp_path, "holds no config.json")):
        with pytest.raises(NotFound, match=what):
            from_pretrained(name)
    assert "parser-en" not in bundled("model")
