from __future__ import annotations

import builtins
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from syntagma.bench.train import run as bench
from syntagma.corpus import Corpus
from syntagma.errors import ConfigError, MissingExtra
from syntagma.files import locked
from syntagma.network.network import Loss, Network
from syntagma.network.purpose import Purpose
from syntagma.network.storage import from_pretrained
from syntagma.runtime.base import score_texts
from syntagma.search import Generator
from syntagma.template import Template
from syntagma.train import TrainConfig, Validation, train
from syntagma.train.average import BestWeights, average
from syntagma.train.engine import Engine, make_engine
from syntagma.train.run import make_trainer, profile
from syntagma.train.step import Diverged
from train.toy import make_corpus, read_log

Configure = Callable[..., TrainConfig]


def test_a_run_learns_and_leaves_a_model(configure: Configure, tmp_path: Path) -> None:
    result = train(configure(steps=60, lr=0.02), tmp_path / "run", command="syntagma train", tensorboard=True)
    log = read_log(tmp_path / "run")
    figures = [line["nll"] for line in log if line["event"] == "train"]
    assert figures[-1] < 0.4 * figures[0]
    assert {"loss", "nll", "lr", "grad_norm", "accuracy", "epoch", "step"} < set(log[1])
    assert list((tmp_path / "run" / "tensorboard").iterdir())
    model = from_pretrained(tmp_path / "run")
    assert model.about["figures"] == result.figures
    assert Purpose.of(model.about) == Purpose("paraphrase", "en", "en")
    assert not model.network.training
    best = sorted(path.name for path in (tmp_path / "run" / "best").iterdir())
    assert 2 <= len(best) <= 3
    assert log[-1]["event"] == "end"
    assert set(log[-1]["averaged"]) <= {int(name[5:13]) for name in best}


def test_a_guided_model_may_learn_whole_texts_too(configure: Configure, corpus: Corpus, tmp_path: Path) -> None:
    train(configure(steps=220, lr=0.01, dropout=0.0, seq2seq_objective=True), tmp_path / "run", quiet=True)
    generator = Generator.from_pretrained(tmp_path / "run")
    pair, other = list(corpus.split("train"))[:2]
    assert generator(pair.source, beam=5, rerank="seq2seq")[0].text == pair.target
    source, *targets = (corpus.subwords.encode(text) for text in (pair.source, pair.target, other.target))
    right, wrong = score_texts(generator.runtime, [(source, target) for target in targets])
    assert right > wrong + 5


def test_generated_text_may_decide(configure: Configure, corpus: Corpus, tmp_path: Path) -> None:
    """A model that has learnt the toy grammar writes its dev targets, and the best by BLEU is kept."""
    config = configure(steps=220, lr=0.01, validate_every=110, validate_by="bleu", validate_sentences=12, dropout=0.0)
    train(config, tmp_path / "run", quiet=True)
    log = [line for line in read_log(tmp_path / "run") if line["event"] == "validation"]
    assert {"bleu", "self_bleu", "ibleu", "length_ratio", "nll"} <= set(log[0])
    assert log[-1]["score"] == log[-1]["bleu"] > 50
    generator = Generator.from_pretrained(tmp_path / "run")
    pair = next(iter(corpus.split("train")))
    best = generator(pair.source, beam=3)[0]
    assert best.text == pair.target
    assert str(best.tree) == str(pair.tree)
    for output in generator(pair.source, beam=3, template="(S (NP) (VP (NP) (PP (NP))))", control="hard"):
        assert output.tree is not None
        assert Template.parse("(S (NP) (VP (NP) (PP (NP))))").matches_tree(output.tree)


@pytest.mark.parametrize("architecture", ["extra-attention", "concat", "seq2seq", "linearised"])
def test_every_architecture_trains(configure: Configure, tmp_path: Path, architecture: str) -> None:
    config = configure(architecture=architecture, steps=4, level_floor=0.5, accumulate=2)
    first = train(config, tmp_path, quiet=True).figures["nll"]
    assert 0 < first < 10


def test_steps_are_the_same_however_batches_are_divided(corpus: Corpus, configure: Configure, tmp_path: Path) -> None:
    together = make_trainer(configure(dropout=0.0), corpus, Engine(configure()), tmp_path, quiet=True)
    apart = make_trainer(configure(dropout=0.0, accumulate=2), corpus, Engine(configure()), tmp_path, quiet=True)
    batches = next(apart.upcoming())
    numbers = [number for loaded in batches for number in loaded.taken.numbers]
    whole = together.stepper.load(batches[0].taken._replace(numbers=numbers))
    one = together.stepper.step(0, [whole], 0.01)
    two = apart.stepper.step(0, batches, 0.01)
    assert one.tokens == two.tokens
    assert one == pytest.approx(two, rel=1e-5)


def test_the_clock_ends_a_run(configure: Configure, tmp_path: Path) -> None:
    result = train(configure(steps=None, minutes=0.1, schedule="cosine", validate_every=20), tmp_path, quiet=True)
    plans = [line for line in read_log(tmp_path) if line["event"] == "plan"]
    assert result.step == plans[-1]["steps"] >= plans[0]["step"] > 0
    assert result.seconds < 60  # of a budget of six, on however slow a machine
    state = json.loads(next((tmp_path / "checkpoints").glob(f"*{result.step}/state.json")).read_text())
    assert state["plan"]["steps"] == result.step
    assert len(state["plan"]["knots"]) <= len(plans) + 1


def test_patience(configure: Configure, tmp_path: Path) -> None:
    scores = iter([1.0, 3.0, 2.0, 2.5, *[2.0] * 9])

    class Scripted:
        def __call__(self, network: Network) -> Validation:
            assert not network.training
            return Validation(next(scores), {"made_up": 1.0})

    config = configure(patience=2, validate_every=3, keep_best=2)
    result = train(config, tmp_path, validator=lambda corpus, engine: Scripted(), quiet=True)
    assert result.step == 12
    assert "nll" in result.figures
    assert {path.name for path in (tmp_path / "best").iterdir()} >= {"step-00000006.safetensors"}
    assert [line["best"] for line in read_log(tmp_path) if line["event"] == "validation"] == [True, True, False, False]


def test_the_average_is_the_mean(tmp_path: Path) -> None:
    best = BestWeights(tmp_path, 2)
    for step, score in ((1, 0.5), (2, 0.1), (3, 0.9), (4, 0.3)):
        assert best.offer(step, score, {"w": torch.full((2,), float(step))}) == (step in (1, 3))
    assert [one.step for one in best.entries] == [3, 1]
    best.sweep(also=[2])
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"step-0000000{n}.safetensors" for n in (1, 2, 3)]
    assert torch.equal(average(best.undamaged())["w"], torch.full((2,), 2.0))
    (tmp_path / "step-00000001.safetensors").write_bytes(b"")
    assert [path.name for path in best.undamaged()] == ["step-00000003.safetensors"]


def test_a_loss_that_is_no_number_stops_the_run(
    configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = Network.loss
    calls = 0

    def bad(self: Network, batch: object, smoothing: float = 0.0) -> Loss:
        nonlocal calls
        calls += self.training
        found = good(self, batch, smoothing)  # type: ignore[arg-type]
        return found._replace(total=found.total * float("nan")) if self.training and calls == 9 else found

    monkeypatch.setattr(Network, "loss", bad)
    with pytest.raises(Diverged) as error:
        train(configure(), tmp_path, quiet=True)
    assert str(error.value).startswith("the loss is not a number any more at step 9 (batch 8 of epoch 0, examples ")
    assert [path.name for path in sorted((tmp_path / "checkpoints").iterdir())] == ["step-00000005", "step-00000007"]
    weights = load_file(tmp_path / "checkpoints" / "step-00000007" / "weights.safetensors")
    assert all(bool(weight.isfinite().all()) for weight in weights.values())


def test_folders_that_are_refused(configure: Configure, corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    with pytest.raises(ConfigError, match="full: it holds something else than a run; give another --out"):
        train(configure(), tmp_path / "full")
    train(configure(steps=2), tmp_path / "run", quiet=True)
    with pytest.raises(ConfigError, match=r"run: a run with other settings is here \(lr was 0.01, now 0.5\); give"):
        train(configure(steps=2, lr=0.5), tmp_path / "run")
    other = make_corpus(tmp_path / "other", dev=10)
    (tmp_path / "run" / "config.json").unlink()
    with pytest.raises(ConfigError, match="the corpus is not the one that this run was begun with; give the corpus as"):
        train(configure(steps=2, data=str(other.folder)), tmp_path / "run")
    pytest.importorskip("fcntl")
    busy = "another run is at work in this folder; wait for it or stop it"
    with locked(tmp_path / "run"), pytest.raises(ConfigError, match=busy):
        train(configure(steps=2), tmp_path / "run")


def test_one_process_needs_no_fabric(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object, **more: object) -> object:
        if name.startswith("lightning_fabric"):
            raise ImportError(name)
        return real(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    for name in [name for name in sys.modules if name.startswith("lightning_fabric")]:
        monkeypatch.delitem(sys.modules, name)
    assert make_engine(configure()).world == 1
    with pytest.raises(MissingExtra, match=r"training in several processes needs the package lightning-fabric.*fabric"):
        make_engine(configure(devices=2))


@pytest.mark.parametrize("architecture", ["extra-encoder", "extra-attention", "seq2seq"])
def test_profile(configure: Configure, architecture: str, tmp_path: Path) -> None:
    shares = profile(configure(architecture=architecture), tmp_path, steps=3)
    assert sum(shares.values()) == pytest.approx(1)
    assert (shares["context encoding"] > 0) == (architecture != "seq2seq")
    assert min(shares[part] for part in ("source encoding", "decoding", "output layer", "optimiser", "data")) > 0
    assert not list(tmp_path.iterdir())


def test_bench() -> None:
    rows = list(bench(threads=1, runs=1, quick=True))
    assert len(rows) == 6
    assert [row.ratio is not None for row in rows] == [True, False, False, True, False, True]
    assert rows[1].ours < 10
