"""Text in, text with its structure out: the interface that most users need.

g = Generator.from_pretrained("paraphrase-en")
best = g("It seems like he has made a mistake.", beam=5)[0]
best.text, best.score, best.tree, best.trace
g(text, template="(S (NP) (VP (NP)))", control="hard")
g(text, start="<NP> <VP> , right ?")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from syntagma.backbone.storage import from_pretrained
from syntagma.errors import ConfigError, SyntagmaError
from syntagma.levels import TOP, Label, Tokens, is_label, read_tokens
from syntagma.network.contexts import AnnotatedContext
from syntagma.network.interface import Learns
from syntagma.search.beam import Hypothesis, Matcher, Sentence
from syntagma.search.coinage import Coinage
from syntagma.search.engine import Engine
from syntagma.search.grammar import Grammar
from syntagma.search.growth import Growth
from syntagma.search.options import SearchOptions
from syntagma.search.output import Output, read_out, read_out_plain
from syntagma.search.passage import Passage, pieces
from syntagma.search.stopwatch import Stopwatch
from syntagma.search.stutter import stutters
from syntagma.search.wishes import Wishes
from syntagma.template import Template, TemplateError
from syntagma.text.lexicon import Lexicon
from syntagma.text.spacing import respace
from syntagma.text.subwords import Subwords
from syntagma.text.vocabulary import Vocabulary
from syntagma.text.words import Word

Control = Literal["soft", "hard"]

BATCH = 128
"""Texts searched at once.  With 128 a small model took a sixth less time than with 64 (beam 5, one core)."""


@dataclass(frozen=True)
class Steering:
    """What a user asks of the structure: a template to favour or guarantee, or a context to grow from."""

    template: Template | None = None
    control: Control = "soft"
    start: Tokens = (TOP,)
    wishes: Wishes = field(default_factory=Wishes)

    @property
    def free(self) -> bool:
        """Whether nothing is asked for."""
        return self.template is None and self.start == (TOP,) and not self.wishes.any


class Generator:
    """A model ready to generate."""

    def __init__(
        self,
        network: Learns,
        vocabulary: Vocabulary,
        defaults: SearchOptions | None = None,
        words: Lexicon | None = None,
    ) -> None:
        self.network = network.eval()
        self.vocabulary = vocabulary
        self.defaults = defaults or SearchOptions()
        self.grammar = Grammar(network.config, vocabulary)
        self.words = words

    @staticmethod
    def from_pretrained(name: str | Path, *, int8: bool = False) -> Generator:
        """The model of that name: a bundled one, a folder, or a hub id."""
        model = from_pretrained(name)
        network = model.network
        if int8:
            from syntagma.network.int8 import quantised

            network = quantised(network)
        defaults = SearchOptions.from_dict(model.about.get("search", {}))
        return Generator(network, model.subwords, defaults, model.words)

    def __call__(
        self,
        text: str,
        *,
        nbest: int | None = None,
        template: str | Template | None = None,
        exemplar: str | None = None,
        exemplar_depth: int | None = None,
        control: Control = "soft",
        start: str | None = None,
        must: Sequence[str] = (),
        must_not: Sequence[str] = (),
        **options: Any,
    ) -> list[Output]:
        """The best hypotheses for a source, best first; `options` are those of `SearchOptions`."""
        steering = self.steering(template, exemplar, exemplar_depth, control, start, must, must_not)
        settings = self.defaults.for_texts(nbest or 1, options)
        (found,) = self.stream([text], steering=steering, options=settings)
        if isinstance(found, SyntagmaError):
            raise found
        return found[:nbest]

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
        """The user's wishes, checked against the model's labels."""
        labels = self.vocabulary.labels
        if template is not None and exemplar is not None:
            raise ConfigError("a template and an exemplar are both given", remedy="give one of them")
        if (template is not None or exemplar is not None) and start is not None:
            raise ConfigError("a template and a start context are both given", remedy="give one of them")
        if not self.network.config.guided and (template or exemplar or start):
            raise ConfigError(
                "this model writes its target in one go and cannot be steered", remedy="use a guided model"
            )
        if exemplar is not None:
            from syntagma.parse import load_parser
            from syntagma.text import split

            (tree,) = load_parser("neural").parse([split(exemplar).texts()])
            template = Template.from_tree(tree, exemplar_depth, labels)
        elif isinstance(template, str):
            template = Template.parse(template, labels)
        context = (TOP,) if start is None else self.read_context(start)
        return Steering(template, control, context, Wishes.of(self.vocabulary, must, must_not))

    def grow(self, text: str, *, steering: Steering | None = None, **options: Any) -> Growth:
        """A search to walk level by level and to change on the way; `options` are those of `SearchOptions`."""
        return Growth(self, text, steering or Steering(), self.defaults.changed(options))

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

    def stream(
        self,
        texts: Iterable[str | SyntagmaError],
        *,
        steering: Steering | None = None,
        options: SearchOptions | None = None,
        batch: int = BATCH,
        watch: Stopwatch | None = None,
    ) -> Iterator[list[Output] | SyntagmaError]:
        """For each text, in order, its hypotheses or what was wrong with it; texts are taken in as there is room.

        An error among the texts, such as a line that could not be read, comes back in its place; a text without words
        has no hypotheses.  `watch` is told where the time goes.
        """
        steering, options = steering or Steering(), options or self.defaults
        engine = Engine(self.network, self.grammar, batch, watch)
        begun: dict[int, Passage] = {}
        ready: dict[int, list[Output] | SyntagmaError] = {}

        def sentences() -> Iterator[Sentence]:
            for number, text in enumerate(texts):
                try:
                    if isinstance(text, SyntagmaError):
                        raise text
                    passage = self.passage(number, text, steering, options)
                    if passage.searches:
                        begun[number] = passage
                        yield from passage.searches
                    else:
                        ready[number] = []
                except SyntagmaError as error:
                    ready[number] = error

        following = 0
        for sentence in engine.run(sentences()):
            if begun[sentence.number].has_finished(sentence):
                ready[sentence.number] = self.passage_outputs(begun.pop(sentence.number), steering)
            while following in ready:
                yield ready.pop(following)
                following += 1
        while following in ready:
            yield ready.pop(following)
            following += 1

    @property
    def _scores_texts(self) -> bool:
        """Whether the model can say how likely a given text is, written in one go."""
        config = self.network.config
        return (config.whole or config.architecture == "seq2seq") and hasattr(self.network, "token_scores")

    def passage(self, number: int, text: str, steering: Steering, options: SearchOptions) -> Passage:
        """The searches for one text, not begun: none where it has no words, one for each sentence with `split`."""
        if not text.strip():
            return Passage([], [], options)
        cut = pieces(text.strip()) if options.split and steering.free else [text]
        if len(cut) == 1:
            return Passage([self.sentence(number, text, steering, options)], [""], options)
        searches = [self.sentence(number, piece.strip(), steering, options) for piece in cut]
        return Passage(searches, [piece[: len(piece) - len(piece.lstrip())] for piece in cut], options)

    def passage_outputs(self, passage: Passage, steering: Steering) -> list[Output] | SyntagmaError:
        """What the searches for a text amount to, once all are over."""
        found: list[list[Output]] = []
        for search in passage.searches:
            outputs = self.outputs(search, steering)
            if isinstance(outputs, SyntagmaError):
                return outputs
            found.append(outputs)
        return passage.together(found)

    def sentence(self, number: int, text: str, steering: Steering, options: SearchOptions) -> Sentence:
        """The search for one text, not begun."""
        config = self.network.config
        source = tuple(self.vocabulary.encode(text))
        if len(source) + 1 > config.max_positions:
            raise SyntagmaError(
                f"the text has {len(source)} subwords, the model reads {config.max_positions - 1}", remedy="split it"
            )
        if (options.rank == "whole" and not config.whole) or (options.way_back and not self._scores_texts):
            remedy = "use rank=joint without back, or a model trained with whole=true"
            raise ConfigError("this model has not learnt to write whole texts", remedy=remedy)
        may_stutter = options.stutter or stutters(source, self.vocabulary)
        repeating = None if may_stutter else partial(stutters, vocabulary=self.vocabulary)
        spelling = None if options.coin else self._coinage.beside(text, *self._asked(steering))
        if not config.guided:
            empty = Hypothesis(AnnotatedContext.plain([], config), 0.0, 1)
            return Sentence(
                number, source, options, config, empty, wishes=steering.wishes, stutters=repeating, spelling=spelling
            )
        guide = matches = None
        if steering.template is not None:
            self._check(steering.template, options)
            if steering.control == "hard":
                guide = steering.template.guide()
            else:
                matches = self._matcher(steering.template)
        context = AnnotatedContext.plain(self.vocabulary.encode_tokens(steering.start), config)
        start = Hypothesis(context, 0.0, 1, guide=guide)
        canonical = getattr(self.vocabulary, "canonical", None)
        return Sentence(
            number, source, options, config, start, matches, steering.wishes, canonical, repeating, spelling
        )

    @cached_property
    def _coinage(self) -> Coinage:
        if self.words is None or not isinstance(self.vocabulary, Subwords):
            remedy = "use coin=true, or `syntagma export --words`"
            raise ConfigError("this model has no list of the words that it knows", remedy=remedy)
        return Coinage(self.words, self.vocabulary)

    def _asked(self, steering: Steering) -> Iterator[str]:
        """What the user has written or asks for, as texts."""
        yield self.vocabulary.decode(self.vocabulary.encode_tokens(steering.start))
        for word in steering.wishes.required:
            yield from map(self.vocabulary.decode, word)

    def outputs(self, sentence: Sentence, steering: Steering) -> list[Output] | SyntagmaError:
        """What a search that is over amounts to, best first, or why it found nothing."""
        try:
            self.check_found(sentence)
        except SyntagmaError as error:
            return error
        if not self.network.config.guided:
            linearised = self.network.config.architecture == "linearised"
            return [read_out_plain(hypothesis, self.vocabulary, linearised) for hypothesis in sentence.beam]
        return [read_out(hypothesis, steering.start, self.vocabulary) for hypothesis in sentence.beam]

    @staticmethod
    def check_found(sentence: Sentence) -> None:
        """Raise where the wishes left nothing in the beam."""
        if sentence.beam:
            return
        if sentence.outgrown:
            raise SyntagmaError("the text outgrew the model's positions", remedy="lower max_depth or max_tokens")
        if sentence.wishes.any:
            raise ConfigError("no output fulfils the wishes", remedy="ask for fewer words, or widen the beam")
        raise TemplateError("no output of this model has the template's shape", remedy="loosen it with '...' or '*'")

    def _matcher(self, template: Template) -> Matcher:
        names = self.grammar.names

        def matches(ids: Sequence[int], depth: int) -> bool:
            return depth <= template.depth and template.matches([names[at] for at in ids if at in names], depth)

        return matches

    @staticmethod
    def _check(template: Template, options: SearchOptions) -> None:
        if template.depth > options.max_depth + 1:
            raise TemplateError(
                f"the template is {template.depth} deep, the search goes to depth {options.max_depth}",
                remedy="cut the template or raise max_depth",
            )
