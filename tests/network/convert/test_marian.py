from __future__ import annotations

import pytest
import torch

from syntagma.errors import ConfigError
from syntagma.network.batch import Example, make_batch
from syntagma.network.config import preset
from syntagma.network.convert.marian import to_marian
from syntagma.network.network import Network


def test_marian_computes_the_same() -> None:
    torch.manual_seed(0)
    network = Network(preset("tiny", 60, "seq2seq", norm="post", max_positions=32)).eval()
    model = to_marian(network)
    source, target = [20, 21, 22], [30, 31, 32]
    with torch.inference_mode():
        ours = network.token_scores(make_batch([Example(source, [([], target)])], network.config))[0]
        theirs = model(
            input_ids=torch.tensor([[*source, network.config.end]]),
            decoder_input_ids=torch.tensor([[network.config.start, *target]]),
        ).logits.log_softmax(-1)[0]
    expected = theirs.gather(1, torch.tensor([*target, network.config.end])[:, None])[:, 0]
    assert torch.allclose(ours, expected, atol=1e-4)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match="only a post-norm model with one encoder"):
        to_marian(Network(preset("tiny", 60)))
