"""What the help says is what was written."""

from __future__ import annotations

from rich.text import Text

from commands import COMMANDS
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
