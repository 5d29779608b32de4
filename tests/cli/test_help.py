"""What the help says is what was written."""

from __future__ import annotations

import typer.main
from rich.text import Text

from commands import COMMANDS
from syntagma.cli import FAMILIES, app, command_line
from syntagma.cli.settings import explain_flags


def test_no_help_is_taken_for_markup() -> None:
    """Brackets would be: `[default: 5]` in a help text is not shown."""
    every = list(COMMANDS.values())
    for command in every:
        if hasattr(command, "where"):
            explain_flags(command)
    helps = [option.help for command in every for option in command.params if getattr(option, "help", None)]
    helps += [command.help for command in every if command.help]
    assert len(helps) > 100
    assert [text for text in helps if Text.from_markup(text).plain != text] == []


def test_a_family_alone_has_the_commands_that_it_is_known_for() -> None:
    every = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    assert every == {name for commands in FAMILIES.values() for name in commands}
    for names in FAMILIES.values():
        for name in names:
            assert set(typer.main.get_command(command_line(name)).commands) == set(names)  # type: ignore[attr-defined]
    assert set(typer.main.get_command(command_line("--help")).commands) == every  # type: ignore[attr-defined]
