"""The command line: arguments in, calls out.

Each file here registers one family of commands.  None imports anything slow at its top: `syntagma --help` answers at
once, and torch is loaded by the command that needs it.  Where the first argument names a command, the files of the
others are not even read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import typer

from syntagma.errors import SyntagmaError, explain
from syntagma.process import keep_freed_memory

FAMILIES = {
    "parse": ("parse",),
    "parser": ("parser",),
    "levels": ("levels",),
    "backtranslate": ("backtranslate",),
    "alternate": ("alternate",),
    "prepare": ("prepare", "corpus"),
    "train": ("train",),
    "distill": ("distill",),
    "generate": ("generate", "paraphrase"),
    "translate": ("translate",),
    "evaluate": ("evaluate",),
    "reproduce": ("reproduce",),
    "convert": ("convert",),
    "export": ("export",),
    "serve": ("serve",),
    "compare": ("compare",),
    "control_task": ("control-task",),
    "votes": ("votes",),
    "bench": ("bench",),
}
"""The commands of each file, in the order of the help."""


def command_line(first: str | None = None) -> typer.Typer:
    """The command line with all commands, or with the family alone that the first argument names."""
    app = typer.Typer(
        name="syntagma",
        help="Generate text from the root of a syntax tree down: "
        "paraphrase and translate, see the structure and steer it.",
        no_args_is_help=True,
        add_completion=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(_root)
    named = [family for family, commands in FAMILIES.items() if first in commands]
    for family in named or FAMILIES:
        import_module(f"syntagma.cli.{family}").register(app)
    return app


def __getattr__(name: str) -> Any:
    """`app`, the command line with all commands, is made when it is asked for."""
    if name != "app":
        raise AttributeError(name)
    globals()[name] = made = command_line()
    return made


def _root(version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True)) -> None:
    if version:
        from syntagma import __version__

        print(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command; an error in the input or of the system is one sentence on stderr and exit code 1."""
    keep_freed_memory()
    sys.exit(_guarded(command_line(*sys.argv[1:2])))


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
        message = error if isinstance(error, SyntagmaError) else explain(error)
        if message is None or (os.environ.get("SYNTAGMA_TRACEBACK") and not isinstance(error, SyntagmaError)):
            raise
        _drop_output()
        print(f"syntagma: {message}", file=sys.stderr)
        return 1
    return 0


def _drop_output() -> None:
    """Forget what standard output still holds, which the interpreter would try to write once more at its end."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
