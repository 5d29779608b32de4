"""Several parsers as one."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from syntagma.errors import ConfigError
from syntagma.parse import load_parser
from syntagma.parse.ensemble import Ensemble, average, join
from syntagma.parse.network import collate
from syntagma.parse.trainable import TrainableParser

WORDS = ("I", "saw", "the", "dog", ".")


def test_a_parser_joined_with_itself_parses_alike(tiny: Path) -> None:
    joined = load_parser(f"{tiny}+{tiny}")
    assert joined.parse([WORDS]) == TrainableParser.load(tiny).parse([WORDS])
    assert (joined.name, joined.version) == ("tiny+tiny", "1+1")


def test_scores_are_the_mean(tiny: Path) -> None:
    one, other = TrainableParser.load(tiny), TrainableParser.load(tiny)
    with torch.no_grad():
        other.network.labels.bias += 2.0  # type: ignore[union-attr, operator]
    batch = collate([one.pieces.encode(WORDS, 64)], one.pieces.pad)
    alone, _ = one.network(batch)
    both, tags = Ensemble([one.network, other.network])(batch)
    assert torch.allclose(both[:, :, 1:], alone[:, :, 1:] + 1.0, atol=1e-5)
    assert not both[:, :, 0].any()
    assert tags.shape == (1, len(WORDS), len(one.config.tags))


def test_parsers_with_other_labels_are_not_joined(tiny: Path, tmp_path: Path) -> None:
    other = shutil.copytree(tiny, tmp_path / "other")
    settings = json.loads((other / "config.json").read_text())
    settings["labels"].reverse()
    (other / "config.json").write_text(json.dumps(settings))
    with pytest.raises(ConfigError, match="the labels of one and other differ; take parsers"):
        join(["one", "other"], [TrainableParser.load(tiny), TrainableParser.load(other)])


def test_a_folder_may_have_a_plus_in_its_name(tiny: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny, tmp_path / "a+b")
    assert load_parser(str(folder)).name == "tiny"


def test_weights_are_averaged(tiny: Path) -> None:
    one, other = TrainableParser.load(tiny), TrainableParser.load(tiny)
    with torch.no_grad():
        for weight in other.network.parameters():
            weight += 2.0
    mean = average(["one", "other"], [one, other]).network.state_dict()
    for name, weight in one.network.named_parameters():
        assert torch.allclose(mean[name], weight + 1.0, atol=1e-5), name


def test_parsers_of_other_shapes_are_not_averaged(tiny: Path) -> None:
    one, other = TrainableParser.load(tiny), TrainableParser.load(tiny)
    other.config = replace(other.config, network=replace(other.config.network, word_layers=2))
    with pytest.raises(ConfigError, match="the network of one and other differ"):
        average(["one", "other"], [one, other])
    assert join(["one", "other"], [one, other]).version == "1+1"
