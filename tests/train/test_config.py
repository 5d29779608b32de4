from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from syntagma.cli import train as command
from syntagma.corpus import Corpus
from syntagma.errors import ConfigError, SyntagmaError
from syntagma.train import TrainConfig


def test_settings_round_trip(tmp_path: Path) -> None:
    config = TrainConfig.from_dict({"data": "x", "lr": 1, "dropout": 0.2, "model": {"width": 64}, "minutes": 3})
    assert (config.lr, config.model, config.minutes) == (1.0, {"width": 64, "dropout": 0.2}, 3.0)
    config.save(tmp_path / "train.json")
    assert TrainConfig.load(tmp_path / "train.json") == config


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"larning": 1}, "'larning' is not a setting of training or of the network; known are"),
        (
            {"batch_token": 1},
            "'batch_token' is not a setting of training or of the network; did you mean 'batch_tokens'?",
        ),
        ({"drop_out": 1}, "'drop_out' is not a setting of training or of the network; did you mean 'dropout'?"),
        ({"lr": "high"}, "'lr' cannot be 'high'; give a value: number"),
        ({"steps": 1.5}, "'steps' cannot be 1.5; give a value: whole number or none"),
        ({"dropout": 2.0}, "'dropout' cannot be 2.0; give a number from 0 up to 1"),
        ({"width": "wide"}, "'width' cannot be 'wide'"),
        ({"model": 3}, "'model' cannot be 3; give a mapping of the network's settings"),
        ({"vocabulary": 3}, "'vocabulary' cannot be set for the network; leave it out, the corpus decides it"),
        ({"schedule": "square"}, "'schedule' cannot be 'square'; choose one of"),
        ({"preset": "huge"}, "there is no preset 'huge'; choose one of tiny, small, base"),
        ({"minutes": 0}, "'minutes' cannot be 0.0; give a number above 0"),
        ({"lr": float("nan")}, "'lr' cannot be nan; give a number above 0"),
        ({"clip": -1}, "'clip' cannot be -1.0; give a number of at least 0"),
        ({"smoothing": 1.5}, "'smoothing' cannot be 1.5; give a number from 0 to 1"),
        ({"schedule": "cosine", "lr_end": 1}, "'lr_end' cannot be 1.0; give a rate from 0 to 0.0007"),
    ],
)
def test_settings_that_are_refused(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        TrainConfig.from_dict({"data": "x"} | values)
    assert str(error.value).startswith(sentence)


def test_what_differs_is_named() -> None:
    one = TrainConfig.from_dict({"data": "x", "lr": 0.5})
    two = TrainConfig.from_dict({"data": "y", "lr": 0.25, "width": 64})
    assert one.differences(two, ["data"]) == ["model was {}, now {'width': 64}", "lr was 0.5, now 0.25"]
    assert one.differences(one) == []


@pytest.fixture
def run() -> Callable[..., tuple[str, str]]:
    app = typer.Typer()
    command.register(app)

    def call(*arguments: object) -> tuple[str, str]:
        result = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=True)
        if isinstance(result.exception, SyntagmaError):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.stdout, result.stderr

    return call


def test_the_command(run: Callable[..., tuple[str, str]], corpus: Corpus, tmp_path: Path) -> None:
    out = tmp_path / "run"
    (tmp_path / "s.yaml").write_text("steps: 3\nlr: 0.01\nbatch_tokens: 400\nthreads: 1\nwidth: 16\n")
    given = ["--config", tmp_path / "s.yaml", "--preset", "tiny", "--data", corpus.folder, "--out", out, "steps=4"]
    told = json.loads(run(*given)[0])
    assert (told["steps"], told["model"]) == (4, str(out))
    assert TrainConfig.load(out / "train.json").model == {"width": 16}
    assert json.loads(run("--out", out)[0])["steps"] == 4  # settings of the run that is there
    card = (out / "README.md").read_text()
    assert str(tmp_path) not in card
    assert "120 training pairs, parsed by brackets 1, labels S NP VP PP" in card
    with pytest.raises(ConfigError, match=r"a run with other settings is here \(steps was 4, now 5\); give another"):
        run(*given, "steps=5")
    with pytest.raises(ConfigError, match="no corpus was given; name one with --data"):
        run("--out", tmp_path / "other")
    shares = [line.split("\t") for line in run(*given, "--profile")[0].splitlines()]
    assert [part for part, _ in shares][:4] == ["source encoding", "context encoding", "decoding", "output layer"]
    assert sum(float(share.rstrip("%")) for _, share in shares) == pytest.approx(100, abs=0.5)
    assert all(float(share.rstrip("%")) > 0 for _, share in shares)


def test_the_papers_presets_bring_their_training() -> None:
    paraphrase = TrainConfig.from_dict({"data": "corpus", "preset": "paper-paranmt"})
    assert (paraphrase.lr, paraphrase.warmup, paraphrase.schedule) == (7e-4, 10_000, "inverse-sqrt")
    assert (paraphrase.batch_tokens * paraphrase.accumulate, paraphrase.steps) == (64_000, 300_000)
    translation = TrainConfig.from_dict({"data": "corpus", "preset": "paper-wmt", "steps": 10})
    assert (translation.batch_tokens * translation.accumulate, translation.steps) == (512_000, 10)
    assert TrainConfig.from_dict(translation.to_dict()) == translation
