"""A trace for a terminal: the levels one under the other, with scores and what each constituent became."""

from __future__ import annotations

from syntagma.levels import MalformedInfill, Token, Tokens, is_label, show, split_infill
from syntagma.search.result import Output, TraceLevel
from syntagma.tree.draw import LABEL_COLOUR, NO_COLOUR, RULE_COLOUR


def draw_trace(output: Output, colour: bool = False) -> str:
    """Every context of an output with its score; below each, what its labels became.

    The score on a line is that of the context it stands before; an edit by the user and a reward are marked.
    """
    lines = []
    score = 0.0
    for level in output.trace:
        lines.append(_line(score, _tokens(level.context, colour), _marks(level)))
        lines += [f"           {became}" for became in _becomes(level, colour)]
        score = level.score
    finished = output.levels[-1] if output.trace else output.text
    lines.append(_line(output.score, finished, ""))
    return "\n".join(lines)


def _line(score: float, text: str, marks: str) -> str:
    return f"{score:9.3f}  {text}{marks}"


def _marks(level: TraceLevel) -> str:
    marks = ["edited"] * level.edited + ["matches the template"] * level.rewarded
    marks += [f"one word: {join}" for join in level.joins]
    return f"   [{', '.join(marks)}]" if marks else ""


def _becomes(level: TraceLevel, colour: bool) -> list[str]:
    parts = split_infill(level.infill)
    assert not isinstance(parts, MalformedInfill)
    labels = [token for token in level.context if is_label(token)]
    arrow = f"{RULE_COLOUR}->{NO_COLOUR}" if colour else "->"
    return [
        f"{_token(label, colour)} {arrow} {_tokens(tuple(part), colour)}"
        for label, part in zip(labels, parts, strict=True)
    ]


def _tokens(tokens: Tokens, colour: bool) -> str:
    return " ".join(_token(token, colour) for token in tokens)


def _token(token: Token, colour: bool) -> str:
    text = show((token,))
    return f"{LABEL_COLOUR}{text}{NO_COLOUR}" if colour and is_label(token) else text
