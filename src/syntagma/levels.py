"""Trees into levels and back: what the model learns, and what generation undoes.

A *context* is a target half grown: words and open labels.  An *infill* says what each open label becomes, left to
right, each part opened by `<c>`.  A *level* is one such pair; a tree of depth n has n - 1 of them.

>>> from syntagma.tree import Tree, prune
>>> tree = prune(Tree.read("(S (NP (PRP I)) (VP (VBD ate) (NP (DT an) (NN apple))) (. .))"))
>>> for level in levels(tree):
...     print(show(level.context), "|", show(level.infill))
<T> | <c> <S>
<S> | <c> <NP> <VP> .
<NP> <VP> . | <c> I <c> ate <NP>
I ate <NP> . | <c> an apple
>>> show(expand(read_tokens("<NP> <VP> ."), read_tokens("<c> I <c> ate <NP>")))
'I ate <NP> .'

Labels and `<c>` are values of their own, never strings, so a word that reads `<NP>` stays a word; where contexts are
written as text, such a word gets a backslash: `\\<NP>`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from syntagma.errors import LabelError, Place, SyntagmaError
from syntagma.tree.brackets import ROOT, ROOT_NAMES
from syntagma.tree.node import CLOSE, Tree, check_label, check_word, constituent_ends, escape


class Label:
    """An open constituent in a context or infill; there is one object for each name, so `is` compares."""

    __slots__ = ("name",)
    _known: dict[str, Label] = {}  # noqa: RUF012

    name: str

    def __new__(cls, name: str) -> Label:  # noqa: D102
        known = cls._known.get(name)
        if known is None:
            check_label(name)
            known = super().__new__(cls)
            known.name = name
            known = cls._known.setdefault(name, known)
        return known

    def __str__(self) -> str:
        return f"<{self.name}>"

    def __repr__(self) -> str:
        return f"Label({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Label, (self.name,))


class Part:
    """The mark `<c>` that opens each part of an infill; there is only one, `PART`."""

    __slots__ = ()
    _one: Part | None = None

    def __new__(cls) -> Part:  # noqa: D102
        if cls._one is None:
            cls._one = super().__new__(cls)
        return cls._one

    def __str__(self) -> str:
        return "<c>"

    __repr__ = __str__

    def __reduce__(self) -> tuple[Any, ...]:
        return (Part, ())


PART = Part()
TOP = Label("T")
"""The label from which everything grows."""

Token: TypeAlias = Any
"""A `Label`, `PART`, or a word: a `str` here, whatever stands for a word elsewhere (a `Word`, subword ids)."""
Tokens: TypeAlias = tuple[Token, ...]


class Level(NamedTuple):
    """A context and the infill that grows it by one depth."""

    context: Tokens
    infill: Tokens


class MalformedInfill(SyntagmaError):
    """An infill that does not fit its context; `part` counts from 1 (0: before the first part)."""

    def __init__(self, part: int, what: str) -> None:
        super().__init__(f"malformed infill, {what}")
        self.part = part


def is_label(token: Token) -> bool:
    """Whether a token is an open label."""
    return type(token) is Label


def levels(tree: Tree, words: Sequence[Any] | None = None) -> Iterator[Level]:
    """The levels of a tree from the root down; the tree's root counts as `<T>`, its other labels are all kept.

    With `words`, one for each leaf, those stand in the contexts and infills instead of the tree's own.
    """
    tokens, ends = _tokens(tree, words)
    context: list[Token] = [TOP]
    opened = [(0, 0)]  # of each open label: its place in the context, and in the tree's walk
    while opened:
        infill: list[Token] = []
        grown: list[Token] = []
        below: list[tuple[int, int]] = []
        done = 0
        for place, opening in opened:
            grown += context[done:place]
            done = place + 1
            infill.append(PART)
            child, end = opening + 1, ends[opening] - 1
            while child < end:
                token = tokens[child]
                infill.append(token)
                if ends[child]:
                    below.append((len(grown), child))
                    child = ends[child]
                else:
                    child += 1
                grown.append(token)
        grown += context[done:]
        yield Level(tuple(context), tuple(infill))
        context, opened = grown, below


def _tokens(tree: Tree, words: Sequence[Any] | None) -> tuple[list[Token], list[int]]:
    """The label or word at each place of a tree's walk, and where the constituent that opens there ends (0: a word)."""
    walk = tree.walk
    ends = constituent_ends(walk)
    labels = _OPENINGS
    tokens: list[Token] = [labels[item] if end else item for item, end in zip(walk, ends, strict=True)]
    tokens[0] = TOP
    if words is None:
        if not any("RB-" in item for item in walk):  # no escaped brackets: the walk's words are the words
            return tokens, ends
        words = tree.words()
    leaves = [index for index, item in enumerate(walk) if not ends[index] and item != CLOSE]
    if len(leaves) != len(words):
        raise ValueError(f"the tree has {len(leaves)} words, {len(words)} were given")
    for index, word in zip(leaves, words, strict=True):
        tokens[index] = word
    return tokens, ends


class _Openings(dict[str, Label]):
    """The label of each opening of a walk, `"(NP"` -> `Label("NP")`, remembered because there are few."""

    def __missing__(self, opening: str) -> Label:
        label = self[opening] = Label(opening[1:])
        return label


_OPENINGS = _Openings()


def split_infill(infill: Iterable[Token], part: Token = PART) -> list[list[Token]] | MalformedInfill:
    """The parts of an infill, or what is wrong with it: text before the first `<c>`, an empty part."""
    parts: list[list[Token]] = []
    for token in infill:
        if token == part:
            parts.append([])
        elif not parts:
            return MalformedInfill(0, "text stands before the first <c>")
        else:
            parts[-1].append(token)
    for number, tokens in enumerate(parts, 1):
        if not tokens:
            return MalformedInfill(number, f"part {number} of {len(parts)} is empty")
    return parts


def expand(
    context: Sequence[Token],
    infill: Iterable[Token],
    is_open: Callable[[Token], bool] = is_label,
    part: Token = PART,
) -> Tokens | MalformedInfill:
    """The next context: each open label replaced by its part.  A malformed infill is returned as an error, not raised.

    Works over any tokens, ids as well, given what an open label and the part mark are.
    """
    parts = split_infill(infill, part)
    if isinstance(parts, MalformedInfill):
        return parts
    open_labels = sum(1 for token in context if is_open(token))
    if len(parts) != open_labels:
        number = min(len(parts), open_labels) + 1
        many = "too few parts" if len(parts) < open_labels else "too many parts"
        return MalformedInfill(
            number, f"{many}: {len(parts)} for {open_labels} open labels, part {number} is the first amiss"
        )
    return tuple(token for _, token, _ in fill(context, parts, is_open))


def fill(
    context: Sequence[Token], parts: Iterable[Iterable[Token]], is_open: Callable[[Token], bool]
) -> Iterator[tuple[int, Token, bool]]:
    """The tokens of the next context: where in `context` each comes from, the token, and whether it is of a part."""
    fresh = iter(parts)
    for position, token in enumerate(context):
        if is_open(token):
            for new in next(fresh):
                yield position, new, True
        else:
            yield position, token, False


def tree_of(trace: Iterable[Level]) -> Tree:
    """The tree that a trace grew; `MalformedInfill` is raised where an infill does not fit its level's open labels.

    A trace that starts from another context than `<T>` gives a tree with that context under its root.
    """
    root: list[Any] = ["(" + ROOT]
    opened: list[list[Any]] | None = None
    for level in trace:
        if opened is None:
            opened = [root] if level.context == (TOP,) else _grow(root, level.context)
        parts = split_infill(level.infill)
        if isinstance(parts, MalformedInfill):
            raise parts
        if len(parts) != len(opened):
            number = min(len(parts), len(opened)) + 1
            raise MalformedInfill(number, f"{len(parts)} parts for {len(opened)} open labels")
        opened = [below for node, part in zip(opened, parts, strict=True) for below in _grow(node, part)]
    if opened:
        raise MalformedInfill(1, f"the trace ends with {len(opened)} labels open")
    return Tree.from_walk(_flatten(root))


def _grow(node: list[Any], tokens: Iterable[Token]) -> list[list[Any]]:
    """Put `tokens` under `node`; the nodes that are now open."""
    opened = []
    for token in tokens:
        if is_label(token):
            child = ["(" + token.name]
            node.append(child)
            opened.append(child)
        else:
            check_word(str(token))
            node.append(escape(str(token)))
    return opened


def _flatten(root: list[Any]) -> Iterator[str]:
    waiting: list[Any] = [root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        else:
            yield item[0]
            waiting.append(CLOSE)
            waiting.extend(reversed(item[1:]))


# -- contexts and infills as text

_LOOKS_LIKE_LABEL = re.compile(r"\\*<[^\s<>()]+>")


def show(tokens: Iterable[Token]) -> str:
    """Tokens as text, words and labels apart by spaces; a word that looks like a label gets a backslash."""
    return " ".join(
        "\\" + token if type(token) is str and token[0] in "<\\" and _LOOKS_LIKE_LABEL.fullmatch(token) else str(token)
        for token in tokens
    )


def _check_whole(item: str, labels: Collection[str], column: int) -> None:
    """Refuse what is nearly a label: one half of its brackets, or other characters beside it."""
    for name in filter(None, (*labels, *ROOT_NAMES)) if "<" in item or ">" in item else ():
        bare = item.strip(".,;:!?\"'")
        if bare in (f"<{name}", f"{name}>") or (f"<{name}>" in item and not _LOOKS_LIKE_LABEL.fullmatch(item)):
            what = f"{item} is not the label <{name}>, and hardly a word"
            raise LabelError(what, Place(column=column), f"write <{name}> with spaces around it")


def read_tokens(text: str, labels: Collection[str] | None = None) -> Tokens:
    """The tokens that `text` shows; with `labels`, any other label is a `LabelError` with its column.

    >>> read_tokens(r"<NP> \\<NP> <c>")
    (Label('NP'), '<NP>', <c>)
    """
    tokens: list[Token] = []
    for match in re.finditer(r"\S+", text):
        item = match.group()
        if labels is not None:
            _check_whole(item, labels, match.start() + 1)
        if not _LOOKS_LIKE_LABEL.fullmatch(item):
            tokens.append(item)
        elif item[0] == "\\":
            tokens.append(item[1:])
        elif item == str(PART):
            tokens.append(PART)
        else:
            name = item[1:-1]
            if labels is not None and name not in labels and name not in ROOT_NAMES:
                known = ", ".join(f"<{label}>" for label in labels)
                remedy = f"use one of {known}, or write \\{item} for the plain word"
                raise LabelError(f"{item} is not a label here", Place(column=match.start() + 1), remedy)
            tokens.append(TOP if name in ROOT_NAMES else Label(name))
    return tuple(tokens)
