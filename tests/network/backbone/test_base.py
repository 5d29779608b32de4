"""Bases that cannot be used: one clear sentence each; and which ids labels get."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sentencepiece
import transformers

from network.backbone.tiny import TEXTS, make_base
from syntagma.corpus import Corpus
from syntagma.errors import BackboneError, ConfigError, SyntagmaError
from syntagma.network.backbone.base import _pieces, adapt, load_base, locate
from syntagma.network.backbone.storage import from_pretrained, make_backbone, save_backbone
from syntagma.network.storage import ModelError
from syntagma.runtime.hf import HfRuntime
from syntagma.search import Generator
from syntagma.train import TrainConfig, train
from syntagma.train.data import DataError

LABELS = ("S", "NP", "VP", "PP")


def change(path: Path, **values: Any) -> None:
    found = json.loads(path.read_text()) | values
    path.write_text(json.dumps({name: value for name, value in found.items() if value is not None}))


def test_labels_take_unused_entries_first(bases: dict[str, Path]) -> None:
    bart, t5, gpt2 = (load_base(str(bases[kind])) for kind in ("bart", "t5", "gpt2"))
    vocabulary, config, prefix = adapt(bart, LABELS, "concat")
    unused = [bart.tokenizer.convert_tokens_to_ids(f"madeupword000{number}") for number in range(3)]
    assert [config.sep, config.part, config.labels[0]] == unused
    assert config.labels[1:] == tuple(range(330, 334))  # and then new ones
    assert vocabulary.size == 334 == bart.model.get_input_embeddings().num_embeddings == bart.model.lm_head.out_features
    assert (prefix, config.start, config.end, config.pad) == ((0,), 2, 2, 1)
    vocabulary, config, prefix = adapt(t5, LABELS, "concat")
    assert t5.tokenizer.convert_ids_to_tokens(config.sep) == "<extra_id_0>"
    assert vocabulary.size == t5.model.config.vocab_size == t5.model.get_input_embeddings().num_embeddings
    vocabulary, config, prefix = adapt(gpt2, LABELS, "concat")
    assert config.pad != config.end
    assert len({config.pad, config.start, config.end, config.sep, config.part, *config.labels}) == 10


def test_a_base_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*_: object, **__: object) -> None:
        raise OSError("no network.\nmore")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", no_network)
    what = r"'some/bart' is no folder here, and it cannot be fetched from the hub \(no network\); give the folder of"
    with pytest.raises(BackboneError, match=what):
        load_base("some/bart")
    with pytest.raises(BackboneError, match=r"there is no backbone 'a/b/c'; give a folder, a .gguf file or a hub id"):
        load_base("a/b/c")
    with pytest.raises(BackboneError, match=r"there is no backbone 'x.gguf'"):
        load_base("x.gguf")
    with pytest.raises(BackboneError, match=r"it holds no config.json; give the folder of a pretrained model"):
        load_base(str(tmp_path))


def test_gguf_files_are_named_to_the_library(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"")
    pytest.importorskip("gguf")
    assert locate(str(tmp_path / "m.gguf")) == (str(tmp_path), {"gguf_file": "m.gguf", "local_files_only": True})
    with pytest.raises(BackboneError, match=r"m.gguf: it cannot be loaded \(.*\); check the folder's files"):
        load_base(str(tmp_path / "m.gguf"))


def test_a_base_that_writes_no_text(tmp_path: Path) -> None:
    shape = transformers.BertConfig(vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2)
    transformers.BertModel(shape).save_pretrained(tmp_path)
    with pytest.raises(BackboneError, match=r"is no text generator \(BertModel\); use an encoder-decoder such as BART"):
        load_base(str(tmp_path))


def test_a_tokenizer_without_the_needed_ids(copied: Callable[[str], Path]) -> None:
    gpt2, bart = copied("gpt2"), copied("bart")
    change(gpt2 / "config.json", eos_token_id=None)
    base = load_base(str(gpt2))
    base.tokenizer.eos_token = None
    base.model.config.eos_token_id = None
    with pytest.raises(BackboneError, match="has no token that ends a text; set its eos_token"):
        adapt(base, LABELS, "concat")
    base = load_base(str(bart))
    base.model.config.decoder_start_token_id = None
    with pytest.raises(BackboneError, match="does not say which token its decoder starts from; set decoder_start"):
        adapt(base, LABELS, "concat")


def test_marian_pieces_are_those_of_sentencepiece(bases: dict[str, Path], copied: Callable[[str], Path]) -> None:
    base = load_base(str(bases["marian"]))
    vocabulary, _, _ = adapt(base, LABELS, "concat")
    for text in ("der Hund fraß  ein ½ Haus", "wer?", "中文?"):
        assert vocabulary.encode(text) == base.tokenizer(text)["input_ids"][:-1]
    for text in ("I saw the  fish.", "½ house", "中文?"):
        assert vocabulary._run(f" {text}") == tuple(base.tokenizer(text_target=text)["input_ids"][:-1])
    foreign = base.tokenizer.get_vocab()["ß"]
    assert not vocabulary.is_word(foreign)  # a piece of sources only is never written
    broken = copied("marian")
    (broken / "target.spm").write_bytes(b"x" * 99)
    with pytest.raises(BackboneError, match="cannot be loaded"):
        load_base(str(broken))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS), model_prefix=str(broken / "bpe"), vocab_size=90, model_type="bpe", minloglevel=2
    )
    (broken / "bpe.model").rename(broken / "target.spm")
    with pytest.raises(BackboneError, match=r"target.spm: it is no unigram model of sentencepiece"):
        load_base(str(broken))
    apart = SimpleNamespace(spm_files=["a", "b"], separate_vocabs=True)
    with pytest.raises(BackboneError, match="the tokenizer of 'm' has ids of its own for each language"):
        _pieces("m", apart)
    with pytest.raises(BackboneError, match="the tokenizer of 'm' has no"):
        _pieces("m", SimpleNamespace())


def test_what_is_over_the_positions(corpus: Corpus, bases: dict[str, Path], tmp_path: Path) -> None:
    common = {"data": str(corpus.folder), "backbone": str(bases["bart"]), "steps": 2, "threads": 1}
    with pytest.raises(DataError, match="more than the model's 20 positions"):
        train(TrainConfig.from_dict(common | {"max_positions": 20}), tmp_path / "run", quiet=True)
    with pytest.raises(BackboneError, match="has room for 126 positions, not 500; give a max_positions of at most 126"):
        train(TrainConfig.from_dict(common | {"max_positions": 500}), tmp_path / "other", quiet=True)
    network, vocabulary, _ = make_backbone(str(bases["gpt2"]), LABELS)
    generator = Generator(HfRuntime(network), vocabulary)
    with pytest.raises(SyntagmaError, match="subwords, the model reads 127; split it"):
        generator("fish " * 200)
    found = generator("fish " * 60, beam=2, max_depth=3, max_tokens=200)  # long, and still within the positions
    assert found[0].tree is not None


def test_settings_that_contradict(tmp_path: Path) -> None:
    common = {"data": "x", "backbone": "y"}
    assert TrainConfig.from_dict(common).usual_architecture == "concat"
    for values, what in (
        (common | {"architecture": "extra-encoder"}, "a backbone cannot be extra-encoder"),
        (common | {"width": 64}, "'width' is the backbone's own"),
        (common | {"init": "z"}, "from a backbone or from a model"),
        ({"data": "x", "lora": True}, "LoRA needs a backbone"),
    ):
        with pytest.raises(ConfigError, match=what):
            TrainConfig.from_dict(values)


def test_a_folder_that_was_tampered_with(bases: dict[str, Path], tmp_path: Path) -> None:
    network, vocabulary, origin = make_backbone(str(bases["t5"]), LABELS)
    save_backbone(tmp_path / "model", network, vocabulary, origin, "# card\n")
    assert from_pretrained(tmp_path / "model").subwords.fingerprint == vocabulary.fingerprint
    change(tmp_path / "model" / "tokenizer.json", size=7)
    with pytest.raises(ModelError, match=r"its tokenizer.json is not the one it was trained with"):
        from_pretrained(tmp_path / "model")
    save_backbone(tmp_path / "model", network, vocabulary, origin, "# card\n")
    (tmp_path / "model" / "model.safetensors").write_bytes(b"x" * 100)
    with pytest.raises(ModelError, match="it cannot be read as weights"):
        from_pretrained(tmp_path / "model")
    make_base(tmp_path / "other", "gpt2")
    other, *_ = make_backbone(str(tmp_path / "other"), LABELS)
    with pytest.raises(BackboneError, match="weights of another model"):
        network.load_state_dict(other.state_dict())
