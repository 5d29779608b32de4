"""Figures as tables: for a terminal, Markdown, LaTeX, JSON; and each segment's figures as a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

from syntagma.files import atomic_write
from syntagma.metrics.base import Array, Score
from syntagma.metrics.bootstrap import Comparison

TITLES = {
    "bleu": "BLEU",
    "self_bleu": "self-BLEU",
    "ibleu": "iBLEU",
    "meteor": "METEOR",
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "d_lex": "D_lex",
    "d_syn": "D_syn",
    "d_syn_ref": "D_syn to reference",
    "chrf": "chrF",
    "length_ratio": "length ratio",
    "copy_rate": "copy rate",
    "sari": "SARI",
    "similarity": "similarity",
    "similarity_src": "similarity to source",
    "beam_bleu": "beam BLEU",
    "beam_ibleu": "beam iBLEU",
    "d_lex_beam": "D_lex beam",
    "d_syn_beam": "D_syn beam",
    "tree_precision": "tree precision",
    "tree_recall": "tree recall",
    "tree_f1": "tree F1",
    "template_match": "template match",
    "template_match_parsed": "template match (parsed)",
    "edit_followed": "edits followed",
    "params": "parameters (M)",
    "speed": "sentences/s",
    "output_tokens": "tokens an output",
}
_LATEX = {"_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "↓": r"$\downarrow$"}


def title(name: str) -> str:
    """A figure's name in a table.

    >>> title("bleu[ref-2]")
    'BLEU (ref-2)'
    """
    figure, _, reference = name.partition("[")
    return TITLES.get(figure, figure) + (f" ({reference[:-1]})" if reference else "")


def rows(scores: Sequence[Score], comparisons: Sequence[Comparison] | None) -> list[list[str]]:
    """The table with its head: the figures, their intervals and, if compared, the baseline's and the difference."""
    head = ["metric", "score", "95% interval"]
    table = [head + (["baseline", "difference", "95% interval", "p"] if comparisons else [])]
    for index, score in enumerate(scores):
        name = title(score.name) + (" ↓" if score.lower_is_better else "")
        row = [name, f"{score.value:.1f}", _interval(score.interval)]
        if comparisons:
            other = comparisons[index]
            row += [f"{other.baseline:.1f}", f"{other.delta:+.1f}", _interval(other.interval, "+"), f"{other.p:.3f}"]
        table.append(row)
    if all(score.interval is None for score in scores):
        table = [row[:2] + row[3:] for row in table]
    return table


def _interval(interval: tuple[float, float] | None, sign: str = "") -> str:
    return "" if interval is None else f"{interval[0]:{sign}.1f} .. {interval[1]:{sign}.1f}"


def signatures(scores: Iterable[Score]) -> list[str]:
    """Each signature once."""
    return list(dict.fromkeys(score.signature for score in scores))


def as_json(
    scores: Sequence[Score], comparisons: Sequence[Comparison] | None, segments: int, resamples: int, seed: int
) -> str:
    """One object: a number for each figure, then what qualifies them."""
    made: dict[str, Any] = {score.name: score.value for score in scores}
    made["segments"] = segments
    if any(score.interval for score in scores):
        made["intervals"] = {score.name: score.interval for score in scores}
        made["resampling"] = {"resamples": resamples, "seed": seed}
    if comparisons:
        made["against"] = {
            other.name: {"baseline": other.baseline, "delta": other.delta, "interval": other.interval, "p": other.p}
            for other in comparisons
        }
    made["signatures"] = {score.name: score.signature for score in scores}
    return json.dumps(made)


def as_markdown(scores: Sequence[Score], comparisons: Sequence[Comparison] | None) -> str:
    """A table in Markdown, then the signatures as a list.

    >>> print(as_markdown([Score("bleu", 18.46, "BLEU|tok:none")], None))
    | metric | score |
    |:---|---:|
    | BLEU | 18.5 |
    <BLANKLINE>
    - `BLEU|tok:none`
    """
    head, *body = rows(scores, comparisons)
    rule = "|:---|" + "---:|" * (len(head) - 1)
    lines = ["| " + " | ".join(row) + " |" for row in (head, *body)]
    return "\n".join([lines[0], rule, *lines[1:], "", *(f"- `{signature}`" for signature in signatures(scores))])


def as_latex(scores: Sequence[Score], comparisons: Sequence[Comparison] | None) -> str:
    """A `tabular` with the rules of booktabs, and the signatures as comments.

    >>> print(as_latex([Score("d_lex", 20.73, "D_lex")], None))
    % D_lex
    \\begin{tabular}{lr}
    \\toprule
    metric & score \\\\
    \\midrule
    D\\_lex & 20.7 \\\\
    \\bottomrule
    \\end{tabular}
    """
    head, *body = [[_escape(cell) for cell in row] for row in rows(scores, comparisons)]
    lines = [f"% {signature}" for signature in signatures(scores)]
    lines += [rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}", r"\toprule", " & ".join(head) + r" \\", r"\midrule"]
    lines += [" & ".join(row) + r" \\" for row in body]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _escape(cell: str) -> str:
    return "".join(_LATEX.get(character, character) for character in cell).replace(" .. ", "--")


def print_table(scores: Sequence[Score], comparisons: Sequence[Comparison] | None, stream: IO[str]) -> None:
    """A table for a terminal or a file, with the signatures below."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    head, *body = rows(scores, comparisons)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for index, cell in enumerate(head):
        table.add_column(cell, justify="right" if index else "left", no_wrap=True)
    for row in body:
        table.add_row(*row)
    console = Console(file=stream, highlight=False, width=None if stream.isatty() else 120)
    console.print(table)
    for signature in signatures(scores):
        console.print(signature, style="dim", soft_wrap=True, markup=False)


def write_segments(path: str | Path, names: Sequence[str], figures: Array) -> None:
    """Each segment's figures, shape (segments, figures): JSON lines for a .jsonl file, else tab-separated."""
    with atomic_write(path) as stream:
        lines = str(path).endswith(".jsonl")
        if not lines:
            stream.write("\t".join(["segment", *names]) + "\n")
        for number, row in enumerate(figures.tolist(), 1):
            if lines:
                stream.write(json.dumps({"segment": number, **dict(zip(names, row, strict=True))}) + "\n")
            else:
                stream.write("\t".join([str(number), *(f"{value:.4f}" for value in row)]) + "\n")
