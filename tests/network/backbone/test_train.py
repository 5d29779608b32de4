"""The whole way: a tiny pretrained model is trained, saved, loaded, and generates."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from network.backbone.tiny import KINDS, make_base
from syntagma.corpus import Corpus
from syntagma.errors import BackboneError
from syntagma.network.backbone.storage import from_pretrained
from syntagma.search import Generator
from syntagma.train import TrainConfig, train
from syntagma.train.trainer import Trainer
from train.toy import read_log

SOURCE = "the fish was what I saw on the mat"


def settings(corpus: Corpus, base: Path, **changes: Any) -> TrainConfig:
    values = {
        "data": str(corpus.folder), "backbone": str(base), "steps": 16, "batch_tokens": 500, "lr": 0.01, "warmup": 4,
        "validate_every": 8, "save_every": 6, "log_every": 4, "keep_best": 2, "threads": 1, "smoothing": 0.0,
    }  # fmt: skip
    return TrainConfig.from_dict(values | changes)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lora", [False, True])
def test_a_backbone_learns_and_generates(
    corpus: Corpus, bases: dict[str, Path], tmp_path: Path, kind: str, lora: bool
) -> None:
    out = tmp_path / "run"
    train(settings(corpus, bases[kind], lora=lora, lora_rank=4), out, quiet=True)
    losses = [line["nll"] for line in read_log(out) if line["event"] == "train"]
    assert losses[-1] < 0.97 * losses[0]
    about = json.loads((out / "config.json").read_text())
    assert about["backbone"]["base"] == str(bases[kind])
    assert about["backbone"]["lora"] == (4 if lora else 0)
    weights = load_file(out / "model.safetensors")
    assert all("lora_" in name or "trainable_tokens" in name for name in weights) == lora
    generator = Generator.from_pretrained(out)
    for beam in (1, 3):
        found = generator(SOURCE, beam=beam, max_depth=5, max_tokens=20)
        assert len(found) <= beam
        assert found[0].tree is not None
    steered = generator(SOURCE, template="(S (NP) (VP *))", control="hard", beam=3, max_tokens=20, max_depth=5)
    assert steered[0].levels[2].startswith(("<NP> <VP>", "<NP>")) or "<NP>" in steered[0].levels[2]


@pytest.mark.parametrize("kind", ["bart", "llama"])
def test_a_backbone_has_a_second_opinion(corpus: Corpus, bases: dict[str, Path], tmp_path: Path, kind: str) -> None:
    out = tmp_path / "run"
    train(settings(corpus, bases[kind], seq2seq_objective=True, steps=4), out, quiet=True)
    generator = Generator.from_pretrained(out)
    plain = generator(SOURCE, beam=3, max_depth=5, max_tokens=20)
    for wish in ({"rank": "whole"}, {"rank": "whole", "back": 0.5}):
        found = generator(SOURCE, beam=3, max_depth=5, max_tokens=20, **wish)
        assert sorted(one.text for one in found) == sorted(one.text for one in plain)


def test_a_loaded_model_scores_as_when_it_was_trained(corpus: Corpus, bases: dict[str, Path], tmp_path: Path) -> None:
    for kind, lora in (("bart", False), ("llama", True), ("gpt2", True)):
        out = tmp_path / f"{kind}-{lora}"
        result = train(settings(corpus, bases[kind], lora=lora, steps=8), out, quiet=True)
        again = from_pretrained(out)
        from syntagma.train.data import Data
        from syntagma.train.engine import Engine
        from syntagma.train.tokenised import Tokenised
        from syntagma.train.validate import LossValidator, validate

        config = settings(corpus, bases[kind])
        dev = Tokenised.of(corpus.split("dev"), again.subwords, out / "ids-dev")
        engine = Engine(config)
        engine.wrap(again.network)
        found = validate(LossValidator(Data(dev, "dev", again.config), 500, engine), again.network)
        assert found.figures["nll"] == pytest.approx(result.figures["nll"], abs=1e-4)


@pytest.mark.parametrize("lora", [False, True])
def test_a_stopped_run_goes_on_to_the_same_weights(
    corpus: Corpus, bases: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lora: bool
) -> None:
    config = settings(corpus, bases["gpt2"], steps=10, lora=lora, level_floor=0.5)
    train(config, tmp_path / "whole", quiet=True)
    steps = Trainer._iterate

    class Killed(Exception):
        pass

    def until(self: Trainer, number: int, *rest: Any) -> int | None:
        if number == 8:
            raise Killed
        return steps(self, number, *rest)

    monkeypatch.setattr(Trainer, "_iterate", until)
    with pytest.raises(Killed):
        train(config, tmp_path / "parts", quiet=True)
    monkeypatch.setattr(Trainer, "_iterate", steps)
    train(config, tmp_path / "parts", quiet=True)
    whole, parts = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "parts"))
    assert whole.keys() == parts.keys()
    assert all(weight.equal(parts[name]) for name, weight in whole.items())


def test_the_baselines_and_text_validation(corpus: Corpus, bases: dict[str, Path], tmp_path: Path) -> None:
    for kind, architecture in (("bart", "seq2seq"), ("gpt2", "seq2seq"), ("t5", "linearised")):
        out = tmp_path / f"{kind}-{architecture}"
        config = settings(corpus, bases[kind], architecture=architecture, validate_by="bleu", validate_sentences=4)
        result = train(config, out, quiet=True)
        assert "bleu" in result.figures
        found = Generator.from_pretrained(out)(SOURCE, beam=2, max_tokens=12)
        assert (found[0].tree is None) == (architecture == "seq2seq")


def test_an_adapter_knows_its_base(corpus: Corpus, tmp_path: Path) -> None:
    base = make_base(tmp_path / "base", "gpt2")
    out = tmp_path / "run"
    train(settings(corpus, base, lora=True, steps=4), out, quiet=True)
    text = Generator.from_pretrained(out)(SOURCE, beam=1)[0].text
    moved = base.rename(tmp_path / "elsewhere")
    with pytest.raises(BackboneError, match=r"its base .* cannot be loaded .*; put it, or a link to it, at"):
        from_pretrained(out)
    (out / "base").symlink_to(moved)
    assert Generator.from_pretrained(out)(SOURCE, beam=1)[0].text == text
    (out / "base").unlink()
    make_base(out / "base", "gpt2", seed=5)
    with pytest.raises(BackboneError, match="its adapters were trained on another base than"):
        from_pretrained(out)


def test_the_commands(
    corpus: Corpus,
    bases: dict[str, Path],
    tmp_path: Path,
    syntagma: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    shutil.copytree(bases["bart"], tmp_path / "bart")
    common = ["--data", corpus.folder, "--out", "run", "--backbone", "bart", "--lora"]
    done = syntagma("train", *common, "steps=3", "batch_tokens=400", "threads=1", "lr=0.001", "lora_rank=2", "-q")
    assert json.loads(done.stdout)["steps"] == 3
    told = syntagma("generate", "--model", "run", "--beam", "3", "--max-depth", "4", "--json", SOURCE)
    assert json.loads(told.stdout)["hypotheses"][0]["tree"].startswith("(TOP")
    syntagma("export", "--model", "run", "--out", "shared", "beam=3", "max_depth=4")
    refused = syntagma("export", "--model", "run", "--out", "other", "known_words_only=true", check=1).stderr
    assert refused == "syntagma: a backbone has no list of words; leave out --words and known_words_only\n"
    weights = load_file(tmp_path / "shared" / "model.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.float16}
    shared = syntagma("generate", "--model", "shared", "--json", SOURCE)
    scores = [[one["score"] for one in json.loads(run.stdout)["hypotheses"]] for run in (told, shared)]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)  # half as exact, searched alike
    wrong = syntagma("train", *common, "architecture=extra-encoder", check=1)
    assert wrong.stderr.strip().endswith("train with architecture=concat, or seq2seq for the baseline")
