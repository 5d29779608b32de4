"""`syntagma convert`: the authors' checkpoints into model folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from syntagma.cli.common import AsJson, report


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("convert")(convert)


def convert(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint (.pt) of the authors' program.")],
    dictionary: Annotated[Path, typer.Option("--dict", help="Its fairseq dictionary (dict.txt).")],
    codes: Annotated[Path, typer.Option("--bpe", help="Its subword-nmt codes.")],
    out: Annotated[Path, typer.Option(help="The model folder to write; it must not exist yet.")],
    half: Annotated[bool, typer.Option("--fp16", help="Store the weights in half precision.")] = False,
    as_json: AsJson = False,
) -> None:
    """Turn a checkpoint of the paper's authors into a model folder; nothing in it is executed.

    Example: syntagma convert checkpoint_best.pt --dict dict.txt --bpe codes.txt --out authors
    """
    from syntagma.errors import InputError, Place
    from syntagma.network.convert.authors import convert as run
    from syntagma.network.storage import save_pretrained

    if out.exists():
        raise InputError("it exists already", Place(str(out)), "give a new folder")
    network, subwords = run(checkpoint, dictionary, codes)
    size = sum(weight.numel() for weight in network.parameters())
    card = (
        f"# Converted model\n\nMade by `syntagma convert` from `{checkpoint.name}` of the authors' program.\n\n"
        f"- {size:,} parameters, {subwords.size:,} vocabulary entries, labels {', '.join(subwords.labels)}\n"
        "- It was trained on lower-case, tokenised text; a score is a mean of log-probabilities.\n"
    )
    about = {"search": {"score": "mean", "first_level": "plain"}, "made from": checkpoint.name}
    save_pretrained(out, network, subwords, card, about=about, precision="fp16" if half else "fp32")
    report(as_json, f"{size:,} parameters written to {out}", model=str(out), parameters=size)
