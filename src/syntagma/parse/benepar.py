"""The Berkeley neural parser as a backend.

It works with benepar 0.2.0 and transformers before 4.40 (the extra `benepar` pins both: an environment of its own,
since the rest of Syntagma uses a newer one).  Its weights are fetched once with `benepar.download("benepar_en3")`, or
a file is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from syntagma.errors import ConfigError
from syntagma.parse.base import SentenceError
from syntagma.tree import ROOT, Tree, read_tree, with_words


class BeneparParser:
    """Parses words with benepar."""

    def __init__(self, model: str = "benepar_en3") -> None:
        self.name = f"benepar:{model}"
        self._benepar, self._parser = _load(model)
        self.version = str(getattr(self._benepar, "__version__", "0.2.0"))
        chains = self._parser._parser.config["label_vocab"]
        self.labels = tuple(sorted({link for chain in chains for link in chain.split("::") if link} | {ROOT}))

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        """The trees of sentences that are already split into words."""
        for number, words in enumerate(sentences):
            if not words:
                raise SentenceError("a sentence has no words", number, "leave empty sentences out")
        inputs = [self._benepar.InputSentence(words=list(words)) for words in sentences]
        trees = self._parser.parse_sents(inputs)
        return [with_words(_convert(tree), words) for tree, words in zip(trees, sentences, strict=True)]


def _load(model: str) -> tuple[Any, Any]:
    try:
        import benepar
    except ImportError:
        what = "this parser needs the package benepar, which is not installed"
        remedy = "install it in an environment of its own: pip install torch==2.13.0 'syntagma[benepar]'"
        raise ConfigError(what, remedy=remedy) from None
    try:
        return benepar, benepar.Parser(model)
    except LookupError:
        what = f"the weights of {model!r} are not on this machine"
        remedy = f"fetch them with: python -c \"import benepar; benepar.download('{model}')\", or use parser-en"
        raise ConfigError(what, remedy=remedy) from None
    except Exception as error:  # what a newer transformers makes of its checkpoints is not one kind of error
        what = f"benepar cannot load {model!r} ({type(error).__name__}: {error})"
        raise ConfigError(what, remedy="it needs transformers before 4.40, in an environment of its own") from None


def _convert(tree: Any) -> Tree:
    """An nltk tree as ours; its words may have been escaped or changed, so only their number counts."""
    return read_tree(" ".join(str(tree).split()))
