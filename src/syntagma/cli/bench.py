"""`syntagma bench`: speed side by side with peers."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from syntagma.cli.common import option

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syntagma.bench.report import Measurement


class Bench(StrEnum):
    """The benches."""

    core = "core"
    generate = "generate"
    metrics = "metrics"
    parse = "parse"
    serve = "serve"
    start = "start"
    train = "train"


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("bench")(bench)


def bench(
    name: Annotated[Bench, typer.Argument(help="What to measure.")] = Bench.core,
    data: Annotated[
        Path | None,
        option(
            "What is measured",
            "Real data instead of made-up: core: trees; parse, serve: sentences; metrics: pairs; "
            "generate: sentences, or a folder of models; start: this project, whose environment is measured.",
        ),
    ] = None,
    quick: Annotated[bool, option("What is measured", "Leave out what takes minutes.")] = False,
    model: Annotated[str, option("What is measured", "serve, generate: the model.")] = "paraphrase-en",
    seconds: Annotated[float, option("`bench serve`", "serve: how long the clients ask each time.", min=0.1)] = 30.0,
    clients: Annotated[int, option("`bench serve`", "serve: how many clients ask at once.", min=1)] = 200,
    setting: Annotated[
        list[str] | None,
        option("`bench generate`", "generate: BEAMxBATCH, such as 5x32, instead of 1 and 5 by 1 and 32; repeat it."),
    ] = None,
    runs: Annotated[
        int,
        option("`bench generate`", "generate: the median of so many runs counts.", min=1),
    ] = 3,
    as_json: Annotated[bool, option("What is measured", "One JSON object a row.", "--json")] = False,
) -> None:
    """Measure speed side by side with peers, all in one run; run it while nothing else is running.

    Example: syntagma bench generate --setting 5x32 --quick
    """
    from importlib import import_module

    more: dict[str, Any] = {}
    if name is Bench.serve:
        more = {"model": model, "seconds": seconds, "clients": clients}
    elif name is Bench.generate:
        more = {"model": model, "settings": [_setting(text) for text in setting or []], "runs": runs}
    _show(import_module(f"syntagma.bench.{name.value}").run(data, quick=quick, **more), as_json)


def _setting(text: str) -> tuple[int, int]:
    from syntagma.errors import ConfigError

    beam, _, batch = text.partition("x")
    if not (beam.isdecimal() and batch.isdecimal() and int(beam) and int(batch)):
        raise ConfigError(f"{text!r} is no setting", remedy="write BEAMxBATCH, such as 5x32")
    return int(beam), int(batch)


def _show(rows: Iterable[Measurement], as_json: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    if as_json:
        for row in rows:
            print(json.dumps(asdict(row)), flush=True)
        return
    table = Table("what", "ours", "peer", "peer's", "ratio")
    for row in rows:
        own, peers = (None if value is None else f"{value:,.1f} {row.unit}" for value in (row.ours, row.peers))
        print(f"measured: {row.what}: {own}", file=sys.stderr)
        table.add_row(row.what, own, row.peer, peers, None if row.ratio is None else f"{row.ratio:.2f}x")
    Console().print(table)
