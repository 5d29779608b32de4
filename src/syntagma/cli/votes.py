"""`syntagma votes`: what the votes of a blind comparison say."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from syntagma.serve.votes import Verdict


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("votes")(votes)


def votes(
    file: Annotated[Path, typer.Argument(help="The file that `syntagma serve --votes` wrote.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a question and pair of systems.")] = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="All votes as they came, also those that were replaced.")
    ] = False,
) -> None:
    """Count the votes of a blind comparison: wins, ties, shares with 95% intervals, sign tests, agreement.

    Example: syntagma votes votes.sqlite
    """
    from syntagma.serve.compare import VoteStore
    from syntagma.serve.votes import COLUMNS, judge

    store = VoteStore(file, create=False)
    try:
        if as_csv:
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(store.rows())
            return
        verdicts = judge(store.rows())
    finally:
        store.close()
    if as_json:
        for verdict in verdicts:
            print(json.dumps(verdict.to_dict(), ensure_ascii=False))
    else:
        _show(verdicts)


def _show(verdicts: list[Verdict]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(caption="share: the first system's, of the votes that are no ties; p: sign test; alpha: agreement")
    for name in ("question", "systems", "wins", "ties", "share", "95%", "p", "alpha", "voters", "items"):
        table.add_column(name, no_wrap=True)
    for one in verdicts:
        interval = None if one.low is None or one.high is None else f"{100 * one.low:.1f}-{100 * one.high:.1f}%"
        table.add_row(
            one.question,
            escape(f"{one.first} : {one.second}"),
            f"{one.first_wins} : {one.second_wins}",
            str(one.ties),
            None if one.share is None else f"{100 * one.share:.1f}%",
            interval,
            None if one.p is None else f"{one.p:.3g}",
            None if one.alpha is None else f"{one.alpha:.2f}",
            str(one.voters),
            str(one.items),
        )
    Console(width=None if sys.stdout.isatty() else 160).print(table)  # in a file nothing is cut off
