from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from syntagma.errors import ConfigError, InputError, SyntagmaError
from syntagma.parse.score import score_trees
from syntagma.parse.settings import ParserTrainConfig, Trees, encoder_folder, read_data
from syntagma.parse.train import ParserTrainer
from syntagma.parse.trainable import TrainableParser


class KilledError(Exception):
    """Ends a run in its middle, as a kill would."""


class Fragile(ParserTrainer):
    """A run that writes a checkpoint after every step, and is killed after some."""

    steps = 7

    def _step(self, *batch: Any) -> torch.Tensor:
        if self.steps == 0:
            raise KilledError
        self.steps -= 1
        losses = super()._step(*batch)
        if self.progress.step % 3 == 0:
            self._save()
        return losses


@pytest.fixture(scope="module")
def data(treebank: Path) -> Trees:
    return read_data([treebank], [treebank])


def test_a_killed_run_goes_on_to_the_same_weights(data: Trees, tiny_settings: dict[str, Any], tmp_path: Path) -> None:
    config = ParserTrainConfig.from_dict(
        tiny_settings | {"epochs": 1.5, "score_every": 5, "variants": {"swapped": 0.5}}
    )
    whole = ParserTrainer(config, data, tmp_path / "whole")
    figures = whole.run().figures
    for _ in range(50):
        killed = Fragile(config, data, tmp_path / "killed")
        try:
            assert killed.run().figures == figures
            break
        except KilledError:
            assert killed.progress.step < whole.progress.step
    assert killed.progress.step == whole.progress.step
    for name, weight in whole.average.items():
        assert torch.equal(weight, killed.average[name]), name
    for name in ("model.safetensors", "config.json", "tokenizer.json", "README.md"):
        assert (whole.model_folder / name).read_bytes() == (killed.model_folder / name).read_bytes()
    events = [json.loads(line)["event"] for line in (tmp_path / "killed" / "log.jsonl").read_text().splitlines()]
    assert events[0] == "start"
    assert "resume" in events


def test_the_clock_can_end_a_run(data: Trees, tiny_settings: dict[str, Any], tmp_path: Path) -> None:
    trainer = ParserTrainer(
        ParserTrainConfig.from_dict(tiny_settings | {"minutes": 0.005, "save_every": 0.0}), data, tmp_path
    )
    assert trainer.run().figures["sentences"] == 7
    assert 0.3 <= trainer.progress.seconds < 5


def test_training_makes_the_losses_smaller(tiny: Path) -> None:
    card = (tiny / "README.md").read_text()
    assert "Trained on 42 gold and 42 silver trees, scored on 7 others." in card
    row = next(line for line in card.splitlines() if line.startswith("| f1"))
    assert float(row.split("|")[2]) > 80


def test_another_run_is_not_overwritten(data: Trees, tiny_settings: dict[str, Any], tmp_path: Path) -> None:
    config = ParserTrainConfig.from_dict(tiny_settings | {"epochs": 0.1})
    ParserTrainer(config, data, tmp_path).run()
    with pytest.raises(
        ConfigError, match=r"a run with other settings is here \(seed was 1, now 2\); give another --out"
    ):
        ParserTrainer(replace(config, seed=2), data, tmp_path).run()


def test_a_run_may_start_from_a_parser(data: Trees, tiny: Path, tiny_settings: dict[str, Any], tmp_path: Path) -> None:
    config = ParserTrainConfig.from_dict(tiny_settings | {"epochs": 0.1, "init": str(tiny)})
    trainer = ParserTrainer(config, data, tmp_path / "run")
    first = TrainableParser.load(tiny).network.state_dict()
    assert all(torch.equal(weight, first[name]) for name, weight in trainer.network.state_dict().items())
    assert all(torch.equal(weight, first[name]) for name, weight in trainer.average.items())
    assert trainer.run().figures["f1"] > 80  # a tenth of a round from nothing gives nothing like it
    other = shutil.copytree(tiny, tmp_path / "other")
    text = (other / "config.json").read_text()
    (other / "config.json").write_text(text.replace('"NP"', '"NX"'))
    with pytest.raises(ConfigError, match="other: this parser does not know NP; give one that was trained on such"):
        ParserTrainer(replace(config, init=str(other)), data, tmp_path / "run")
    with pytest.raises(SyntagmaError, match="nowhere"):
        ParserTrainer(replace(config, init="nowhere"), data, tmp_path / "run")


def test_labels_are_numbered_as_in_the_parser_that_a_run_starts_from(
    data: Trees, tiny: Path, tiny_settings: dict[str, Any], tmp_path: Path
) -> None:
    more = replace(data, gold=[*data.gold, *[one for one in data.gold if "NP" not in one.spans.values()] * 9])
    plain = ParserTrainer(ParserTrainConfig.from_dict(tiny_settings), more, tmp_path / "plain")
    started = ParserTrainer(
        ParserTrainConfig.from_dict(tiny_settings | {"init": str(tiny)}), more, tmp_path / "started"
    )
    theirs = TrainableParser.load(tiny).config
    assert plain.model_config.labels != theirs.labels == started.model_config.labels


def test_a_run_learns_from_a_teacher(data: Trees, tiny: Path, tiny_settings: dict[str, Any], tmp_path: Path) -> None:
    def agreement(teacher_weight: float) -> float:
        settings = {"epochs": 20.0, "teacher": str(tiny), "teacher_weight": teacher_weight, "margin_weight": 0.0}
        trainer = ParserTrainer(
            ParserTrainConfig.from_dict(tiny_settings | settings), wrong, tmp_path / str(teacher_weight)
        )
        trainer.run()
        words = [tree.words() for tree in data.dev]
        return score_trees(TrainableParser.load(tiny).parse(words), trainer.averaged().parse(words)).f1

    wrong = replace(data, gold=[replace(one, spans={}) for one in data.gold], silver=[])
    assert agreement(30.0) > 2 * agreement(0.0)  # the trees say that nothing is a constituent


def test_who_cannot_teach_is_refused(data: Trees, tiny: Path, tiny_settings: dict[str, Any], tmp_path: Path) -> None:
    trees = tmp_path / "a.trees"
    trees.write_text("(TOP (NP (NN day)))\n")
    config = ParserTrainConfig.from_dict(tiny_settings | {"init": str(tiny)})
    with pytest.raises(ConfigError, match="cannot teach; give neural parsers to --teacher"):
        ParserTrainer(replace(config, teacher=f"brackets:{trees}"), data, tmp_path / "run")
    other = shutil.copytree(tiny, tmp_path / "other")
    settings = json.loads((other / "config.json").read_text())
    settings["labels"][1:3] = settings["labels"][2:0:-1]
    (other / "config.json").write_text(json.dumps(settings))
    with pytest.raises(ConfigError, match="other: its labels or tags are not those of"):
        ParserTrainer(replace(config, teacher=str(other)), data, tmp_path / "run")


def test_settings_round_trip_and_refuse_what_they_do_not_know() -> None:
    given = ParserTrainConfig.read_arguments(["seed=7", "variants.lower=0.5", "name=mine"])
    config = ParserTrainConfig.from_dict({"epochs": 2.0} | given)
    assert (config.seed, config.variants.lower, config.name, config.epochs) == (7, 0.5, "mine", 2.0)
    assert ParserTrainConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    with pytest.raises(ConfigError, match="'sed' is not a setting of ParserTrainConfig; did you mean 'seed'"):
        ParserTrainConfig.read_arguments(["sed=7"])
    with pytest.raises(ConfigError, match="'seed' is not key=value; write it like width=256"):
        ParserTrainConfig.read_arguments(["seed"])


def test_missing_data(tmp_path: Path, treebank: Path) -> None:
    with pytest.raises(InputError, match=r"it holds neither train\.trees nor"):
        read_data([tmp_path])
    (tmp_path / "train.trees").write_text("(TOP (NP (NN a)))\n")
    with pytest.raises(InputError, match=r"no folder holds dev\.trees"):
        read_data([tmp_path])
    assert len(read_data([tmp_path, treebank]).gold) == 43
    with pytest.raises(ConfigError, match="the encoder 'none' is not here"):
        encoder_folder("none")


@pytest.mark.slow
def test_a_sigkill_at_any_moment_is_survived(tmp_path: Path, treebank: Path, tiny_settings: dict[str, Any]) -> None:
    config = tiny_settings | {"epochs": 2.0, "save_every": 0.0}
    (tmp_path / "settings.json").write_text(json.dumps(config))
    program = (
        "import json, sys; from syntagma.parse.train import ParserTrainer\n"
        "from syntagma.parse.settings import ParserTrainConfig, read_data\n"
        "config = ParserTrainConfig.from_dict(json.load(open(sys.argv[1])))\n"
        "ParserTrainer(config, read_data([sys.argv[2]]), sys.argv[3]).run()"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "settings.json"), str(treebank)]
    ParserTrainer(ParserTrainConfig.from_dict(config), read_data([treebank]), tmp_path / "whole").run()
    process = subprocess.Popen([*command, str(tmp_path / "killed")], stderr=subprocess.DEVNULL)
    while not (tmp_path / "killed" / "checkpoints").exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    subprocess.run([*command, str(tmp_path / "killed")], check=True, capture_output=True)
    weights = [(tmp_path / run / "model" / "model.safetensors").read_bytes() for run in ("whole", "killed")]
    assert weights[0] == weights[1]


def test_a_signal_saves_and_stops(data: Trees, tiny_settings: dict[str, Any], tmp_path: Path) -> None:
    class Stopped(ParserTrainer):
        def _step(self, *batch: Any) -> torch.Tensor:
            if self.progress.step == 2:
                signal.raise_signal(signal.SIGTERM)
            return super()._step(*batch)

    config = ParserTrainConfig.from_dict(tiny_settings | {"epochs": 1.0})
    result = Stopped(config, data, tmp_path, quiet=True).run()
    assert (result.signal, result.step) == (signal.SIGTERM, 3)
    resumed = ParserTrainer(config, data, tmp_path, quiet=True)
    assert resumed.run().step > 3
    whole = ParserTrainer(config, data, tmp_path / "whole", quiet=True)
    whole.run()
    assert all(torch.equal(weight, resumed.average[name]) for name, weight in whole.average.items())


def test_a_damaged_checkpoint_is_passed_over(data: Trees, tiny_settings: dict[str, Any], tmp_path: Path) -> None:
    config = ParserTrainConfig.from_dict(tiny_settings | {"epochs": 1.0, "save_every": 0.0})
    ParserTrainer(config, data, tmp_path, quiet=True).run()
    newest, before = sorted((tmp_path / "checkpoints").iterdir(), reverse=True)
    (newest / "weights.safetensors").write_bytes(b"nothing")
    again = ParserTrainer(config, data, tmp_path, quiet=True)
    again._resume()
    assert f"step-{again.progress.step:08d}" == before.name
