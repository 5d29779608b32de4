"""CoNLL-U files: dependency trees of Universal Dependencies, sentence by sentence, checked.

The words are those of the running text: a multi-word token (`3-4 im`, of `in` and `dem`) is one word here, with the
relation of its first part that depends on something outside.  Empty nodes (`8.1`) and comments, wherever they stand,
are passed over.  A form with a space in it (`10 000`) becomes several words, the later ones `fixed` to the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from syntagma.errors import InputError, Place

_COLUMNS = 10
_REMEDY = "mend the sentence, or leave it out with --bad skip"


@dataclass(frozen=True, slots=True)
class Token:
    """A word with its head's number (words count from 1, 0 is the root) and its relation to it."""

    form: str
    upos: str
    xpos: str
    features: str
    head: int
    relation: str

    @property
    def tag(self) -> str:
        """The part of speech of the language, or else the universal one, as a label of a tree."""
        tag = "".join((self.upos if self.xpos == "_" else self.xpos).split()) or "X"
        for sign, name in (("(", "*LRB*"), (")", "*RRB*"), ("<", "*LT*"), (">", "*GT*")):
            tag = tag.replace(sign, name)
        return tag

    def has(self, feature: str) -> bool:
        """Whether it has a feature, written `Name=Value`."""
        return feature in self.features.split("|")


@dataclass(frozen=True, slots=True)
class DependencyTree:
    """A dependency tree, and the number of the line where it begins."""

    tokens: tuple[Token, ...]
    line: int

    def words(self) -> tuple[str, ...]:
        """The words."""
        return tuple(token.form for token in self.tokens)


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of a word: where it is, and its columns."""

    line: int
    columns: tuple[str, ...]


def read_sentences(lines: Iterable[str | InputError]) -> Iterator[DependencyTree | InputError]:
    """The sentences of a file's lines in order; one that is wrong is an error that says its line."""
    rows: list[_Row] = []
    wrong: InputError | None = None
    number = 0
    for number, line in enumerate(lines, 1):
        if isinstance(line, InputError):
            wrong = wrong or line
        elif not line.strip():
            if rows or wrong:
                yield wrong or _sentence(rows)
            rows, wrong = [], None
        elif not line.startswith("#"):
            rows.append(_Row(number, tuple(line.rstrip("\r\n").split("\t"))))
    if rows or wrong:
        yield wrong or _sentence(rows)


def _sentence(rows: list[_Row]) -> DependencyTree | InputError:
    try:
        tokens, spans = _read_rows(rows)
        if not tokens:
            raise _error("the sentence has no words", rows[0].line)
        _check_tree(tokens, rows)
        return DependencyTree(tuple(_split_spaces(_join_spans(tokens, spans))), rows[0].line)
    except InputError as error:
        return error


def _error(what: str, line: int) -> InputError:
    return InputError(what, Place(line=line), _REMEDY)


def _read_rows(rows: list[_Row]) -> tuple[list[Token], list[tuple[int, int, str]]]:
    """The syntactic words, and the multi-word tokens as (first, last, form)."""
    tokens: list[Token] = []
    spans: list[tuple[int, int, str]] = []
    for row in rows:
        columns = row.columns
        if len(columns) != _COLUMNS:
            raise _error(f"a word has {len(columns)} columns, not {_COLUMNS} between tabs", row.line)
        name = columns[0]
        if not columns[1].strip():
            raise _error(f"the word {name} is empty", row.line)
        if "." in name and all(part.isdecimal() for part in name.split(".", 1)):
            continue
        if "-" in name:
            first, _, last = name.partition("-")
            if not (first.isdecimal() and last.isdecimal() and len(tokens) + 1 == int(first) <= int(last)):
                raise _error(f"the multi-word token {name!r} does not stand before its words", row.line)
            if spans and spans[-1][1] >= int(first):
                raise _error(f"the multi-word token {name!r} overlaps the one before", row.line)
            spans.append((int(first), int(last), columns[1]))
            continue
        if name != str(len(tokens) + 1):
            raise _error(f"the id {name!r} stands where {len(tokens) + 1} should", row.line)
        if not columns[6].isdecimal():
            raise _error(f"the head of {columns[1]!r} is {columns[6]!r}, which is no number", row.line)
        tokens.append(Token(columns[1], columns[3], columns[4], columns[5], int(columns[6]), columns[7]))
    if spans and spans[-1][1] > len(tokens):
        raise _error(f"the multi-word token {spans[-1][2]!r} lacks words", rows[-1].line)
    return tokens, spans


def _check_tree(tokens: list[Token], rows: list[_Row]) -> None:
    lines = {row.columns[0]: row.line for row in rows}
    roots = [number for number, token in enumerate(tokens, 1) if token.head == 0]
    for number, token in enumerate(tokens, 1):
        if token.head > len(tokens):
            raise _error(
                f"the head of {token.form!r} is {token.head}, but the last word is {len(tokens)}", lines[str(number)]
            )
    if len(roots) > 1:
        raise _error(f"the sentence has {len(roots)} roots ({_names(tokens, roots)})", lines[str(roots[1])])
    safe = {0}
    for number in range(1, len(tokens) + 1):
        path: list[int] = []
        while number not in safe:
            if number in path:
                cycle = path[path.index(number) :]
                raise _error(f"the heads run in a cycle ({_names(tokens, cycle)})", lines[str(cycle[0])])
            path.append(number)
            number = tokens[number - 1].head
        safe.update(path)


def _names(tokens: list[Token], numbers: list[int]) -> str:
    return ", ".join(f"{number} {tokens[number - 1].form}" for number in numbers[:5])


def _join_spans(tokens: list[Token], spans: list[tuple[int, int, str]]) -> list[Token]:
    """The tokens with those of every multi-word token made one."""
    new_numbers = list(range(len(tokens) + 1))
    kept: list[Token] = []
    covers = {first: (last, form) for first, last, form in spans}
    number = 1
    while number <= len(tokens):
        last, form = covers.get(number, (number, tokens[number - 1].form))
        inside = range(number, last + 1)
        top = next(part for part in inside if tokens[part - 1].head not in inside)
        for part in inside:
            new_numbers[part] = len(kept) + 1
        kept.append(replace(tokens[top - 1], form=form))
        number = last + 1
    return [replace(token, head=new_numbers[token.head]) for token in kept]


def _split_spaces(tokens: list[Token]) -> list[Token]:
    if not any(sign.isspace() for token in tokens for sign in token.form):
        return tokens
    new_numbers, kept = [0], list[Token]()
    for token in tokens:
        new_numbers.append(len(kept) + 1)
        first, *others = token.form.split()
        kept.append(replace(token, form=first))
        kept += [replace(token, form=part, head=-new_numbers[-1], relation="fixed") for part in others]
    return [replace(token, head=-token.head if token.head < 0 else new_numbers[token.head]) for token in kept]
