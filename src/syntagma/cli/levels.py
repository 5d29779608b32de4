"""`syntagma levels`: trees into contexts and infills."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from syntagma.cli.common import Bad

if TYPE_CHECKING:
    from syntagma.errors import InputError
    from syntagma.tree import Tree


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("levels")(levels)


def levels(
    trees: Annotated[
        list[str] | None, typer.Argument(help="Bracketed trees; without any, -i is read.", show_default=False)
    ] = None,
    source: Annotated[
        str, typer.Option("-i", "--input", help="A file of trees, one a line (also gzip); - is standard input.")
    ] = "-",
    labels: Annotated[str, typer.Option(help="The labels to keep, comma-separated; others are pruned.")] = "S,NP,VP,PP",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a tree.")] = False,
    draw: Annotated[bool, typer.Option("--draw", help="Draw each tree above its levels.")] = False,
    bad: Annotated[Bad, typer.Option(help="At a bad line: stop, or skip it and go on.")] = Bad.stop,
    rejects: Annotated[
        Path | None, typer.Option(help="Where skipped lines go, as JSON lines with number and reason.")
    ] = None,
) -> None:
    """Turn bracketed trees into their levels: a line "context<TAB>infill" each, a blank line between trees.

    Example: syntagma levels "(S (NP (PRP I)) (VP (VBD ate) (NP (DT an) (NN apple))) (. .))"
    """
    from syntagma.cli.common import read_labels
    from syntagma.errors import ConfigError
    from syntagma.files import atomic_write, scan_lines, source_name

    kept = read_labels(labels)
    if rejects is not None and bad is Bad.stop:
        raise ConfigError("--rejects is given but the first bad line stops the run", remedy="add --bad skip")
    lines = iter(trees) if trees else scan_lines(source)
    name = "the arguments" if trees else source_name(source)
    show = _as_json if as_json else _as_text(draw)
    if rejects is None:
        _run(lines, name, kept, show, bad, None)
    else:
        with atomic_write(rejects) as stream:
            _run(lines, name, kept, show, bad, stream)


def _run(
    lines: Iterable[str | InputError],
    name: str,
    labels: tuple[str, ...],
    show: Callable[[Tree, int], str],
    bad: Bad,
    rejects: IO[str] | None,
) -> None:
    """Read, show and write tree by tree; a bad line ends the run or is counted and kept aside."""
    from syntagma.errors import SyntagmaError
    from syntagma.tree import KEPT_LABELS, Tree, clean, prune

    shown = skipped = 0
    missing = {f"({label}" for label in labels if label not in KEPT_LABELS}
    for number, line in enumerate(lines, 1):
        try:
            if not isinstance(line, str):
                raise line
            if not line.strip():
                raise SyntagmaError("the line is empty", remedy="give one tree a line, or use --bad skip")
            tree = clean(Tree.read(line), labels)
            missing.difference_update(tree.walk)
            text = show(prune(tree, labels), shown)
        except SyntagmaError as error:
            error.at(file=name, line=number)
            if bad is Bad.stop:
                raise
            skipped += 1
            if rejects is not None:
                reject = {"line": number, "reason": str(error), "text": line if isinstance(line, str) else None}
                rejects.write(json.dumps(reject, ensure_ascii=False) + "\n")
        else:
            sys.stdout.write(text)
            shown += 1
    if missing and shown:
        names = ", ".join(label for label in labels if f"({label}" in missing)
        print(f"syntagma: no tree has a constituent {names}", file=sys.stderr)
    if skipped:
        where = "" if rejects is None else "; the rejects file has them with their reasons"
        print(f"syntagma: {skipped} of {shown + skipped} lines were skipped{where}", file=sys.stderr)


def _as_json(tree: Tree, number: int) -> str:
    from syntagma.levels import levels, show

    made = [{"context": show(level.context), "infill": show(level.infill)} for level in levels(tree)]
    return json.dumps({"tree": str(tree), "levels": made}, ensure_ascii=False) + "\n"


def _as_text(draw: bool) -> Callable[[Tree, int], str]:
    from syntagma.cli.common import colour, columns
    from syntagma.levels import levels, show
    from syntagma.tree import draw as drawn

    in_colour, width = colour(), columns()

    def text(tree: Tree, number: int) -> str:
        picture = drawn(tree, width, in_colour) + "\n\n" if draw else ""
        lines = "".join([f"{show(level.context)}\t{show(level.infill)}\n" for level in levels(tree)])
        return ("\n" if number else "") + picture + lines

    return text
