"""Files of Universal Dependencies as trees to train and score a parser on.

A file whose name ends in `-dev.conllu` (as treebanks call them) is for scoring; where there is none, every tenth
sentence is.  A file whose name ends in `-test.conllu` is refused, so that nobody trains on it unawares.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from syntagma.errors import ConfigError, InputError, Place
from syntagma.files import atomic_write, scan_lines, source_name
from syntagma.parse.conllu import read_sentences
from syntagma.parse.dependencies import Style, to_tree
from syntagma.parse.settings import Trees
from syntagma.parse.treebank import example
from syntagma.tree import Tree

HELD_OUT = 10
"""Of so many sentences one is for scoring."""


def convert(path: str | Path, style: Style = Style.penn) -> Iterator[Tree | InputError]:
    """The constituency trees of a CoNLL-U file (also gzip, `-` is standard input); what is wrong is an error."""
    name = source_name(path)
    for sentence in read_sentences(scan_lines(path)):
        if isinstance(sentence, InputError):
            sentence.at(file=name)
            yield sentence
        else:
            yield to_tree(sentence, style)


def convert_files(
    paths: Sequence[str | Path], style: Style = Style.penn, skip: bool = False, rejects: Path | None = None
) -> Iterator[tuple[str, Tree]]:
    """The trees of files with their file's name, in order.

    A sentence that is wrong stops it, or is skipped and, where a file for rejects is named, written there as a line
    of JSON.
    """
    if rejects is not None and not skip:
        raise ConfigError("--rejects is given but the first bad sentence stops the run", remedy="add --bad skip")
    with nullcontext() if rejects is None else atomic_write(rejects) as stream:
        for path in paths:
            for tree in convert(path, style):
                if isinstance(tree, Tree):
                    yield str(path), tree
                elif not skip:
                    raise tree
                elif stream is not None:
                    reject = {"file": tree.place.file, "line": tree.place.line, "reason": tree.what}
                    stream.write(json.dumps(reject, ensure_ascii=False) + "\n")


def read_converted(paths: Sequence[str | Path], style: Style, skip: bool = False, rejects: Path | None = None) -> Trees:
    """Examples to learn from, and trees to score on."""
    for path in paths:
        if _part(path) == "test":
            raise ConfigError(
                "this is a file to test on", Place(str(path)), "leave it out, or rename it to train on it"
            )
    gold: list[Tree] = []
    dev: list[Tree] = []
    held_out = not any(_part(path) == "dev" for path in paths)
    for number, (name, tree) in enumerate(convert_files(paths, style, skip, rejects), 1):
        for_dev = number % HELD_OUT == 0 if held_out else _part(name) == "dev"
        (dev if for_dev else gold).append(tree)
    if not gold or not dev:
        what = f"there are {len(gold)} sentences to learn from and {len(dev)} to score on"
        raise InputError(
            what, Place(str(paths[0])), f"give at least {HELD_OUT} sentences, or a -dev.conllu file beside"
        )
    return Trees([example(tree) for tree in gold], [], dev)


def _part(path: str | Path) -> str:
    """`dev`, `test` or nothing, as the name of the file says.

    >>> _part("de_gsd-ud-dev.conllu.gz"), _part("german.conllu")
    ('dev', '')
    """
    stem = Path(path).name.removesuffix(".gz").removesuffix(".conllu")
    return next((part for part in ("dev", "test") if stem == part or stem.endswith(f"-{part}")), "")
