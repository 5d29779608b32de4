"""`syntagma control-task`: sources with a model's contexts, for annotators to edit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from syntagma.cli.common import AsJson, report


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("control-task")(control_task)


def control_task(
    outputs: Annotated[Path, typer.Argument(help="What a guided model wrote: the output of generate --json.")],
    out: Annotated[Path, typer.Option(help="The task file, for `syntagma serve --control-task`.")],
    sample: Annotated[
        int | None, typer.Option(min=1, help="So many sources, drawn at random.", show_default="all")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which sources are drawn.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Build the experiment on partial control: annotators edit a model's contexts and judge what it makes of them.

    Example: syntagma control-task guided.jsonl --sample 100 --out task.jsonl
    """
    from dataclasses import asdict

    from syntagma.files import atomic_write
    from syntagma.serve.control import sample_task

    items = sample_task(outputs, sample, seed)
    with atomic_write(out) as stream:
        for item in items:
            stream.write(json.dumps(asdict(item), ensure_ascii=False) + "\n")
    report(as_json, f"{len(items)} items in {out}", items=len(items))
