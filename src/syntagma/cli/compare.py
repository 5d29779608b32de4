"""`syntagma compare`: the items of a blind comparison from two systems' outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from syntagma.cli.common import AsJson, report


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("compare")(compare)


def compare(
    first: Annotated[Path, typer.Argument(help="What one system wrote: the output of generate --json.")],
    second: Annotated[Path, typer.Argument(help="What the other wrote for the same sources.")],
    out: Annotated[Path, typer.Option(help="The file of items, for `syntagma serve --compare`.")],
    sample: Annotated[
        int | None, typer.Option(min=1, help="So many sources, drawn at random.", show_default="all")
    ] = None,
    nbest: Annotated[int, typer.Option(min=1, help="How many hypotheses of each system to show.")] = 1,
    names: Annotated[
        str | None, typer.Option(help="What the systems are called, A,B.", show_default="their files' names")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which sources are drawn.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Build a blind comparison of two systems; where both wrote the same there is nothing to choose.

    Example: syntagma compare guided.jsonl seq2seq.jsonl --sample 100 --out items.jsonl
    """
    from syntagma.errors import ConfigError
    from syntagma.files import atomic_write
    from syntagma.serve.items import sample_items

    called = tuple(names.split(",")) if names else (first.stem, second.stem)
    if len(called) != 2:
        raise ConfigError(f"--names {names!r} names no two systems", remedy="write it as A,B")
    sampled = sample_items(first, second, (called[0], called[1]), sample, nbest=nbest, seed=seed)
    with atomic_write(out) as stream:
        for item in sampled.items:
            outputs = {name: list(texts) for name, texts in item.outputs.items()}
            values = {"id": item.id, "source": item.source, "outputs": outputs}
            stream.write(json.dumps(values, ensure_ascii=False) + "\n")
    left_out = f"{sampled.equal} sources with equal outputs and {sampled.without_output} without one are left out"
    report(
        as_json,
        f"{len(sampled.items)} items in {out}; {left_out}",
        items=len(sampled.items),
        equal=sampled.equal,
        without_output=sampled.without_output,
    )
