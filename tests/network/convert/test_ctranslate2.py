from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from syntagma.errors import ConfigError
from syntagma.network.batch import Example, make_batch
from syntagma.network.config import preset
from syntagma.network.convert.ctranslate2 import to_ctranslate2
from syntagma.network.network import Network

ctranslate2: Any = pytest.importorskip("ctranslate2")


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("weights", ["float32", "int8"])
def test_the_engine_scores_as_we_do(tmp_path: Path, norm: str, weights: Any) -> None:
    torch.manual_seed(0)
    network = Network(preset("tiny", 60, "seq2seq", norm=norm, max_positions=32)).eval()
    to_ctranslate2(network, tmp_path / "model", weights)
    translator = ctranslate2.Translator(str(tmp_path / "model"), inter_threads=1, intra_threads=1)
    source, target = [20, 21, 22], [30, 31, 32]
    (scores,) = translator.score_batch([["20", "21", "22", "1"]], [["30", "31", "32"]])
    with torch.inference_mode():
        ours = network.token_scores(make_batch([Example(source, [([], target)])], network.config))[0].tolist()
    difference = max(abs(a - b) for a, b in zip(scores.log_probs, ours, strict=True))
    assert (
        difference < 1e-4 if weights == "float32" else 1e-3 < difference < 1.5
    )  # 32 wide and untrained: int8 is rough


def test_two_encoders_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="only models with one encoder"):
        to_ctranslate2(Network(preset("tiny", 60)), tmp_path / "model")
