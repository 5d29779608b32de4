"""The constituency parser of Stanza (1.10 and later) as a backend.

Its models are fetched once with `stanza.download("en")`; nothing is fetched from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from syntagma.errors import ConfigError, MissingExtra
from syntagma.parse.base import SentenceError
from syntagma.tree import ROOT, Tree, read_tree, with_words


class StanzaParser:
    """Parses words with Stanza."""

    def __init__(self, language: str = "en") -> None:
        self.name = f"stanza:{language}"
        stanza, self._pipeline = _load(language)
        self.version = str(stanza.__version__)
        known = getattr(self._pipeline.processors["constituency"], "get_constituents", None)
        self.labels = tuple(sorted(set(known()) - {"ROOT"} | {ROOT})) if known else ()

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        """The trees of sentences that are already split into words."""
        for number, words in enumerate(sentences):
            if not words:
                raise SentenceError("a sentence has no words", number, "leave empty sentences out")
        if not sentences:
            return []
        document = self._pipeline([list(words) for words in sentences])
        parsed = (read_tree(str(sentence.constituency)) for sentence in document.sentences)
        return [with_words(tree, words) for tree, words in zip(parsed, sentences, strict=True)]


def _load(language: str) -> tuple[Any, Any]:
    try:
        import stanza
    except ImportError:
        raise MissingExtra("stanza", "stanza", "this parser") from None
    try:
        pipeline = stanza.Pipeline(
            language,
            processors="tokenize,pos,constituency",
            tokenize_pretokenized=True,
            download_method=None,
            verbose=False,
        )
    except (OSError, LookupError, ValueError) as error:
        what = f"the models of Stanza for {language!r} cannot be loaded ({str(error).splitlines()[0]})"
        remedy = f"fetch them with: python -c \"import stanza; stanza.download('{language}')\", or use parser-en"
        raise ConfigError(what, remedy=remedy) from None
    return stanza, pipeline
