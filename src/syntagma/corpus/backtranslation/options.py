"""The options of `backtranslate`: one frozen value, stored with the result, that guards a resumed run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from syntagma.corpus.backtranslation.translators import Decoding
from syntagma.errors import ConfigError
from syntagma.settings import Settings


@dataclass(frozen=True)
class BacktranslationOptions(Settings):
    """Everything that decides the bytes of the result.  How it is made (executor, workers) is not in here."""

    inputs: tuple[str, ...]
    """Files of sentences, a sentence a line; or of foreign sentences beside English ones, for a bitext."""
    back: str
    """The folder of the model that writes the paraphrases."""
    there: str | None = None
    """The folder of the model that translates sentences into the other language; None for a bitext."""
    columns: tuple[str, ...] = ()
    """Of a bitext: foreign and English, names or numbers from 0; by the format where not given."""
    exclude: tuple[str, ...] = ()
    """Files of which no sentence, in any column, may be in the result."""
    words: str | None = None
    """A file of words, one a line, that a paraphrase may use besides those of the input."""
    candidates: int = 1
    beam: int = 4
    sample: int = 0
    """Draw from so many of the likeliest pieces in the first step; 0 is beam search."""
    temperature: float = 1.0
    seed: int = 1
    min_words: int = 3
    max_words: int = 40
    max_ratio: float = 2.0
    max_overlap: float = 0.85
    min_similarity: float = 0.8
    min_sentences: int = 2
    """Sentences of the input that a word must be in before a paraphrase may bring it in."""
    skip: tuple[str, ...] = ()
    """Filters that are left out."""
    chunk_rows: int = 1000
    weights: tuple[str, ...] = ()
    """What the models' files hash to, so that a run goes on with the same models only."""

    def __post_init__(self) -> None:
        from syntagma.corpus.backtranslation.filters import FILTERS

        if not self.inputs:
            raise ConfigError("no input was given", remedy="name at least one file, or give sentences")
        for name, (fits, remedy) in _RANGES.items():
            if not fits(getattr(self, name)):
                raise ConfigError(f"{name} is {getattr(self, name)}", remedy=remedy)
        if self.min_words > self.max_words:
            what = f"no length is between {self.min_words} and {self.max_words}"
            raise ConfigError(what, remedy="give --min-words <= --max-words")
        for name in self.skip:
            if name not in FILTERS:
                raise ConfigError(f"there is no filter {name!r}", remedy=f"the filters are {', '.join(FILTERS)}")

    @property
    def bitext(self) -> bool:
        """Whether the input has the foreign sentences already."""
        return self.there is None

    @property
    def first_step(self) -> Decoding:
        """How the first model, or the only one, chooses: here the candidates part."""
        return Decoding(self.beam, self.candidates, self.sample, self.temperature)

    @property
    def second_step(self) -> Decoding:
        """How the model that writes the paraphrases chooses, after another."""
        return Decoding(self.beam)


_RANGES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "candidates": (lambda value: value >= 1, "give a number from 1"),
    "beam": (lambda value: value >= 1, "give a number from 1"),
    "sample": (lambda value: value == 0 or value >= 2, "give 2 or more, or 0 for beam search"),
    "temperature": (lambda value: value > 0, "give a number above 0"),
    "min_words": (lambda value: value >= 1, "give a number from 1"),
    "max_ratio": (lambda value: value >= 1, "give the longer side's share, such as 2"),
    "max_overlap": (lambda value: 0 < value <= 1, "give a share above 0, up to 1"),
    "min_similarity": (lambda value: 0 <= value <= 1, "give a cosine between 0 and 1; 0 measures none"),
    "min_sentences": (lambda value: value >= 0, "give a number from 0"),
    "chunk_rows": (lambda value: value >= 1, "give a number from 1"),
}
