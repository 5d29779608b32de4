"""The command line: arguments in, calls out.

Each file here registers one family of commands.  None imports anything slow at its top: `syntagma --help` answers at
once, and torch is loaded by the command that needs it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import typer

from syntagma.cli import (
    backtranslate,
    bench,
    compare,
    control_task,
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
    translate,
    votes,
)
from syntagma.errors import SyntagmaError, explain
from syntagma.process import keep_freed_memory

app = typer.Typer(
    name="syntagma",
    help="Generate text from the root of a syntax tree down: paraphrase and translate, see the structure and steer it.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for family in (
    parse,
    parser,
    levels,
    backtranslate,
    prepare,
    train,
    distill,
    generate,
    translate,
    evaluate,
    reproduce,
    convert,
    export,
    serve,
    compare,
    control_task,
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


def main() -> None:
    """Run the command; what the input or the system is at fault for is one sentence on stderr and exit code 1."""
    keep_freed_memory()
    sys.exit(_guarded(app))


def _guarded(command: Callable[[], object]) -> int:
    """The exit code of a command, its output written to the end; a bug alone may show a traceback."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        print("syntagma: standard output is closed; leave it open, or send it to /dev/null", file=sys.stderr)
        return 1
    try:
        try:
            command()
        finally:
            sys.stdout.flush()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output has gone, e.g. `| head`
        _drop_output()
        return 1
    except Exception as error:
        told = error if isinstance(error, SyntagmaError) else explain(error)
        if told is None or (os.environ.get("SYNTAGMA_TRACEBACK") and not isinstance(error, SyntagmaError)):
            raise
        _drop_output()
        print(f"syntagma: {told}", file=sys.stderr)
        return 1
    return 0


def _drop_output() -> None:
    """Forget what standard output still holds, which the interpreter would try to write once more at its end."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
