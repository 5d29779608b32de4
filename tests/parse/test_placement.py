"""The parser's network and losses on a device that is not the host's."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from pretended_device import pretended_device
from syntagma.errors import ConfigError
from syntagma.parse import load_parser
from syntagma.parse.loss import margin_loss, span_loss, tag_loss, teacher_loss
from syntagma.parse.network import collate
from syntagma.parse.trainable import TrainableParser

SENTENCES = [["I", "saw", "the", "dog", "."], ["Who", "saw", "me", "?"], ["Go", "!"]]


def test_parsing_stays_on_the_device(tiny: Path) -> None:
    parser = TrainableParser.load(tiny)
    expected = parser.parse(SENTENCES)
    with pretended_device() as mode:
        mode.put(*parser.network.parameters(), *parser.network.buffers())
        assert parser.parse(SENTENCES) == expected


def test_its_losses_stay_on_the_device(tiny: Path) -> None:
    parser = TrainableParser.load(tiny)
    encoded = [parser.pieces.encode(words, 64) for words in SENTENCES]
    with pretended_device() as mode:
        mode.put(*parser.network.parameters(), *parser.network.buffers())
        batch = collate(encoded, parser.pieces.pad, [0, 1, 0]).to(torch.device("cpu"))
        scores, tags = parser.network.train()(batch)
        gold, gold_tags = torch.zeros(scores.shape[:2], dtype=torch.long), torch.zeros(tags.shape[:2], dtype=torch.long)
        mode.put(gold, gold_tags)
        losses = [margin_loss(scores, gold, batch.lengths), span_loss(scores, gold), tag_loss(tags, gold_tags)]
        losses.append(teacher_loss(scores, scores.detach(), gold))
        assert all(mode.is_there(loss) for loss in losses)
        torch.stack(losses).sum().backward()  # type: ignore[no-untyped-call]
    assert all(torch.isfinite(loss) for loss in losses)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_a_precision_means_torch(tiny: Path, precision: str) -> None:
    parser = load_parser(str(tiny), device="cpu", precision=precision)
    assert isinstance(parser, TrainableParser)
    assert parser.parse(SENTENCES) == load_parser(str(tiny)).parse(SENTENCES)


def test_a_device_that_is_not_there_is_said(tiny: Path) -> None:
    for name in (str(tiny), f"{tiny}+{tiny}"):
        with pytest.raises(ConfigError, match="the device 'cuda:7' is not here; give another, or auto"):
            load_parser(name, device="cuda:7")
