"""A parser that looks its trees up: a file of trees, aligned with the text, parsed by whatever made the file.

The file is read once, in order and in constant memory: the first sentences that are parsed get the first trees.  Each
tree must be over the words of its sentence; typed and Treebank quotes count as the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from syntagma.errors import InputError, Place, SyntagmaError
from syntagma.files import read_lines
from syntagma.parse.base import SentenceError
from syntagma.tree import Tree, read_trees, with_words

_QUOTES = {"``": '"', "''": '"', "“": '"', "”": '"', "`": "'", "‘": "'", "’": "'"}


class BracketsParser:
    """Hands out the trees of a file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = "brackets"
        self.version = "1"
        self.labels: tuple[str, ...] = ()
        self.given = 0  # trees that were handed out or passed over
        self._trees: Iterator[Tree] | None = None
        self._back: list[Tree] = []  # read already, and to be handed out next

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        """The next trees of the file, over the words of these sentences.

        After a `SentenceError` the other sentences can be handed in again: the tree of the bad one is passed over.
        """
        trees = self.take(len(sentences))
        first = self.given - len(trees)
        fitted: list[Tree] = []
        for number, words in enumerate(sentences):
            try:
                if number == len(trees):
                    what = f"{self.path} has only {self.given} trees, and this sentence would need another"
                    raise SentenceError(what, number, "give as many trees as sentences")
                fitted.append(self._fit(trees[number], words, number, first + number + 1))
            except SentenceError:
                self._back = trees[:number] + trees[number + 1 :] + self._back
                self.given -= len(trees[:number] + trees[number + 1 :])
                raise
        return fitted

    def skip(self, count: int) -> None:
        """Pass over trees, so that a run that was stopped can go on where it was."""
        if len(self.take(count)) < count:
            raise InputError(f"it has only {self.given} trees", Place(str(self.path)), "give the whole file")

    def take(self, count: int) -> list[Tree]:
        """The next trees as they stand in the file, fewer at its end."""
        if self._trees is None:
            self._trees = read_trees(read_lines(self.path))
        trees, self._back = self._back[:count], self._back[count:]
        try:
            trees.extend(islice(self._trees, count - len(trees)))
        except SyntagmaError as error:
            raise error.at(file=str(self.path)) from None
        self.given += len(trees)
        return trees

    def _fit(self, tree: Tree, words: Sequence[str], number: int, tree_number: int) -> Tree:
        own = tree.words()
        remedy = "give the trees of this text, or split it the way they were (--tokenized)"
        if len(own) != len(words):
            what = f"tree {tree_number} of {self.path} has {len(own)} words, the sentence {len(words)}"
            raise SentenceError(what, number, remedy)
        for tree_word, word in zip(own, words, strict=True):
            if tree_word != word and _QUOTES.get(tree_word, tree_word) != _QUOTES.get(word, word):
                what = f"tree {tree_number} of {self.path} has the word {tree_word!r} where the sentence has {word!r}"
                raise SentenceError(what, number, remedy)
        return tree if own == tuple(words) else with_words(tree, words)
