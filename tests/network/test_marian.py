"""A network that starts from a tiny random Marian model computes what the model computes."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
import torch
from transformers import MarianConfig, MarianMTModel

from syntagma.network.batch import Example, make_batch
from syntagma.network.config import ModelConfig
from syntagma.network.marian import check_shape, initial_weights, is_marian, read_marian, spread
from syntagma.network.network import Network
from syntagma.network.storage import ModelError
from syntagma.text.sentencepieces import SentencePieces
from syntagma.text.subwords import Subwords
from syntagma.text.words import split

SOURCE_PIECES = ["▁I", "▁ca", "n", "'", "t", "▁e", "at", ".", "▁", "a", "e"]
TARGET_PIECES = ["▁I", "▁can", "n", "'", "t", "▁eat", ".", "▁a", "▁p", "▁ca", "a", "p"]
TEXTS = ["I can't eat.", "I eat.", "eat a pan"]


def _varint(value: int) -> bytes:
    made = b""
    while value >= 0x80:
        made, value = made + bytes([value & 0x7F | 0x80]), value >> 7
    return made + bytes([value])


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def write_sentencepieces(path: Path, pieces: list[str]) -> None:
    """A unigram model, as sentencepiece writes one."""
    data = _field(1, _field(1, b"<unk>") + b"\x18\x02")
    for number, piece in enumerate(pieces):
        data += _field(1, _field(1, piece.encode()) + b"\x15" + struct.pack("<f", -1.0 - number / 10))
    path.write_bytes(data + _field(2, b"\x18\x01"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("marian")
    names = ["</s>", "<unk>", *dict.fromkeys([*SOURCE_PIECES, *TARGET_PIECES]), "<pad>"]
    torch.manual_seed(3)
    model = MarianMTModel(
        MarianConfig(
            vocab_size=len(names), d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
            decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, activation_function="swish",
            scale_embedding=True, max_position_embeddings=64, pad_token_id=len(names) - 1, eos_token_id=0,
            bos_token_id=0, decoder_start_token_id=len(names) - 1, forced_eos_token_id=None, init_std=0.3,
        )
    )  # fmt: skip
    model.final_logits_bias.normal_()
    model.save_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    (folder / "vocab.json").write_text(json.dumps({name: at for at, name in enumerate(names)}), encoding="utf-8")
    write_sentencepieces(folder / "source.spm", SOURCE_PIECES)
    write_sentencepieces(folder / "target.spm", TARGET_PIECES)
    return folder


@pytest.fixture(scope="module")
def pieces(folder: Path) -> SentencePieces:
    return SentencePieces.choose(folder, [(text, split(text).words) for text in TEXTS], 400, min_count=1)


def shape(folder: Path, subwords: Subwords, **changes: object) -> ModelConfig:
    values = {
        "vocabulary": subwords.size, "outputs": subwords.outputs, "source_layers": 2, "decoder_layers": 2,
        "context_layers": 1, "dropout": 0.0, "labels": [subwords.label_id(name) for name in ("T", *subwords.labels)],
    }  # fmt: skip
    return ModelConfig.from_dict(values | read_marian(folder).shape | changes)


def start(folder: Path, subwords: Subwords, **changes: object) -> Network:
    from syntagma.train.start import silenced

    config = shape(folder, subwords, **changes)
    network = Network(config)
    weights = initial_weights(read_marian(folder), config, subwords)
    silenced(network, weights)
    network.load_state_dict(weights, strict=False)
    return network.eval()


def expected_scores(folder: Path, source: str, target: str, pieces: SentencePieces) -> torch.Tensor:
    """Marian's own log-probabilities of a target's tokens, among the pieces that the vocabulary can write."""
    model = MarianMTModel.from_pretrained(folder).eval()
    rows = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))

    def ids(tokens: list[int]) -> list[int]:
        return [rows[pieces.piece(at).decode().replace(" ", "▁")] for at in tokens]

    source_ids, target_ids = ids(pieces.encode(source)), ids(pieces.encode_target(target))
    logits = model(
        input_ids=torch.tensor([[*source_ids, 0]]),
        decoder_input_ids=torch.tensor([[model.config.pad_token_id, *target_ids]]),
    ).logits[0]
    texts = range(pieces.first_text_id + 256, pieces.outputs)
    written = ids([*texts])
    chosen = torch.log_softmax(logits[:, [0, *written]], dim=-1)
    return torch.stack([chosen[at, [0, *written].index(token)] for at, token in enumerate([*target_ids, 0])])


@torch.no_grad()
def our_scores(network: Network, source: str, target: str, pieces: SentencePieces) -> torch.Tensor:
    if network.config.guided:
        level = ([network.config.end], pieces.encode_target(target))
    else:
        level = ([], pieces.encode_target(target))
    batch = make_batch([Example(pieces.encode(source), [level])], network.config)
    if network.output_bias is not None:  # only pieces and the end compete, as in Marian
        end = network.output_bias[network.config.end].item()
        network.output_bias[: pieces.first_text_id + 256] -= 100
        network.output_bias[network.config.end] = end
    return network.token_scores(batch)[0]


@pytest.mark.parametrize("architecture", ["seq2seq", "extra-encoder", "extra-attention"])
def test_computes_what_marian_computes(folder: Path, pieces: SentencePieces, architecture: str) -> None:
    network = start(folder, pieces, architecture=architecture)
    found = our_scores(network, "I can't eat.", "I eat a pan.", pieces)
    assert torch.allclose(found, expected_scores(folder, "I can't eat.", "I eat a pan.", pieces), atol=1e-4)


def test_concat_takes_all_layers(folder: Path, pieces: SentencePieces) -> None:
    network = start(folder, pieces, architecture="concat", context_layers=0)
    theirs = read_marian(folder).weights
    assert torch.equal(
        network.source_encoder.layers[1].feed_forward.inner.weight, theirs["model.encoder.layers.1.fc1.weight"]
    )


def test_fewer_layers_take_the_ends() -> None:
    assert spread(4, 6) == [0, 2, 3, 5]
    assert spread(1, 6) == [0]


def test_own_subwords_take_the_mean_of_the_pieces(folder: Path) -> None:
    subwords = Subwords.train([split(text).words for text in TEXTS * 3], 300)
    weights = initial_weights(read_marian(folder), shape(folder, subwords, outputs=None), subwords)
    model = read_marian(folder)
    eat = next(at for at in range(subwords.size) if subwords.piece(at) == b" eat")
    assert torch.equal(weights["embedding.weight"][eat], model.weights["model.shared.weight"][model.rows["▁eat"]])
    cant = [at for at in range(subwords.size) if subwords.piece(at) == b"n't"]
    parts = [model.rows[piece] for piece in ("n", "'", "t")]
    assert torch.allclose(weights["embedding.weight"][cant[0]], model.weights["model.shared.weight"][parts].mean(dim=0))


def test_all_wrong_weights_are_listed(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    weights = torch.load(tmp_path / "pytorch_model.bin", weights_only=True)
    del weights["final_logits_bias"]
    weights["model.encoder.layers.0.fc1.weight"] = torch.zeros(3, 3)
    torch.save(weights, tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"missing weights: final_logits_bias; misshapen .*fc1.weight is \(3, 3\)"):
        read_marian(tmp_path)


def test_a_pickle_is_not_executed(folder: Path, tmp_path: Path) -> None:
    import pickle

    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return (tmp_path.joinpath("ran").touch, ())

    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps({"model": Evil()}, protocol=2))
    with pytest.raises(ModelError, match="cannot be read as weights"):
        read_marian(tmp_path)
    assert not (tmp_path / "ran").exists()


def test_other_shapes_are_refused(folder: Path, pieces: SentencePieces) -> None:
    with pytest.raises(Exception, match="leave out width"):
        check_shape(read_marian(folder), shape(folder, pieces, width=32))


def test_is_marian(folder: Path, tmp_path: Path) -> None:
    assert is_marian(folder)
    assert not is_marian(tmp_path)
