"""`syntagma train`: a model from a prepared corpus."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from syntagma.cli.common import option
from syntagma.cli.settings import settings_option

if TYPE_CHECKING:
    from syntagma.train.config import TrainConfig


_SETTINGS = ("syntagma.train.config:TrainConfig", "syntagma.network.config:ModelConfig")
_DECIDED = ("vocabulary", "outputs", "labels", "pad", "start", "end", "sep", "part")
"""Settings of the network that the corpus decides."""
_RUN, _MODEL, _REPORT = "The run", "The model", "Reports"


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("train")(train)


def train(
    out: Annotated[Path, option(_RUN, "The run's folder; an existing run is resumed. The model is written there.")],
    settings: Annotated[
        list[str] | None,
        typer.Argument(help="key=value, of training or of the network (see --settings).", show_default=False),
    ] = None,
    data: Annotated[Path | None, option(_RUN, "A prepared corpus.", show_default=False)] = None,
    minutes: Annotated[
        float | None, option(_RUN, "Plan the run to end in so many minutes.", show_default=False)
    ] = None,
    config: Annotated[Path | None, option(_RUN, "Settings in a JSON or YAML file.", show_default=False)] = None,
    list_settings: Annotated[bool, settings_option(_RUN, *_SETTINGS, without=_DECIDED)] = False,
    preset: Annotated[
        str | None,
        option(_MODEL, "The size: tiny, small, base, big, paper-paranmt or paper-wmt.", show_default=False),
    ] = None,
    backbone: Annotated[
        str | None,
        option(_MODEL, "A pretrained model to train: a folder, a .gguf file or a hub id.", show_default=False),
    ] = None,
    lora: Annotated[bool, option(_MODEL, "Train adapters beside the backbone's weights.", "--lora")] = False,
    tensorboard: Annotated[bool, option(_REPORT, "Also log for TensorBoard.", "--tensorboard")] = False,
    profile: Annotated[bool, option(_REPORT, "Only measure where the time of a step goes.", "--profile")] = False,
    quiet: Annotated[bool, option(_REPORT, "Say nothing on stderr but errors.", "--quiet", "-q")] = False,
) -> None:
    """Train a model; run the same command again after a stop or a kill and it goes on, to the same weights.

    Example: syntagma train --preset small --data corpora/tatoeba --out runs/small --minutes 150 lr=5e-4 dropout=0.2
    """
    given = {
        "data": None if data is None else str(data), "preset": preset, "minutes": minutes, "backbone": backbone,
        "lora": lora or None,
    }  # fmt: skip
    chosen = _config(out, config, {name: value for name, value in given.items() if value is not None}, settings or [])
    if profile:
        _show_shares(chosen, out)
        return
    from syntagma.train.run import train as run

    result = run(chosen, out, command=_command(), quiet=quiet, tensorboard=tensorboard)
    if result.signal is not None:
        raise typer.Exit(128 + result.signal)
    if result.main:
        print(
            json.dumps({"model": str(out), "steps": result.step, "seconds": round(result.seconds, 1), **result.figures})
        )


def _command() -> str:
    """The command as a model card tells it: without the folders of this machine."""
    return shlex.join(["syntagma", *map(_without_folders, sys.argv[1:])])


def _without_folders(argument: str) -> str:
    """An argument with the name of what it points at, whether it is a path, `--name=path` or `name=path`.

    >>> [_without_folders(argument) for argument in ("/home/me/run", "init=/home/me/run", "lr=6e-4", "runs/a")]
    ['run', 'init=run', 'lr=6e-4', 'runs/a']
    """
    name, equals, value = argument.rpartition("=")
    return name + equals + (Path(value).name if Path(value).is_absolute() else value)


def _config(out: Path, file: Path | None, given: dict[str, Any], settings: list[str]) -> TrainConfig:
    """The settings of the file, the options and the arguments, in that order; those of the run where there are none."""
    from syntagma.aliases import renamed
    from syntagma.errors import ConfigError
    from syntagma.settings import parse_overrides, read_mapping
    from syntagma.train.config import TrainConfig

    values = given | parse_overrides(settings)
    if file is None and not values and (out / "train.json").is_file():
        return TrainConfig.load(out / "train.json")
    if file is not None:
        values = read_mapping(file) | values
    if "data" not in values:
        raise ConfigError("no corpus was given", remedy="name one with --data, made by `syntagma prepare`")
    return TrainConfig.from_dict(renamed("ModelConfig", values, warn=True))


def _show_shares(config: TrainConfig, out: Path) -> None:
    from syntagma.train.run import profile

    for part, share in profile(config, out).items():
        print(f"{part}\t{100 * share:.1f}%")
