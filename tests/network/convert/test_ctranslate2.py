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


@pytest.mark.parametrize("settings", [{"activation": "swish"}, {"activation": "gelu"}, {"output_bias": True}])
def test_activation_and_output_bias_are_kept(tmp_path: Path, settings: dict[str, Any]) -> None:
    torch.manual_seed(0)
    network = Network(preset("tiny", 60, "seq2seq", max_positions=32, **settings)).eval()
    if network.output_bias is not None:
        torch.nn.init.normal_(network.output_bias)
    to_ctranslate2(network, tmp_path / "model")
    translator = ctranslate2.Translator(str(tmp_path / "model"), inter_threads=1, intra_threads=1)
    (scores,) = translator.score_batch([["20", "21", "1"]], [["30", "31"]])
    with torch.inference_mode():
        ours = network.token_scores(make_batch([Example([20, 21], [([], [30, 31])])], network.config))[0].tolist()
    assert scores.log_probs == pytest.approx(ours, abs=1e-4)


def test_a_piece_that_is_never_written_stays_unwritten(tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = Network(preset("tiny", 60, "seq2seq", max_positions=32, outputs=40)).eval()
    to_ctranslate2(network, tmp_path / "model")
    translator = ctranslate2.Translator(str(tmp_path / "model"), inter_threads=1, intra_threads=1)
    (result,) = translator.translate_batch([["20", "21", "1"]], max_decoding_length=30, sampling_topk=0, beam_size=1)
    assert all(int(token) < 40 for token in result.hypotheses[0])


def test_two_encoders_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="only models with one encoder"):
        to_ctranslate2(Network(preset("tiny", 60)), tmp_path / "model")
