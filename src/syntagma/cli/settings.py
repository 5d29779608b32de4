"""`key=value` settings on the command line: how they are listed, and the flags that they once were."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, get_type_hints

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from syntagma.settings import Settings


def load_class(place: str) -> type[Settings]:
    """The class at `module:Class`."""
    module, _, name = place.partition(":")
    kind: type[Settings] = getattr(import_module(module), name)
    return kind


def settings_command(place: str, option: str = "") -> type[TyperCommand]:
    """A command whose settings are the class at `place`, given as arguments, or each after `option`.

    Their former flags are still read, with a warning: `--max-words 40` as `max_words=40`.
    """

    class SettingsCommand(TyperCommand):
        """A command with settings."""

        where: ClassVar[str] = place

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Read the arguments, former flags made into settings."""
            declared = {name for parameter in self.params for name in (*parameter.opts, *parameter.secondary_opts)}
            return super().parse_args(ctx, list(modern(args, declared, place, option)))

    return SettingsCommand


def modern(args: Sequence[str], declared: Collection[str], place: str, option: str) -> Iterator[str]:
    """Arguments with former flags in their present form.

    >>> place = "syntagma.search.options:SearchOptions"
    >>> list(modern(["--alpha", "0.5", "--no-coin", "-i", "x"], ["-i"], place, "--search"))
    ['--search', 'alpha=0.5', '--search', 'known_words_only=true', '-i', 'x']
    """
    from syntagma.aliases import ALIASES, FLAGS, renamed, tell
    from syntagma.settings import parse_overrides

    waiting = iter(args)
    for argument in waiting:
        if argument == "--":
            yield argument
            yield from waiting
            return
        flag, equals, value = argument.partition("=")
        if not flag.startswith("--") or flag in declared:
            yield argument
            continue
        if FLAGS.get(flag) in declared:
            tell(flag, FLAGS[flag])
            yield FLAGS[flag] + equals + value
            continue
        kind = load_class(place)
        hints = get_type_hints(kind)
        former = ALIASES.get(kind.__name__, {})
        types = hints | {name: hints[alias.name] for name, alias in former.items()}
        name, state = flag[2:].replace("-", "_"), "true"
        if name not in types and name.startswith("no_"):
            name, state = name.removeprefix("no_"), "false"
        if name not in types or (state == "false" and types[name] is not bool):
            yield argument  # which the parser refuses
            continue
        if not equals:
            value = state if types[name] is bool else next(waiting, "")
        ((name, present),) = renamed(kind.__name__, parse_overrides([f"{name}={value}"])).items()
        setting = f"{name}={present if isinstance(present, str) else json.dumps(present)}"
        tell(flag, f"{option} {setting}".lstrip())
        yield from ([option] if option else [])
        yield setting


def list_settings(*places: str, without: Collection[str] = ()) -> Callable[[bool], None]:
    """A callback for an option that lists the settings of classes and ends the command."""

    def show(wanted: bool) -> None:
        if not wanted:
            return
        from rich.console import Console
        from rich.table import Table

        from syntagma.settings import describe

        table = Table("setting", "value", "default", "meaning", box=None, pad_edge=False)
        for place in places:
            for line in describe(load_class(place)):
                if line.name not in without:
                    table.add_row(line.name, line.kind, line.default, line.help)
        Console(width=None if _is_terminal() else 160, highlight=False, markup=False).print(table)
        raise typer.Exit

    return show


def _is_terminal() -> bool:
    import sys

    return sys.stdout.isatty()


def settings_option(panel: str | None, *places: str, without: Collection[str] = ()) -> Any:
    """The option `--settings` of a command."""
    return typer.Option(
        "--settings",
        help="List all key=value settings with their types and defaults.",
        callback=list_settings(*places, without=without),
        is_eager=True,
        rich_help_panel=panel,
    )


def split_settings(arguments: Sequence[str], place: str) -> tuple[list[str], list[str]]:
    """Arguments apart: files, and settings of the class at `place`.

    A setting is `name=value` with the name of one, or with what could be a name where no such file exists.
    """
    import re
    from pathlib import Path

    from syntagma.aliases import ALIASES

    kind = load_class(place)
    known = {*get_type_hints(kind), *ALIASES.get(kind.__name__, {})}
    files: list[str] = []
    settings: list[str] = []
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        likely = equals and re.fullmatch(r"[a-z_.]+", name) and not Path(argument).exists()
        (settings if likely or (equals and name in known) else files).append(argument)
    return files, settings
