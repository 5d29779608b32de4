"""A run from its settings to its model folder.

OUT/train.json     the settings
OUT/log.jsonl      what happened, a JSON object a line
OUT/checkpoints/   the last two checkpoints
OUT/best/          the best weights, which are averaged
OUT/config.json, model.safetensors, tokenizer.json, README.md    the model, at the end
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any, Literal

from syntagma.corpus.store import Corpus
from syntagma.errors import ConfigError
from syntagma.files import locked
from syntagma.network.network import Network
from syntagma.runs.checkpoint import sweep
from syntagma.runs.folder import CHECKPOINTS, RunResult, claim
from syntagma.runs.log import Log, duration, read_events
from syntagma.settings import read_mapping
from syntagma.stopwatch import OTHER
from syntagma.text.vocabulary import Vocabulary
from syntagma.train.config import TrainConfig
from syntagma.train.data import Data
from syntagma.train.engine import Engine, make_engine
from syntagma.train.export import Exported, export
from syntagma.train.material import Material, gather
from syntagma.train.profile import DATA, attach, stopwatch
from syntagma.train.start import settled
from syntagma.train.state import TrainState
from syntagma.train.trainer import Trainer
from syntagma.train.validate import LossValidator, Several, Validator

PROFILED = 20
"""Steps."""

MakeValidator = Callable[[Corpus, Engine], Validator]
"""A maker of a validator that goes before the loss, such as one that generates text; its score then decides."""


def train(
    config: TrainConfig,
    out: str | Path,
    *,
    command: str = "syntagma train",
    validator: MakeValidator | None = None,
    quiet: bool = False,
    tensorboard: bool = False,
) -> RunResult:
    """Train a model into the folder `out`; an existing run is resumed, a finished one left as it is."""
    folder = Path(out)
    config = settled(config)
    corpus = Corpus.open(config.data)
    engine = make_engine(config)
    _claim(folder, config, engine)
    with nullcontext() if engine.rank else locked(folder):
        trainer = make_trainer(config, corpus, engine, folder, validator, quiet=quiet, tensorboard=tensorboard)
        resumed = trainer.resume()
        if resumed and (folder / "config.json").is_file():  # it is written last
            trainer.display.say(f"this run is finished, its model is in {folder}")
            figures = read_mapping(folder / "config.json")["about"]["figures"]
            return RunResult(trainer.state.step, trainer.state.seconds, figures, main=trainer.main)
        _begin(trainer, folder, resumed, command)
        result = trainer.run()
        if result.signal is not None:
            trainer.display.say(
                f"stopped and saved after step {result.step:,}; go on with: syntagma train --out {folder}"
            )
            return result
        if early := ended_early(config, trainer.state, trainer.limit):
            trainer.display.say(early)
        chosen = export(trainer, corpus, _begun_by(folder) or command)
        _end(trainer, folder, chosen)
        return RunResult(result.step, trainer.state.seconds, chosen.validation.figures, main=trainer.main)


def make_trainer(
    config: TrainConfig,
    corpus: Corpus,
    engine: Engine,
    folder: Path,
    validator: MakeValidator | None = None,
    *,
    quiet: bool = False,
    tensorboard: bool = False,
) -> Trainer:
    """A trainer at its first step."""
    material = gather(config, corpus, engine, folder)
    network = material.network
    place = str(corpus.folder)
    data, dev = (
        Data(
            material.examples(name),
            name,
            network.config,
            place=place,
            skip_long=config.skip_long,
            seq2seq_only=config.seq2seq_only,
        )
        for name in (config.train_split, config.dev_split)
    )
    loss = LossValidator(dev, config.batch_tokens, engine)
    if validator is None and config.validate_by != "loss":
        validator = _text_validator(config, material.vocabulary)
    trainer = Trainer(
        config,
        engine,
        material,
        data,
        loss if validator is None else Several(validator(corpus, engine), loss),
        folder,
        identity=identity(corpus, material),
        quiet=quiet,
        tensorboard=tensorboard,
    )
    for skipped, name in ((data.skipped, config.train_split), (dev.skipped, config.dev_split)):
        if skipped:
            trainer.display.say(f"{skipped:,} examples of split {name!r} are longer than the positions and left out")
    return trainer


def _text_validator(config: TrainConfig, vocabulary: Vocabulary) -> MakeValidator:
    from syntagma.train.generated import TextValidator

    figure: Literal["bleu", "ibleu"] = "ibleu" if config.validate_by == "ibleu" else "bleu"
    return lambda corpus, engine: TextValidator(
        corpus.split(config.dev_split), vocabulary, config.validate_sentences, figure
    )


def identity(corpus: Corpus, material: Material | None = None) -> str:
    """A hash, the same for corpora with the same pairs, options and vocabulary, and the same backbone."""
    facts = {name: corpus.facts.get(name) for name in ("options", "tokenizer", "splits", "counts", "labels")}
    if material is not None and material.origin is not None:
        facts["backbone"] = [material.origin.fingerprint, material.vocabulary.fingerprint]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


# -- the folder


def _claim(folder: Path, config: TrainConfig, engine: Engine) -> None:
    """Make the folder this run's; what is wrong with it is raised in every process."""
    problem = None
    if engine.rank == 0:
        try:
            claim(folder, config, apart_from=("data",))
        except ConfigError as error:
            problem = error
    problem = engine.broadcast(problem)
    if problem is not None:
        raise problem


def _begin(trainer: Trainer, folder: Path, resumed: bool, command: str) -> None:
    if not trainer.main:
        return
    for part in (folder, folder / CHECKPOINTS, folder / "best"):
        sweep(part)
    state = trainer.state
    parameters = sum(weight.numel() for weight in trainer.network.parameters())
    steps = "as many steps as fit" if state.plan.steps is None else f"{state.plan.steps:,} steps"
    if resumed:
        trainer.display.say(f"going on after step {state.step:,} ({duration(state.seconds)} of training) of {steps}")
        return
    trainer.display.say(f"{parameters:,} parameters, {len(trainer.batches):,} batches an epoch, {steps}")
    facts = {"parameters": parameters, "batches": len(trainer.batches), "world": trainer.engine.world}
    Log(folder, -1).write("start", 0, **facts, corpus=trainer.identity, command=command)


def ended_early(config: TrainConfig, state: TrainState, limit: int | None) -> str | None:
    """A warning where a run of so many minutes has ended well before they were over."""
    if config.minutes is None or state.seconds >= 0.9 * 60 * config.minutes:
        return None
    if state.enough:
        why = f"{config.patience} validations brought nothing better (patience)"
    elif limit is not None and state.step >= limit:
        why = f"{limit:,} steps were all that `steps` or `epochs` allow"
    else:
        why = "its steps became faster than planned"
    return f"the run ended after {duration(state.seconds)} of the {duration(60 * config.minutes)} it was given: {why}"


def _begun_by(folder: Path) -> str | None:
    """The command that a run was begun with: the one that goes on with it may name nothing but its folder."""
    return next((event.get("command") for event in read_events(folder) if event["event"] == "start"), None)


def _end(trainer: Trainer, folder: Path, chosen: Exported) -> None:
    if not trainer.main:
        return
    log = Log(folder, trainer.state.step)
    figures: dict[str, Any] = chosen.validation.figures
    log.write("end", trainer.state.step, seconds=trainer.state.seconds, averaged=list(chosen.steps), **figures)
    trainer.display.say(f"the model is in {folder}: {chosen.weights}")


# -- the profile


def profile(config: TrainConfig, out: str | Path, steps: int = PROFILED) -> dict[str, float]:
    """The share of each part of training in some steps of this run; nothing is written."""
    if config.backbone is not None:
        raise ConfigError("a backbone's parts are not told apart", remedy="leave out --profile")
    config = settled(config)
    corpus = Corpus.open(config.data)
    trainer = make_trainer(config, corpus, Engine(config), Path(out), quiet=True)
    watch = stopwatch(trainer.engine.device)
    assert isinstance(trainer.network, Network)
    handles = attach(watch, trainer.network)
    trainer.stepper.watch = watch
    trainer.network.train()
    with closing(trainer.upcoming()) as upcoming:
        for number in range(steps + 3):
            if number == 3:  # the first steps are slower
                watch.reset()
            watch.switch(DATA)
            trainer.stepper.step(number, next(upcoming), 1e-5)
    watch.switch(OTHER)
    for handle in handles:
        handle.remove()
    return watch.shares()
