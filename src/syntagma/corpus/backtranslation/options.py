"""The options of `backtranslate`: one frozen value, stored with the result, that guards a resumed run."""

from __future__ import annotations

from dataclasses import dataclass

from syntagma.corpus.backtranslation.translators import Decoding
from syntagma.errors import ConfigError
from syntagma.settings import Settings, setting


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
    candidates: int = setting(1, ge=1)
    """Translations of each sentence in the first step."""
    beam: int = setting(4, ge=1)
    """The beam of both steps."""
    sample: int = setting(0, ge=0)
    """Draw from so many of the likeliest pieces in the first step, 2 at least; 0 is beam search."""
    temperature: float = setting(1.0, gt=0)
    """The temperature of what is drawn."""
    seed: int = 1
    """Decides what is drawn."""
    min_words: int = setting(3, ge=1)
    """The fewest words, on both sides."""
    max_words: int = 40
    """The most words, on both sides."""
    max_ratio: float = setting(2.0, ge=1)
    """The most words of the longer side for one of the shorter."""
    max_overlap: float = setting(0.85, gt=0, le=1)
    """The most words in common (Jaccard index)."""
    min_similarity: float = setting(0.8, ge=0, le=1)
    """The least cosine of the meanings (extra: similarity); 0 measures none."""
    min_sentences: int = setting(2, ge=0)
    """Sentences of the input that a word must be in before a paraphrase may bring it in; 0 for little input."""
    skip: tuple[str, ...] = ()
    """Filters that are left out, such as pronouns."""
    chunk_rows: int = setting(1000, ge=1)
    """Rows of a piece of work: what a stop can cost."""
    weights: tuple[str, ...] = ()
    """Hashes of the models' files, so that a run goes on with the same models only."""

    def __post_init__(self) -> None:
        from syntagma.corpus.backtranslation.filters import FILTERS

        super().__post_init__()
        if not self.inputs:
            raise ConfigError("no input was given", remedy="name at least one file, or give sentences")
        if self.sample == 1:
            raise ConfigError("'sample' cannot be 1", remedy="give 2 or more, or 0 for beam search")
        if self.min_words > self.max_words:
            what = f"no length is between {self.min_words} and {self.max_words}"
            raise ConfigError(what, remedy="give min_words <= max_words")
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
