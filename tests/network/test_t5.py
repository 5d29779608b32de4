"""A network that starts from a tiny random T5 model computes what the model computes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import T5Config, T5ForConditionalGeneration

from syntagma.errors import ConfigError, InputError
from syntagma.network.batch import Example, make_batch
from syntagma.network.config import ModelConfig
from syntagma.network.marian import check_shape
from syntagma.network.network import Network
from syntagma.network.storage import ModelError
from syntagma.network.t5 import is_t5, read_t5
from syntagma.text.sentencepieces import SentencePieces
from syntagma.text.words import split
from syntagma.train.start import silenced

PIECES = ["▁I", "▁can", "n", "'", "t", "▁eat", ".", "▁a", "▁p", "▁ca", "a", "p", "e", "I", "c"]
TEXTS = ["I can't eat.", "I eat.", "eat a pan"]
NAMES = ["<pad>", "</s>", "<unk>", *PIECES]


def make_folder(folder: Path, kind: str, tied: bool) -> Path:
    torch.manual_seed(3)
    config = T5Config(
        vocab_size=len(NAMES), d_model=16, d_kv=6, d_ff=24, num_layers=2, num_decoder_layers=3, num_heads=2,
        feed_forward_proj=kind, tie_word_embeddings=tied, dropout_rate=0.0,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    model = T5ForConditionalGeneration(config)
    weights = {name: weight.clone() for name, weight in model.state_dict().items() if ".embed_tokens." not in name}
    weights = {name: weight + 0.3 * torch.randn_like(weight) for name, weight in weights.items()}
    if tied:
        weights.pop("lm_head.weight", None)
    else:
        weights["lm_head.weight"] = torch.randn(len(NAMES), 16)
    folder.mkdir(exist_ok=True)
    save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config.to_dict()), encoding="utf-8")
    scores = [[name, 0.0 if name in NAMES[:3] else -1.0 - place / 10] for place, name in enumerate(NAMES)]
    tokenizer = {"model": {"type": "Unigram", "unk_id": 2, "vocab": scores}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    return folder


@pytest.fixture(scope="module", params=[("gated-gelu", False), ("relu", True)], ids=["1.1", "1.0"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("t5") / "model", *request.param)


@pytest.fixture(scope="module")
def pieces(folder: Path) -> SentencePieces:
    sentences = [(text, split(text).words) for text in TEXTS]
    return SentencePieces.choose(folder, sentences, 400, min_count=1, two_sided=False)


def start(folder: Path, pieces: SentencePieces, **changes: Any) -> Network:
    model = read_t5(folder)
    labels = [pieces.label_id(name) for name in ("T", *pieces.labels)]
    values = {"vocabulary": pieces.size, "source_layers": 2, "decoder_layers": 3, "context_layers": 1, "dropout": 0.0}
    config = ModelConfig.from_dict(values | {"labels": labels} | model.shape | changes)
    check_shape(model, config)
    network = Network(config)
    weights = model.initial_weights(config, pieces)
    silenced(network, weights)
    own = network.state_dict()
    assert {name: weight.shape for name, weight in weights.items()} == {name: own[name].shape for name in weights}
    network.load_state_dict(weights, strict=False)
    return network.eval()


@torch.no_grad()
def expected_scores(folder: Path, source: str, target: str, pieces: SentencePieces) -> torch.Tensor:
    """T5's own log-probabilities of a target's pieces and its end, among what the vocabulary can write."""
    model = T5ForConditionalGeneration(T5Config(**json.loads((folder / "config.json").read_text()))).eval()
    weights = load_file(folder / "model.safetensors")
    model.load_state_dict(weights, strict=False)
    shared = torch.nn.Parameter(weights["shared.weight"])
    for stack in (model.encoder, model.decoder):  # whatever the library ties
        stack.embed_tokens.weight = shared
    model.lm_head.weight = torch.nn.Parameter(weights.get("lm_head.weight", shared * 16**-0.5).clone())
    rows = {name: row for row, name in enumerate(NAMES)}

    def ids(text: str) -> list[int]:
        return [rows[pieces.piece(at).decode().replace(" ", "▁")] for at in pieces.encode(text)]

    hidden = model.encoder(input_ids=torch.tensor([[*ids(source), 1]])).last_hidden_state
    written = model.decoder(input_ids=torch.tensor([[0, *ids(target)]]), encoder_hidden_states=hidden).last_hidden_state
    logits = model.lm_head(written)[0]
    allowed = [1, *(rows[pieces.piece(at).decode().replace(" ", "▁")] for at in _texts(pieces))]
    chosen = torch.log_softmax(logits[:, allowed], dim=-1)
    return torch.stack([chosen[at, allowed.index(token)] for at, token in enumerate([*ids(target), 1])])


def _texts(pieces: SentencePieces) -> range:
    return range(pieces.first_text_id + 256, pieces.size)


@torch.no_grad()
def our_scores(network: Network, source: str, target: str, pieces: SentencePieces) -> torch.Tensor:
    """Ours, among the same: the states that training computes, times the rows that T5 has."""
    context = [network.config.end] if network.config.guided else []
    batch = make_batch([Example(pieces.encode(source), [(context, pieces.encode(target))])], network.config)
    states = network(batch, network.encode(batch.source))[0]
    allowed = [network.config.end, *_texts(pieces)]
    chosen = torch.log_softmax(states @ network.output_weight[allowed].T, dim=-1)
    return torch.stack(
        [chosen[at, allowed.index(token)] for at, token in enumerate([*pieces.encode(target), network.config.end])]
    )


@pytest.mark.parametrize("architecture", ["seq2seq", "extra-encoder"])
def test_it_computes_what_t5_computes(folder: Path, pieces: SentencePieces, architecture: str) -> None:
    network = start(folder, pieces, architecture=architecture, seq2seq_objective=architecture != "seq2seq")
    for source, target in zip(TEXTS, reversed(TEXTS), strict=True):
        expected = expected_scores(folder, source, target, pieces)
        assert our_scores(network, source, target, pieces).tolist() == pytest.approx(expected.tolist(), abs=1e-4)


def test_fewer_layers_and_copying_begin_near_it(folder: Path, pieces: SentencePieces) -> None:
    whole = start(folder, pieces, architecture="seq2seq")
    fewer = start(folder, pieces, architecture="seq2seq", decoder_layers=2, copy=True)
    for name in ("self_attention.attention.query.weight", "feed_forward.outer.weight"):
        first, last = (fewer.get_parameter(f"decoder.{place}.{name}") for place in (0, 1))
        assert torch.equal(first, whole.get_parameter(f"decoder.0.{name}"))
        assert torch.equal(last, whole.get_parameter(f"decoder.2.{name}"))


def test_a_folder_is_known_by_its_configuration(folder: Path, tmp_path: Path) -> None:
    assert is_t5(folder)
    assert not is_t5(tmp_path)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"relative_attention_num_buckets": 16}, "relative_attention_num_buckets is 16, not 32"),
        ({"feed_forward_proj": "gated-silu"}, "'gated-silu', which Syntagma has not"),
        ({"d_ff": 25}, "DenseReluDense"),
    ],
)
def test_another_model_is_refused(tmp_path: Path, change: dict[str, Any], complaint: str) -> None:
    folder = make_folder(tmp_path / "model", "gated-gelu", False)
    values = json.loads((folder / "config.json").read_text()) | change
    (folder / "config.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(ModelError, match=complaint):
        read_t5(folder)


def test_pieces_of_another_kind_are_refused(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model", "gated-gelu", False)
    (folder / "tokenizer.json").write_text('{"model": {"type": "BPE", "vocab": {}}}', encoding="utf-8")
    with pytest.raises(InputError, match="kind BPE"):
        read_t5(folder)


def test_settings_of_another_network_are_refused(folder: Path, pieces: SentencePieces) -> None:
    with pytest.raises(ConfigError, match="positions=relative"):
        start(folder, pieces, architecture="seq2seq", positions="learned")
