"""Files into segments, side by side, a line at a time.

Line n of every file belongs to segment n.  Conventions: space at the ends of a line does not count, and a line of only
space is an empty text, which is scored like any other (an empty hypothesis matches nothing).  A blank line in a file of
trees stands for an empty text.  Files that end at different lines are an error, and so is a hypothesis that still holds
an open label such as `<NP>`: it is the context of an unfinished generation, not its result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from syntagma.errors import InputError, Place, SyntagmaError
from syntagma.files import STDIN, read_lines
from syntagma.metrics.base import Candidate, Segment
from syntagma.metrics.trees import read_template
from syntagma.tree import Tree

# the labels that generation opens by default, the Penn Treebank's other phrases, and the mark of an infill's part
_OPEN = re.compile(
    r"(?<!\S)<(T|TOP|c|S|NP|VP|PP|ADJP|ADVP|CONJP|FRAG|INTJ|LST|NAC|NX|PRN|PRT|QP|RRC|SBAR|SBARQ|SINV|SQ|UCP|WHADJP|WHADVP"
    r"|WHNP|WHPP|X)>(?!\S)"
)


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files of an evaluation, each None or empty where it is not given; `-` is standard input, for one of them.

    `nbest` is the output of `generate --json`: its first hypotheses stand in for `hyp`, `src` and `induced`; no more
    than `beam` hypotheses of a list are kept.
    """

    hyp: str | None = None
    refs: tuple[str, ...] = ()
    src: str | None = None
    against: str | None = None
    hyp_trees: str | None = None
    src_trees: str | None = None
    ref_trees: tuple[str, ...] = ()
    against_trees: str | None = None
    induced: str | None = None
    templates: str | None = None
    nbest: str | None = None
    beam: int | None = None
    allow_labels: bool = False

    def fields(self) -> set[str]:
        """The fields of a `Segment` that these files fill for every system: a baseline has no n-best lists."""
        given = {
            "hyp": self.hyp or self.nbest,
            "refs": self.refs,
            "src": self.src or self.nbest,
            "hyp_tree": self.hyp_trees,
            "src_tree": self.src_trees,
            "ref_trees": self.ref_trees,
            "induced": self.induced or self.nbest,
            "template": self.templates,
            "nbest": self.nbest,
        }
        shared = {field for field, files in given.items() if files}
        return shared - {"induced", "template", "nbest"} if self.against else shared

    def check(self) -> None:
        """Raise unless the files make sense together."""
        if not self.hyp and not self.nbest:
            raise InputError("there are no hypotheses", remedy="give --hyp FILE, or --nbest FILE from generate --json")
        if self.ref_trees and len(self.ref_trees) != len(self.refs):
            what = f"there are {len(self.refs)} reference files and {len(self.ref_trees)} files of their trees"
            raise InputError(what, remedy="give ref_trees=FILE once for each --ref, in the same order")
        if self.against_trees and not self.against:
            raise InputError("against_trees is given without --against", remedy="give the baseline's hypotheses too")
        if self.against and self.hyp_trees and not self.against_trees:
            raise InputError(
                "the system's trees are given and the baseline's are not",
                remedy="give against_trees=FILE too, or neither and let the parser parse both",
            )
        if [*self._all()].count(STDIN) > 1:
            raise InputError("standard input (-) is given for more than one file", remedy="write all but one to a file")

    def _all(self) -> Iterator[str | None]:
        yield from (self.hyp, *self.refs, self.src, self.against, self.hyp_trees, self.src_trees, *self.ref_trees)
        yield from (self.against_trees, self.induced, self.templates, self.nbest)


def read_segments(inputs: Inputs) -> Iterator[tuple[Segment, ...]]:
    """The segments: each a tuple of the system's and, if there is a baseline, the baseline's."""
    inputs.check()
    columns = _SideBySide()
    hyp = columns.add(inputs.hyp, _text)
    refs = [columns.add(path, _text) for path in inputs.refs]
    src = columns.add(inputs.src, _text)
    against = columns.add(inputs.against, _text)
    trees = columns.add(inputs.hyp_trees, read_tree_line)
    src_trees = columns.add(inputs.src_trees, read_tree_line)
    ref_trees = [columns.add(path, read_tree_line) for path in inputs.ref_trees]
    against_trees = columns.add(inputs.against_trees, read_tree_line)
    induced = columns.add(inputs.induced, read_tree_line)
    templates = columns.add(inputs.templates, _template)
    nbest = columns.add(inputs.nbest, read_nbest_line)
    for number, row in enumerate(columns.rows(), 1):
        source, candidates = row[nbest] if nbest is not None else ("", ())
        candidates = candidates[: inputs.beam]
        best = candidates[0] if candidates else Candidate("")
        segment = Segment(
            hyp=best.text if hyp is None else row[hyp],
            refs=tuple([row[column] for column in refs if column is not None]),
            src=source if src is None else row[src],
            hyp_tree=None if trees is None else row[trees],
            ref_trees=tuple([row[column] for column in ref_trees if column is not None]),
            src_tree=None if src_trees is None else row[src_trees],
            induced=best.tree if induced is None else row[induced],
            template="" if templates is None else row[templates],
            nbest=candidates,
        )
        systems: tuple[Segment, ...] = (segment,)
        if against is not None:
            tree = None if against_trees is None else row[against_trees]
            systems += (segment._replace(hyp=row[against], hyp_tree=tree, induced=None, nbest=()),)
        if not inputs.allow_labels:
            for system, path in zip(systems, (inputs.hyp or inputs.nbest, inputs.against), strict=False):
                check_finished(system.hyp, Place(path, number))
        yield systems


def check_finished(hyp: str, place: Place) -> None:
    """Raise if a hypothesis still holds an open label.

    >>> check_finished("I ate <NP> .", Place("out", 3))
    Traceback (most recent call last):
        ...
    syntagma.errors.InputError: out, line 3: the hypothesis holds the open label <NP>; finish it or allow_labels=true
    """
    label = _OPEN.search(hyp) if "<" in hyp else None
    if label:
        what = f"the hypothesis holds the open label {label.group()}"
        raise InputError(what, place, "finish it or allow_labels=true")


def _text(line: str) -> str:
    return line.strip()


def _template(line: str) -> str:
    read_template(line.strip())  # a bad one is an error here, where its line is known
    return line.strip()


def read_tree_line(line: str) -> Tree | None:
    """The tree on a line, None for a blank one."""
    return Tree.read(line) if line.strip() else None


def read_nbest_line(line: str) -> tuple[str, tuple[Candidate, ...]]:
    """The source and the hypotheses, best first, of a line that `generate --json` wrote.

    >>> read_nbest_line('{"source": "a b", "hypotheses": [{"text": "b a", "score": -1.0, "tree": "(TOP (NP b a))"}]}')
    ('a b', (Candidate(text='b a', tree=Tree.read('(TOP (NP b a))')),))
    """
    remedy = "give lines as generate --json writes them"
    try:
        made = json.loads(line)
    except ValueError as error:
        raise InputError(f"this is not JSON ({error})", remedy=remedy) from None
    hypotheses = made.get("hypotheses") if isinstance(made, dict) else None
    if not isinstance(hypotheses, list) or not isinstance(made.get("source", ""), str):
        raise InputError("this is not an object with a source and a list of hypotheses", remedy=remedy)
    candidates = []
    for hypothesis in hypotheses:
        text = hypothesis.get("text") if isinstance(hypothesis, dict) else None
        if not isinstance(text, str):
            raise InputError("a hypothesis has no text", remedy=remedy)
        tree = hypothesis.get("tree")
        candidates.append(Candidate(text.strip(), Tree.read(tree) if isinstance(tree, str) and tree.strip() else None))
    return made.get("source", ""), tuple(candidates)


class _SideBySide:
    """Several files read side by side."""

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._readers: list[Callable[[str], Any]] = []

    def add(self, path: str | None, reader: Callable[[str], Any]) -> int | None:
        """The place of a file's column in each row; None where there is no file."""
        if path is None:
            return None
        self._paths.append(path)
        self._readers.append(reader)
        return len(self._paths) - 1

    def rows(self) -> Iterator[list[Any]]:
        """A row a line, until all files end; an error where one ends before another."""
        lines = zip_longest(*(read_lines(path) for path in self._paths))
        for number, row in enumerate(lines, 1):
            if None in row:
                raise _unequal(self._paths, row, number, lines)
            yield [self._read(index, line, number) for index, line in enumerate(row)]

    def _read(self, column: int, line: str, number: int) -> Any:
        try:
            return self._readers[column](line)
        except SyntagmaError as error:
            raise error.at(file=self._paths[column], line=number) from None


def _unequal(
    paths: Sequence[str], row: Sequence[str | None], number: int, remaining: Iterator[Sequence[str | None]]
) -> InputError:
    """The error for files of different lengths, with the length of each: so the rest is counted."""
    lengths = [number - 1 if line is None else number for line in row]
    for more in remaining:
        lengths = [length + (line is not None) for length, line in zip(lengths, more, strict=True)]
    counts = ", ".join(f"{path} has {length}" for path, length in dict(zip(paths, lengths, strict=True)).items())
    return InputError(
        f"the files have different numbers of lines: {counts}", remedy="give files that correspond line by line"
    )
