"""Runs that start from a model of another shape."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from syntagma.corpus import Corpus
from syntagma.errors import ConfigError
from syntagma.network.batch import Example, make_batch
from syntagma.network.ctranslate2 import read_ctranslate2
from syntagma.network.network import Network
from syntagma.network.storage import from_pretrained
from syntagma.train import TrainConfig, train
from syntagma.train.data import Data
from syntagma.train.start import settled, starting_network
from train.toy import make_corpus


@pytest.fixture(scope="module")
def ctranslate2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ctranslate2")
    pytest.importorskip("sentencepiece")
    from network.test_ctranslate2 import converted, make_marian

    return converted(make_marian(tmp_path_factory.mktemp("models") / "marian"), "int8")


def made(corpus: Corpus, tmp_path: Path, first: dict[str, object], then: dict[str, object]) -> list[Network]:
    settings = {"data": str(corpus.folder), "preset": "tiny", "steps": 1, "threads": 1, "dropout": 0.0}
    train(TrainConfig.from_dict(settings | first), tmp_path / "first", quiet=True)
    config = settled(TrainConfig.from_dict(settings | {"init": str(tmp_path / "first")} | then))
    grown = starting_network(config, corpus).eval()
    return [from_pretrained(tmp_path / "first").network.eval(), grown]


def loss(corpus: Corpus, network: Network) -> float:
    data = Data(corpus.split("dev").examples, "dev", network.config)
    with torch.no_grad():
        return float(network.loss(data.batch(range(len(data)))).nll)


def test_the_architecture_is_kept_unless_another_is_asked_for(corpus: Corpus, tmp_path: Path) -> None:
    first, grown = made(corpus, tmp_path, {"architecture": "seq2seq"}, {})
    assert grown.config.architecture == first.config.architecture == "seq2seq"
    assert loss(corpus, grown) == pytest.approx(loss(corpus, first), rel=1e-6)


def test_more_layers_begin_as_nothing(corpus: Corpus, tmp_path: Path) -> None:
    first, grown = made(corpus, tmp_path, {}, {"decoder_layers": 3, "source_layers": 2})
    assert (len(grown.decoder), len(first.decoder)) == (3, 1)
    assert loss(corpus, grown) == pytest.approx(loss(corpus, first), rel=1e-5)


def test_a_copy_head_begins_as_next_to_nothing_and_learns(corpus: Corpus, tmp_path: Path) -> None:
    first, grown = made(corpus, tmp_path, {}, {"copy": True})
    assert grown.copy is not None
    data = Data(corpus.split("dev").examples, "dev", grown.config)
    batch = data.batch(range(len(data)))
    with torch.no_grad():
        difference = grown.token_scores(batch) - first.token_scores(batch)
    assert difference.min() >= -0.0182  # log(1 - sigmoid(-4)): a share of two percent is the source's
    grown.loss(batch).total.backward()  # type: ignore[no-untyped-call]
    assert all(weight.grad is not None and weight.grad.any() for weight in grown.copy.gate.parameters())
    assert grown.copy.query.weight.grad is not None
    assert grown.copy.query.weight.grad.any()


def test_a_baseline_takes_what_it_has_in_common_with_a_guided_model(corpus: Corpus, tmp_path: Path) -> None:
    first, grown = made(corpus, tmp_path, {"seq2seq_objective": True}, {"architecture": "seq2seq"})
    assert (grown.config.architecture, grown.config.seq2seq_objective, len(grown.decoder)) == ("seq2seq", False, 1)
    mine, theirs = grown.state_dict(), first.state_dict()
    both = mine.keys() & theirs.keys()
    assert both > {"embedding.weight", "decoder.0.source_attention.attention.query.weight"}
    assert all(torch.equal(mine[name], theirs[name]) for name in both)
    assert len(grown.source_encoder.layers) == len(first.source_encoder.layers)


def test_and_a_guided_model_with_a_baseline(corpus: Corpus, tmp_path: Path) -> None:
    asked = {"architecture": "extra-encoder", "seq2seq_objective": True}
    first, grown = made(corpus, tmp_path, {"architecture": "seq2seq"}, asked)
    assert grown.config.guided
    assert torch.equal(grown.embedding.weight, first.embedding.weight)
    top, word, infill = grown.config.labels[0], 20, [grown.config.part, 21, 22]
    with torch.no_grad():  # what the context says counts for nothing yet
        batches = [
            make_batch([Example([30, 31], [(context, infill)])], grown.config) for context in ([top], [word, top])
        ]
        assert torch.equal(*(grown.token_scores(batch) for batch in batches))


@pytest.mark.parametrize("then", [{"decoder_layers": 1}, {"label_index": True}, {"width": 64}])
def test_other_shapes_are_refused(corpus: Corpus, tmp_path: Path, then: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="the settings make another network than the model"):
        made(corpus, tmp_path, {"decoder_layers": 2}, then)


@pytest.mark.parametrize("architecture", ["seq2seq", "concat", "extra-encoder", "extra-attention"])
def test_a_run_starts_from_a_ctranslate2_folder(corpus: Corpus, ctranslate2: Path, architecture: str) -> None:
    settings = {"data": str(corpus.folder), "preset": "tiny", "steps": 1, "init": str(ctranslate2)}
    config = settled(TrainConfig.from_dict(settings | {"architecture": architecture}))
    network = starting_network(config, corpus)
    mine, theirs = network.state_dict(), read_ctranslate2(ctranslate2).weights
    for ours, name in (("source_encoder.layers.0", "encoder.layers.0"), ("decoder.0", "decoder.layers.0")):
        assert torch.equal(mine[f"{ours}.feed_forward.inner.weight"], theirs[f"model.{name}.fc1.weight"])
    assert (network.config.width, network.config.norm, network.config.architecture) == (32, "post", architecture)


def test_the_usual_architecture_without_another(corpus: Corpus, ctranslate2: Path) -> None:
    config = TrainConfig.from_dict({"data": str(corpus.folder), "preset": "tiny", "init": str(ctranslate2)})
    assert settled(config).architecture == config.usual_architecture


def test_other_widths_than_the_folders_are_refused(corpus: Corpus, ctranslate2: Path) -> None:
    settings = {"data": str(corpus.folder), "preset": "tiny", "init": str(ctranslate2), "width": 64}
    with pytest.raises(ConfigError, match="leave out width"):
        starting_network(settled(TrainConfig.from_dict(settings)), corpus)


def test_a_bundled_model_starts_a_run_with_another_vocabulary(corpus: Corpus) -> None:
    config = settled(TrainConfig.from_dict({"data": str(corpus.folder), "init": "paraphrase-en"}))
    grown, start = starting_network(config, corpus), from_pretrained("paraphrase-en")
    theirs = {start.subwords.piece(index): index for index in range(start.subwords.first_text_id, start.subwords.size)}
    first = corpus.subwords.first_text_id
    pairs = [(index, theirs.get(corpus.subwords.piece(index))) for index in range(first, corpus.subwords.size)]
    shared = [(mine, origin) for mine, origin in pairs if origin is not None]
    assert len(shared) > 100
    for name in ("embedding.weight", "output_bias"):
        mine, origin = grown.state_dict()[name], start.network.state_dict()[name]
        assert torch.equal(mine[[row for row, _ in shared]], origin[[row for _, row in shared]])


def test_a_bundled_model_starts_near_on_its_own_pieces(tmp_path: Path) -> None:
    """As README and docs/training.md say: `prepare ... tokenizer=paraphrase-en`, then `init=paraphrase-en`."""
    losses = []
    for vocabulary in ({}, {"tokenizer": "paraphrase-en"}):
        data = make_corpus(tmp_path / str(len(losses)), pairs=30, dev=3, **vocabulary)
        config = settled(TrainConfig.from_dict({"data": str(data.folder), "init": "paraphrase-en"}))
        losses.append(loss(data, starting_network(config, data).eval()))
    far, near = losses
    assert near < 0.1 * far
