"""Partial control without people: contexts that a model has made are edited by rule, and it grows on from them.

*pin*: the first `<NP>` of a context becomes the words of the reference's first noun phrase.  *pp*: a `<PP>` comes in
before the final punctuation.  *question*: `<NP> <VP> .` becomes `did <NP> <VP> ?`.  Whether the text that grows from it
follows the edit is for a parser to say (`syntagma.metrics.edits`).

>>> edit("pp", ["<T>", "<S>", "<NP> <VP> ."])
Edit(kind='pp', start='<NP> <VP> <PP> .', first=2, tokens=1, label='PP')
>>> edit("question", ["<T>", "<NP> <VP> ."]).start
'did <NP> <VP> ?'
>>> reference = Tree.read("(TOP (S (NP (DT the) (NN man)) (VP (VBD went)) (. .)))")
>>> edit("pin", ["<T>", "<NP> <VP> ."], "He left .", reference).start
'the man <VP> .'
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from syntagma.tree import Tree

_LONGEST_PIN = 6
"""Words of a noun phrase that is still worth pinning."""
_ENDS = (".", "!", "?")


@dataclass(frozen=True)
class Edit:
    """A context after an edit; `tokens` of it, from `first` on, are what the edit asks a constituent `label` for."""

    kind: str
    start: str
    first: int
    tokens: int
    label: str

    def to_json(self) -> str:
        """The edit as a line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)


def edit(kind: str, levels: Sequence[str], output: str = "", reference: Tree | None = None) -> Edit | None:
    """The first context that this kind of edit suits, edited; None where it suits none, or would change nothing."""
    for level in levels:
        made = KINDS[kind](level.split(), output, reference)
        if made is not None:
            return made
    return None


def edit_outputs(
    kind: str, records: Sequence[Mapping[str, Any]], references: Sequence[Tree | None]
) -> list[Edit | None]:
    """The edits of the best output of each record."""
    edits = []
    for record, reference in zip(records, references, strict=True):
        best: Mapping[str, Any] = record["hypotheses"][0] if record["hypotheses"] else {"levels": [], "text": ""}
        edits.append(edit(kind, best["levels"], best["text"], reference))
    return edits


def _pin(context: list[str], output: str, reference: Tree | None) -> Edit | None:
    words = _first_noun_phrase(reference)
    if "<NP>" not in context or not words or " ".join(words) in " ".join(output.split()):
        return None
    place = context.index("<NP>")
    written = [*context[:place], *words, *context[place + 1 :]]
    return Edit("pin", " ".join(written), place, len(words), "NP")


def _insert_phrase(context: list[str], output: str, reference: Tree | None) -> Edit | None:
    if "<VP>" not in context or "<PP>" in context:
        return None
    place = len(context) - (context[-1] in _ENDS)
    return Edit("pp", " ".join([*context[:place], "<PP>", *context[place:]]), place, 1, "PP")


def _ask(context: list[str], output: str, reference: Tree | None) -> Edit | None:
    if context[:2] != ["<NP>", "<VP>"] or context[2:] not in ([], ["."], ["!"]):
        return None
    return Edit("question", "did <NP> <VP> ?", 0, 4, "SQ")


KINDS: dict[str, Callable[[list[str], str, Tree | None], Edit | None]] = {
    "pin": _pin,
    "pp": _insert_phrase,
    "question": _ask,
}


def _first_noun_phrase(tree: Tree | None) -> tuple[str, ...]:
    """The words of the highest noun phrase, the first of several, that has few words."""
    waiting = [] if tree is None else [tree]
    while waiting:
        node = waiting.pop(0)
        words = node.words()
        if node.label == "NP" and len(words) <= _LONGEST_PIN and all(word.isalpha() for word in words):
            return tuple(words)
        waiting += [child for child in node.children if isinstance(child, Tree)]
    return ()
