"""A user's wishes for the structure, checked against a model: templates, exemplars, start contexts, words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Any

from syntagma.errors import ConfigError, SyntagmaError
from syntagma.levels import TOP, Label, Tokens, is_label, read_tokens
from syntagma.runtime.base import Capabilities
from syntagma.search.constraints.lexical import LexicalConstraint, holds, spellings
from syntagma.search.steered import Control, SteeredText, Text
from syntagma.template import Template
from syntagma.text.spacing import respace
from syntagma.text.vocabulary import Vocabulary
from syntagma.text.words import Word, split
from syntagma.tree import Tree

EXEMPLARS = 32
"""Texts whose exemplars are parsed together."""


@dataclass(frozen=True)
class Steering:
    """A user's wishes for the structure: a template to favour or guarantee, a context to grow from, and words."""

    template: Template | None = None
    control: Control = "soft"
    start: Tokens = (TOP,)
    lexical: LexicalConstraint = field(default_factory=LexicalConstraint)

    @property
    def free(self) -> bool:
        """Whether nothing is asked for."""
        return self.template is None and self.start == (TOP,) and not self.lexical.any


SEQ2SEQ_STEERED = "this model writes its target in one go and cannot be steered"


class Steerer:
    """Reads what users ask of one model."""

    def __init__(self, vocabulary: Vocabulary, capabilities: Capabilities) -> None:
        self.vocabulary, self.capabilities = vocabulary, capabilities

    def steering(
        self,
        template: str | Template | None = None,
        exemplar: str | None = None,
        exemplar_depth: int | None = None,
        control: Control = "soft",
        start: str | None = None,
        must: Sequence[str] = (),
        must_not: Sequence[str] = (),
    ) -> Steering:
        """Check a user's wishes against the model's labels."""
        labels = self.vocabulary.labels
        if template is not None and exemplar is not None:
            raise ConfigError("a template and an exemplar are both given", remedy="give one of them")
        if (template is not None or exemplar is not None) and start is not None:
            raise ConfigError("a template and a start context are both given", remedy="give one of them")
        if not self.capabilities.controls_template and (template or exemplar or start):
            raise ConfigError(SEQ2SEQ_STEERED, remedy="use a guided model")
        if exemplar is not None:
            (template,) = self.exemplar_shapes([(exemplar, exemplar_depth)])
        elif isinstance(template, str):
            template = Template.parse(template, labels)
        lexical = LexicalConstraint.of(self.vocabulary, must, must_not)
        if start is None:
            return Steering(template, control, lexical=lexical)
        context = self.read_context(start)
        self._check_words(context, must_not)
        return Steering(template, control, context, lexical)

    def _check_words(self, context: Tokens, must_not: Sequence[str]) -> None:
        """Raise where a context holds a word that must not appear."""
        ids = self.vocabulary.encode_tokens(context)
        for word in must_not:
            if any(holds(ids, spelling) for spelling in spellings(word, self.vocabulary)):
                what = f"the start context holds {word!r}, which must not appear"
                raise ConfigError(what, remedy="write another start, or allow the word")

    def each(self, texts: Iterable[Text], general: Steering) -> Iterator[tuple[str, Steering | SyntagmaError]]:
        """Each text with its own steering, or the general one, or what was wrong.

        No text is waited for while one is at hand, but where there are exemplars.
        """
        rest = iter(texts)
        for text in rest:
            if isinstance(text, str):
                yield text, general
                continue
            exemplar = isinstance(text, SteeredText) and text.exemplar is not None
            chunk = [text, *islice(rest, EXEMPLARS - 1)] if exemplar else [text]
            for item, steering in zip(chunk, self.steer(chunk), strict=True):
                yield (
                    (item.source if isinstance(item, SteeredText) else str(item)),
                    (general if isinstance(item, str) else steering),
                )

    def steer(self, texts: Sequence[Text]) -> list[Steering | SyntagmaError]:
        """The steering of each text, or what was wrong with it; exemplars are parsed together."""
        asked = [text.steering() if isinstance(text, SteeredText) else {} for text in texts]
        usable = [wishes for wishes in asked if "exemplar" in wishes and not wishes.keys() & {"template", "start"}]
        with suppress(SyntagmaError):  # a bad one fails alone, below
            shapes = self.exemplar_shapes([(wishes["exemplar"], wishes.get("exemplar_depth")) for wishes in usable])
            for wishes, shape in zip(usable, shapes, strict=True):
                del wishes["exemplar"]
                wishes["template"] = shape
        results: list[Steering | SyntagmaError] = []
        for text, wishes in zip(texts, asked, strict=True):
            try:
                results.append(text if isinstance(text, SyntagmaError) else self.steering(**wishes))
            except SyntagmaError as error:
                results.append(error)
        return results

    def exemplar_shapes(self, exemplars: Sequence[tuple[str, int | None]]) -> list[Template]:
        """The shapes of sentences, each as deep as it counts."""
        trees = parsed([text for text, _ in exemplars])
        labels = self.vocabulary.labels
        return [Template.from_tree(tree, depth, labels) for tree, (_, depth) in zip(trees, exemplars, strict=True)]

    def read_context(self, text: str) -> Tokens:
        """A context as a user writes it, `<NP> <VP> , right ?`: its words spaced as a writer would."""
        tokens = read_tokens(text, self.vocabulary.labels)
        if not tokens:
            raise ConfigError("the start context is empty", remedy="write one such as '<NP> <VP> .'")
        spaced = iter(respace([token.name if isinstance(token, Label) else str(token) for token in tokens]))
        written = [token if is_label(token) else word for token, word in zip(tokens, spaced, strict=True)]
        if isinstance(written[0], Word):  # a text begins as if a space stood before it
            written[0] = Word(written[0].text)
        return tuple(written)


def parsed(texts: Sequence[str]) -> list[Tree]:
    """The trees of sentences."""
    return list(exemplar_parser().parse([split(text).texts() for text in texts])) if texts else []


@cache
def exemplar_parser() -> Any:
    """The parser of exemplars and of texts under a template, loaded once."""
    from syntagma.parse import load_parser

    return load_parser("neural")
