"""Settings on the command line: `key=value` arguments and flags, both read off the fields of settings classes."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Union, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from syntagma.settings import Settings


def load_class(place: str) -> type[Settings]:
    """The class at `module:Class`."""
    module, _, name = place.partition(":")
    kind: type[Settings] = getattr(import_module(module), name)
    return kind


def settings_command(*places: str, former: str = "", flags: Sequence[str] = ()) -> type[TyperCommand]:
    """A command whose settings are the classes at `places`, given as arguments.

    Their former flags are still read, with a warning: `--max-words 40` as `max_words=40`; so are settings after the
    option `former`.  A flag without a help text has that of the setting of its name, there or in the classes `flags`.
    """

    class SettingsCommand(TyperCommand):
        """A command with settings."""

        where: ClassVar[tuple[str, ...]] = (*places, *flags)

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Read the arguments, former flags made into settings."""
            declared = {name for parameter in self.params for name in (*parameter.opts, *parameter.secondary_opts)}
            return super().parse_args(ctx, list(modern(args, declared, places, former)))

        def format_help(self, ctx: Any, formatter: Any) -> None:
            """Write the help."""
            explain_flags(self)
            super().format_help(ctx, formatter)

    return SettingsCommand


def explain_flags(command: Any) -> None:
    """Give each flag that has no help text the description of its setting."""
    from syntagma.settings import describe

    silent = [flag for flag in command.params if getattr(flag, "help", "") is None and not flag.hidden]
    if silent:
        texts = {line.name: line.help for place in command.where for line in describe(load_class(place))}
        for flag in silent:
            flag.help = texts[flag.name] + (" Repeat it for several." if flag.multiple else "")


def modern(args: Sequence[str], declared: Collection[str], places: Sequence[str], former: str = "") -> Iterator[str]:
    """Arguments with former flags in their present form.

    >>> places = ["syntagma.search.options:SearchOptions"]
    >>> list(modern(["--alpha", "0.5", "--no-coin", "-i", "x"], ["-i"], places))
    ['alpha=0.5', 'known_words_only=true', '-i', 'x']
    """
    from syntagma.aliases import FLAGS, tell

    waiting = iter(args)
    for argument in waiting:
        if argument == "--":
            yield argument
            yield from waiting
            return
        flag, equals, value = argument.partition("=")
        if former and flag == former:
            value = value if equals else next(waiting, "")
            if "=" in value:
                tell(f"{former} {value}", value)
                yield value
            else:
                yield from (flag, value)
        elif not flag.startswith("--") or flag in declared:
            yield argument
        elif FLAGS.get(flag) in declared:
            tell(flag, FLAGS[flag])
            yield FLAGS[flag] + equals + value
        else:
            yield _setting(flag, value if equals else None, waiting, places) or argument


def _setting(former: str, value: str | None, following: Iterator[str], places: Sequence[str]) -> str | None:
    """The setting that a former flag means, whose value may be the following argument; None if it is no setting."""
    from syntagma.aliases import ALIASES, FLAGS, GONE, renamed, tell
    from syntagma.errors import ConfigError
    from syntagma.settings import parse_overrides

    flag = FLAGS.get(former, former)
    for kind in map(load_class, places):
        hints = get_type_hints(kind)
        types = hints | {name: hints[alias.name] for name, alias in ALIASES.get(kind.__name__, {}).items()}
        name, state = flag[2:].replace("-", "_"), "true"
        if name not in types and name.startswith("no_"):
            name, state = name.removeprefix("no_"), "false"
        switch = bool in (types.get(name), *get_args(types.get(name)))
        if name not in types or (state == "false" and not switch):
            continue
        if value is None:
            value = state if switch else next(following, "")
        if (former, value) in GONE:
            what, remedy = GONE[former, value]
            raise ConfigError(what, remedy=remedy)
        ((name, present),) = renamed(kind.__name__, parse_overrides([f"{name}={value}"])).items()
        setting = f"{name}={present if isinstance(present, str) else json.dumps(present)}"
        tell(former, setting)
        return setting
    return None


# -- flags that are read off a settings class


def derived_flags(place: str, panel: str, names: Mapping[str, str | bool]) -> Iterator[inspect.Parameter]:
    """A flag for each of some settings of a class, with what its help shows as the default; None where not given."""
    hints = get_type_hints(load_class(place))
    for name, default in names.items():
        option = typer.Option(f"--{name.replace('_', '-')}", rich_help_panel=panel, show_default=default)
        annotation: Any = Annotated[_flag_type(hints[name]), option]
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _flag_type(hint: Any) -> Any:
    """The type of a flag for a setting: optional, and lists for tuples."""
    if get_origin(hint) is tuple:
        hint = list[get_args(hint)[0]]  # type: ignore[misc]
    optional = get_origin(hint) in (Union, UnionType) and type(None) in get_args(hint)
    return hint if optional else hint | None


def with_flags(
    command: Callable[..., None],
    flags: Sequence[inspect.Parameter],
    panels: Sequence[str],
    model: str | None,
    help: str,
) -> Callable[..., None]:
    """A command with flags in the place of its `**given`, in the order of their panels, for another model."""
    signature = inspect.signature(command, eval_str=True)
    own = [item.replace(default=model) if item.name == "model" else item for item in signature.parameters.values()]
    own = [item.replace(kind=item.KEYWORD_ONLY) for item in own if item.kind is not item.VAR_KEYWORD]
    parameters = sorted([*own, *flags], key=lambda item: _place(item, panels))

    def changed(**given: Any) -> None:
        command(**given)

    changed.__doc__ = help
    changed.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    changed.__annotations__ = {item.name: item.annotation for item in parameters}
    return changed


def _place(parameter: inspect.Parameter, panels: Sequence[str]) -> int:
    """The place of a parameter's panel; arguments come first."""
    panel = getattr(get_args(parameter.annotation)[1], "rich_help_panel", None)
    return panels.index(panel) if panel in panels else -1


# -- the list of settings


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
        Console(width=None if sys.stdout.isatty() else 160, highlight=False, markup=False).print(table)
        raise typer.Exit

    return show


def settings_option(panel: str | None, *places: str, without: Collection[str] = ()) -> Any:
    """The option `--settings` of a command."""
    return typer.Option(
        "--settings",
        help="List all key=value settings with their types and defaults.",
        callback=list_settings(*places, without=without),
        is_eager=True,
        rich_help_panel=panel,
    )


# -- reading


def split_settings(arguments: Sequence[str], *places: str) -> tuple[list[str], list[str]]:
    """Arguments apart: files or texts, and settings of the classes at `places`.

    A setting is `name=value` with the name of one, or with what could be a name where there is no space and no such
    file.
    """
    known = {name for place in places for name in _names(load_class(place))}
    others: list[str] = []
    settings: list[str] = []
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        likely = re.fullmatch(r"[a-z_.]+=\S*", argument) and not Path(argument).exists()
        (settings if likely or (equals and name in known) else others).append(argument)
    return others, settings


def read_settings(settings: Sequence[str], *places: str) -> list[dict[str, Any]]:
    """The values of `key=value` arguments for each of the classes at `places`."""
    from syntagma.settings import split_arguments, unknown

    kinds = [load_class(place) for place in places]
    by_kind: list[list[str]] = [[] for _ in kinds]
    for argument, (name, _) in zip(settings, split_arguments(settings), strict=True):
        home = next((index for index, kind in enumerate(kinds) if name in _names(kind)), None)
        if home is None:
            raise unknown(name, {known for kind in kinds for known in get_type_hints(kind)}, "this command")
        by_kind[home].append(argument)
    return [kind.read_arguments(arguments) for kind, arguments in zip(kinds, by_kind, strict=True)]


def _names(kind: type[Settings]) -> set[str]:
    """The names of a class's settings, former ones too."""
    from syntagma.aliases import ALIASES

    return {*get_type_hints(kind), *ALIASES.get(kind.__name__, {})}
