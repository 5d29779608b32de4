"""`syntagma votes`: the result of a blind comparison."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from syntagma.serve.control import Success
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

    Of an experiment on partial control: how often edits were followed, with 95% intervals and agreement.

    Example: syntagma votes votes.sqlite
    """
    if _control(file, as_json, as_csv):
        return
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


def _control(file: Path, as_json: bool, as_csv: bool) -> bool:
    """Show what a file says of partial control; whether it holds that and no votes."""
    from syntagma.serve.control import ControlStore, success

    store = ControlStore(file, create=False)
    try:
        if store.is_empty:
            return False
        edits, judgements = store.edits(), list(store.judgements())
        only = not store.has_votes
    finally:
        store.close()
    rows = success(edits, judgements)
    if as_csv:
        writer = csv.DictWriter(sys.stdout, [*edits[0], "judgements"], lineterminator="\n")
        writer.writeheader()
        for edit in edits:
            answers = {judge: followed for judge, number, followed in judgements if number == edit["edit"]}
            writer.writerow(edit | {"judgements": json.dumps(answers)})
    elif as_json:
        for row in rows:
            print(json.dumps(row.to_dict(), ensure_ascii=False))
    else:
        _show_success(rows)
    return only


def _show_success(rows: list[Success]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(caption="followed: in the judgement of those who edited; alpha: agreement of all who judged an edit")
    for name in ("annotator", "edits", "followed", "rate", "95%", "alpha"):
        table.add_column(name, no_wrap=True)
    for row in rows:
        interval = f"{100 * row.low:.1f}-{100 * row.high:.1f}%"
        alpha = None if row.alpha is None else f"{row.alpha:.2f}"
        rate = f"{100 * row.rate:.1f}%"
        table.add_row(escape(row.annotator), str(row.edits), str(row.followed), rate, interval, alpha)
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def _show(verdicts: list[Verdict]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(caption="share: the first system's, of the votes that are no ties; p: sign test; alpha: agreement")
    for name in ("question", "systems", "wins", "ties", "share", "95%", "p", "alpha", "voters", "items"):
        table.add_column(name, no_wrap=True)
    for verdict in verdicts:
        interval = (
            None
            if verdict.low is None or verdict.high is None
            else f"{100 * verdict.low:.1f}-{100 * verdict.high:.1f}%"
        )
        table.add_row(
            verdict.question,
            escape(f"{verdict.first} : {verdict.second}"),
            f"{verdict.first_wins} : {verdict.second_wins}",
            str(verdict.ties),
            None if verdict.share is None else f"{100 * verdict.share:.1f}%",
            interval,
            None if verdict.p is None else f"{verdict.p:.3g}",
            None if verdict.alpha is None else f"{verdict.alpha:.2f}",
            str(verdict.voters),
            str(verdict.items),
        )
    Console(width=None if sys.stdout.isatty() else 160).print(table)  # in a file nothing is cut off
