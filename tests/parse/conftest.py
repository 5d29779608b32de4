"""A tiny encoder, a tiny treebank and a tiny trained parser, all made here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

TREES = """\
(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN dog))) (. .)))
(TOP (S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (PRP me))) (. .)))
(TOP (S (NP (DT a) (JJ small) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .)))
(TOP (S (VP (VB Go) (ADVP (RB home)))))
(TOP (NP (DT the) (NN end)))
(TOP (SBARQ (WHNP (WP Who)) (SQ (VP (VBD saw) (NP (PRP me)))) (? ?)))
(TOP (S (NP (PRP I)) (VP (VBD did) (RB n't) (VP (VB go) (PP (IN to) (NP (NP (NNP John) (POS 's)) (NN house))))) (. .)))
"""

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,?!'\"()[]-`"


def make_encoder(folder: Path) -> Path:
    """A folder with a BERT of two small layers and random weights, and a tokenizer of letters and a few words."""
    import torch
    from safetensors.torch import save_file
    from tokenizers import Tokenizer, normalizers, pre_tokenizers
    from tokenizers.models import WordPiece

    words = sorted({word.lower() for line in TREES.splitlines() for word in line.replace(")", " ").split()})
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *LETTERS, *("##" + letter for letter in LETTERS)]
    tokens += [word for word in words if word.isalpha() and len(word) > 1]
    tokenizer = Tokenizer(WordPiece({token: n for n, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    shape: dict[str, Any] = {
        "vocab_size": len(tokens), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 32, "max_position_embeddings": 64, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
        "model_type": "bert", "hidden_act": "gelu",
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(shape))
    generator = torch.Generator().manual_seed(1)
    weights = {}
    sizes = {"word": len(tokens), "position": 64, "token_type": 2}
    for name, size in sizes.items():
        weights[f"embeddings.{name}_embeddings.weight"] = torch.randn(size, 16, generator=generator)
    _norm(weights, "embeddings.LayerNorm")
    for number in range(2):
        layer = f"encoder.layer.{number}"
        for name, size in {
            "attention.self.query": (16, 16), "attention.self.key": (16, 16), "attention.self.value": (16, 16),
            "attention.output.dense": (16, 16), "intermediate.dense": (32, 16), "output.dense": (16, 32),
        }.items():  # fmt: skip
            weights[f"{layer}.{name}.weight"] = torch.randn(*size, generator=generator) * 0.2
            weights[f"{layer}.{name}.bias"] = torch.randn(size[0], generator=generator) * 0.1
        _norm(weights, f"{layer}.attention.output.LayerNorm")
        _norm(weights, f"{layer}.output.LayerNorm")
    save_file(weights, folder / "model.safetensors")
    return folder


def _norm(weights: dict[str, Any], name: str) -> None:
    import torch

    weights[f"{name}.weight"] = torch.ones(16)
    weights[f"{name}.bias"] = torch.zeros(16)


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="session")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("treebank")
    (folder / "train.trees").write_text(TREES * 6)
    (folder / "dev.trees").write_text(TREES)
    return folder


@pytest.fixture(scope="session")
def tiny_settings(encoder: Path) -> dict[str, Any]:
    return {
        "encoder": str(encoder), "name": "tiny", "epochs": 10.0, "batch_pieces": 64, "encoder_rate": 3e-3,
        "head_rate": 1e-2, "average": 0.9, "score_every": 1000, "span_width": 64, "precision": "fp32",
        "dropout": 0.1, "head_dropout": 0.0, "variants": {"lower": 0.1},
    }  # fmt: skip


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory, treebank: Path, tiny_settings: dict[str, Any]) -> Path:
    """The model folder of a parser that was trained on the tiny treebank for a moment."""
    from syntagma.parse.settings import ParserTrainConfig, read_data
    from syntagma.parse.train import ParserTrainer

    trainer = ParserTrainer(
        ParserTrainConfig.from_dict(tiny_settings), read_data([treebank], [treebank]), tmp_path_factory.mktemp("run")
    )
    trainer.run()
    return trainer.model_folder
