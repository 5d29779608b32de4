"""A network that starts from a CTranslate2 model computes what CTranslate2 computes."""

from __future__ import annotations

import json
import shutil
import struct
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from network.backbone.tiny import make_base
from network.test_marian import our_scores
from syntagma.errors import SyntagmaError
from syntagma.network.config import ModelConfig
from syntagma.network.ctranslate2 import is_ctranslate2, read_ctranslate2, read_variables
from syntagma.network.marian import initial_weights, read_marian
from syntagma.network.network import Network
from syntagma.network.storage import ModelError
from syntagma.text.sentencepieces import Piece, SentencePieces, read_sentencepieces
from syntagma.train.start import silenced

ctranslate2: Any = pytest.importorskip("ctranslate2")
pytest.importorskip("sentencepiece")

SOURCE, TARGET = "I can eat.", "the old man"


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_marian(tmp_path_factory.mktemp("models") / "marian")


def make_marian(folder: Path) -> Path:
    """A random Marian model that scales its embeddings, as OPUS-MT's do."""
    import transformers

    make_base(folder, "marian")
    model = transformers.MarianMTModel.from_pretrained(folder)
    model.config.scale_embedding = True
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 1:  # biases and norms, so that none of them equals another
                weight.add_(torch.randn_like(weight) * 0.3)
    model.final_logits_bias.normal_()
    model.final_logits_bias[0, 1] = -100.0  # CTranslate2 lets <unk> compete, which no vocabulary of ours has
    model.final_logits_bias[0, -1] = 0.0  # <pad>, which CTranslate2 does not have
    model.save_pretrained(folder)
    return folder


def converted(marian: Path, quantization: str | None) -> Path:
    folder = marian.with_name(f"ctranslate2-{quantization}")
    if not folder.exists():
        from ctranslate2.converters import TransformersConverter

        with warnings.catch_warnings(action="ignore"):
            TransformersConverter(str(marian)).convert(str(folder), quantization=quantization)
        for name in ("source.spm", "target.spm"):
            shutil.copy(marian / name, folder)
    return folder


@pytest.fixture(scope="module")
def folder(marian: Path) -> Path:
    return converted(marian, "int8")


@pytest.fixture(scope="module")
def pieces(marian: Path) -> SentencePieces:
    """All pieces of the model, so that the same ones compete."""
    source, target = (read_sentencepieces(marian / f"{side}.spm") for side in ("source", "target"))
    names = json.loads((marian / "vocab.json").read_text(encoding="utf-8"))
    texts = [name for name in names if name not in ("</s>", "<unk>", "<pad>")]
    return SentencePieces(("S",), [Piece(text, target.get(text, -50.0), source.get(text)) for text in texts])


def start(folder: Path, pieces: SentencePieces, architecture: str) -> Network:
    model = read_ctranslate2(folder)
    values: dict[str, Any] = {
        "vocabulary": pieces.size, "outputs": pieces.outputs, "architecture": architecture, "dropout": 0.0,
        "source_layers": 1, "decoder_layers": 2, "context_layers": 1,
        "labels": [pieces.label_id(name) for name in ("T", "S")],
    }  # fmt: skip
    network = Network(ModelConfig.from_dict(values | model.shape))
    weights = initial_weights(model, network.config, pieces)
    silenced(network, weights)
    network.load_state_dict(weights, strict=False)
    return network.eval()


def their_scores(folder: Path, pieces: SentencePieces) -> list[float]:
    """CTranslate2's log-probabilities of the target; computing in fp32 makes int8 weights exact."""
    translator = ctranslate2.Translator(str(folder), compute_type="float32", inter_threads=1, intra_threads=1)
    source, target = (
        [pieces.piece(number).decode().replace(" ", "▁") for number in ids]
        for ids in (pieces.encode(SOURCE), pieces.encode_target(TARGET))
    )
    (scores,) = translator.score_batch([[*source, "</s>"]], [target])
    return list(scores.log_probs)


@pytest.mark.parametrize("quantization", [None, "int8", "int16", "float16", "bfloat16"])
def test_scores_are_those_of_ctranslate2(marian: Path, pieces: SentencePieces, quantization: str | None) -> None:
    folder = converted(marian, quantization)
    ours = our_scores(start(folder, pieces, "seq2seq"), SOURCE, TARGET, pieces)
    assert ours.tolist() == pytest.approx(their_scores(folder, pieces), abs=1e-3)


@pytest.mark.parametrize("architecture", ["extra-encoder", "extra-attention"])
def test_guided_networks_start_where_the_model_is(folder: Path, pieces: SentencePieces, architecture: str) -> None:
    ours = our_scores(start(folder, pieces, architecture), SOURCE, TARGET, pieces)
    assert ours.tolist() == pytest.approx(their_scores(folder, pieces), abs=1e-3)


def test_weights_come_back_under_marians_names(marian: Path) -> None:
    ours, theirs = read_ctranslate2(converted(marian, None)), read_marian(marian)
    assert ours.weights.keys() == theirs.weights.keys()
    assert all(torch.equal(ours.weights[name], theirs.weights[name]) for name in theirs.weights)
    assert ours.shape == theirs.shape
    assert ours.rows == theirs.rows


# -- files that are not what they should be


def write_model(path: Path, variables: dict[str, torch.Tensor]) -> None:
    """A `model.bin`, as CTranslate2's converters write it."""
    types = [torch.float32, torch.int8, torch.int16, torch.int32, torch.float16, torch.bfloat16]

    def string(text: str) -> bytes:
        return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"

    data = struct.pack("<I", 6) + string("TransformerSpec") + struct.pack("<II", 7, len(variables))
    for name, tensor in variables.items():
        content = tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes() if tensor.dim() else b""
        content = content or tensor.reshape(1).view(torch.uint8).numpy().tobytes()
        data += string(name) + struct.pack(f"<B{tensor.dim()}I", tensor.dim(), *tensor.shape)
        data += struct.pack("<BI", types.index(tensor.dtype), len(content)) + content
    path.write_bytes(data + struct.pack("<I", 0))


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    for path in folder.iterdir():
        shutil.copy(path, tmp_path)
    return tmp_path


def test_all_that_is_wrong_is_said_at_once(copy: Path) -> None:
    variables = read_variables(copy / "model.bin")
    del variables["encoder/layer_0/ffn/linear_0/bias"]
    variables["decoder/layer_1/attention/linear_1/weight_scale"] = torch.ones(3)
    variables["encoder/layer_0/ffn/gate/weight"] = torch.ones(2, 2)
    variables["encoder/scale_embeddings"] = torch.tensor(1.0)
    variables["encoder/pre_norm"] = torch.tensor(1, dtype=torch.int8)
    variables["decoder/projection/weight"] = variables["decoder/projection/weight"] + 1
    write_model(copy / "model.bin", variables)
    with pytest.raises(ModelError) as caught:
        read_ctranslate2(copy)
    for part in (
        "missing weights: encoder/layer_0/ffn/linear_0/bias",
        "unknown weights: encoder/layer_0/ffn/gate/weight",
        "decoder/layer_1/attention/linear_1/weight_scale is (3,), not (64,)",
        "encoder/pre_norm is 1, not 0 as in Marian",
        "encoder/scale_embeddings is 1, not 5.65685 as in Marian",
        "decoder/projection/weight are other weights than decoder/embeddings/weight",
    ):
        assert part in str(caught.value)


def test_numbers_that_are_none_and_other_positions_are_refused(copy: Path) -> None:
    variables = read_variables(copy / "model.bin")
    variables["decoder/layer_0/ffn/layer_norm/beta"][3] = float("nan")
    variables["decoder/position_encodings/encodings"] *= 2  # and so the encoder's, which are the same
    write_model(copy / "model.bin", variables)
    with pytest.raises(ModelError, match=r"not finite: decoder/layer_0/ffn/layer_norm/beta; .* not Marian's sinusoids"):
        read_ctranslate2(copy)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_an_error_of_ours_or_another_model(copy: Path, folder: Path, data: st.DataObject) -> None:
    whole = (folder / "model.bin").read_bytes()
    position = data.draw(st.one_of(st.integers(0, 400), st.integers(0, len(whole) - 1)))
    damaged = data.draw(
        st.sampled_from([whole[:position], whole[:position] + b"\xff" + whole[position + 1 :], whole + b"x"])
    )
    (copy / "model.bin").write_bytes(damaged)
    try:
        read_ctranslate2(copy)
    except SyntagmaError:
        return
    assert len(damaged) == len(whole)


def test_two_vocabularies_do_not_fit(copy: Path) -> None:
    (copy / "shared_vocabulary.json").rename(copy / "source_vocabulary.json")
    with pytest.raises(ModelError, match=r"has no shared_vocabulary\.json"):
        read_ctranslate2(copy)


def test_another_number_of_pieces_does_not_fit(copy: Path) -> None:
    (copy / "shared_vocabulary.json").write_text('["</s>", "a"]', encoding="utf-8")
    with pytest.raises(ModelError, match=r"decoder/embeddings/weight is \(\d+, 32\), not \(2, 32\)"):
        read_ctranslate2(copy)


def test_is_ctranslate2(folder: Path, marian: Path) -> None:
    assert is_ctranslate2(folder)
    assert not is_ctranslate2(marian)
