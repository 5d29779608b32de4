"""The command line: arguments in, calls out.

Each file here registers one family of commands.  None imports anything slow at its top: `syntagma --help` answers at
once, and torch is loaded by the command that needs it.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import typer

from syntagma.cli import (
    bench,
    convert,
    distill,
    evaluate,
    export,
    generate,
    levels,
    parse,
    parser,
    prepare,
    reproduce,
    serve,
    train,
    votes,
)
from syntagma.errors import MissingExtra, SyntagmaError
from syntagma.process import keep_freed_memory

app = typer.Typer(
    name="syntagma",
    help="Generate text from the root of a syntax tree down: paraphrase and translate, see the structure and steer it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for family in (
    parse,
    parser,
    levels,
    prepare,
    train,
    distill,
    generate,
    evaluate,
    reproduce,
    convert,
    export,
    serve,
    votes,
    bench,
):
    family.register(app)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True)) -> None:
    if version:
        from syntagma import __version__

        print(__version__)
        raise typer.Exit


TRAINING = ("torch", "transformers", "pyarrow", "onnx")
"""Packages that only the extra `train` brings."""


def _fail(error: SyntagmaError) -> NoReturn:
    print(f"syntagma: {error}", file=sys.stderr)
    sys.exit(1)


def main() -> None:
    """Run the command; a user's error is one sentence on stderr and exit code 1."""
    keep_freed_memory()
    try:
        app()
    except SyntagmaError as error:
        _fail(error)
    except ModuleNotFoundError as error:
        if error.name not in TRAINING:
            raise
        _fail(MissingExtra(error.name, "train", "this command"))
    except BrokenPipeError:  # the reader of our output has gone, e.g. `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
