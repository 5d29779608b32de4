"""Text in, text with its structure out: the interface that most users need.

g = Generator.from_pretrained("paraphrase-en")
best = g("It seems like he has made a mistake.", beam=5)[0]
best.text, best.score, best.tree, best.trace
g(text, template="(S (NP) (VP (NP)))", control="hard")
g(text, start="<NP> <VP> , right ?")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from syntagma.errors import ConfigError, SyntagmaError
from syntagma.levels import TOP, Tokens
from syntagma.network.config import ModelConfig
from syntagma.network.contexts import AnnotatedContext
from syntagma.network.purpose import Purpose
from syntagma.runtime.base import Runtime
from syntagma.runtime.whole import WholeTextRuntime
from syntagma.search.batches import AUTO, batch_for
from syntagma.search.constraints.base import Constraint
from syntagma.search.constraints.budget import WordBudgetConstraint
from syntagma.search.constraints.case import CaseConstraint
from syntagma.search.constraints.characters import CharacterConstraint, ReadableConstraint
from syntagma.search.constraints.copy import CopyConstraint, core
from syntagma.search.constraints.grammar import InfillGrammar
from syntagma.search.constraints.lexical import LexicalConstraint
from syntagma.search.constraints.lexicon import LexiconConstraint, LexiconTable
from syntagma.search.constraints.literals import NumberConstraint, literals
from syntagma.search.constraints.ngrams import NgramConstraint, repeats_ngram
from syntagma.search.constraints.pins import PinConstraint
from syntagma.search.constraints.repeats import RepeatConstraint, repeats
from syntagma.search.constraints.template import TemplateConstraint, matcher
from syntagma.search.constraints.unary import UnaryConstraint
from syntagma.search.document import FEW_WORDS, Document, home_of, segments, unread
from syntagma.search.growth import Growth
from syntagma.search.hypothesis import Hypothesis
from syntagma.search.options import SearchOptions
from syntagma.search.outcome import check_found, parsed_first
from syntagma.search.plan import Planner
from syntagma.search.request import SearchRequest
from syntagma.search.rerank import check_rerank
from syntagma.search.result import Output, read_out, read_out_plain, unchanged_output
from syntagma.search.scheduler import Scheduler
from syntagma.search.steered import Control, Text
from syntagma.search.steering import SEQ2SEQ_STEERED, Steerer, Steering
from syntagma.search.stream import in_order
from syntagma.stopwatch import Stopwatch
from syntagma.template import Template, TemplateError
from syntagma.text.lexicon import Lexicon
from syntagma.text.subwords import Subwords
from syntagma.text.vocabulary import Vocabulary


class Generator:
    """A model ready to generate."""

    def __init__(
        self,
        runtime: Runtime,
        vocabulary: Vocabulary,
        defaults: SearchOptions | None = None,
        words: Lexicon | None = None,
        language: str | None = None,
    ) -> None:
        self.runtime = runtime
        self.vocabulary = vocabulary
        self.defaults = defaults or SearchOptions()
        self.grammar = InfillGrammar(runtime.config, vocabulary)
        self.words = words
        self.language = language
        """The language of sources, where it is known."""

    @property
    def config(self) -> ModelConfig:
        """The model's configuration."""
        return self.runtime.config

    @staticmethod
    def from_pretrained(
        name: str | Path, *, device: str = "auto", precision: str | None = None, threads: int | None = None
    ) -> Generator:
        """The model of that name: a bundled one, a folder, or a hub id.

        `device` and `precision` are those of `syntagma.runtime.folder.load_model`; `threads` are those of the CPU.
        """
        from syntagma.runtime.folder import load_model

        loaded = load_model(name, device, precision, threads)
        defaults = SearchOptions.from_dict(loaded.about.get("search", {}))
        language = Purpose.of(loaded.about, Path(name).name).source_language
        return Generator(loaded.runtime, loaded.vocabulary, defaults, loaded.words, language)

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
        (outputs,) = self.stream([text], steering=steering, options=settings, nbest=nbest or 1)
        if isinstance(outputs, SyntagmaError):
            raise outputs
        return outputs[:nbest]

    # -- what a user asks for

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
        return self._steerer.steering(template, exemplar, exemplar_depth, control, start, must, must_not)

    def read_context(self, text: str) -> Tokens:
        """A context as a user writes it, `<NP> <VP> , right ?`: its words spaced as a writer would."""
        return self._steerer.read_context(text)

    @cached_property
    def _steerer(self) -> Steerer:
        return Steerer(self.vocabulary, self.runtime.capabilities)

    # -- searching

    def grow(self, text: str, *, steering: Steering | None = None, **options: Any) -> Growth:
        """A search to walk level by level and to change on the way; `options` are those of `SearchOptions`."""
        return Growth(self, text, steering or Steering(), self.defaults.changed(options))

    def stream(
        self,
        texts: Iterable[Text],
        *,
        steering: Steering | None = None,
        options: SearchOptions | None = None,
        batch: int = AUTO,
        nbest: int = 1,
        watch: Stopwatch | None = None,
    ) -> Iterator[list[Output] | SyntagmaError]:
        """For each text, in order, its hypotheses or what was wrong with it; texts are taken in as there is room.

        An error among the texts, such as a line that could not be read, comes back in its place; a text without words
        has no hypotheses.  Options that the model cannot obey are refused before any text is taken in.  `steering` is
        for the texts that do not carry their own.  `nbest` hypotheses are wanted at least, `watch` is told where the
        time goes.
        """
        options = options or self.defaults
        if options.seq2seq and self.config.guided:
            if steering is not None and (steering.template is not None or steering.start != (TOP,)):
                raise ConfigError(SEQ2SEQ_STEERED, remedy="leave seq2seq=true or the template out")
            options = _in_one_go(options)
            return self._seq2seq.stream(texts, steering=steering, options=options, batch=batch, nbest=nbest)
        self.check_options(options)
        asked = self._steerer.each(texts, steering or Steering())
        return in_order(self, self.scheduler(batch, watch), asked, options, nbest)

    def check_options(self, options: SearchOptions) -> None:
        """Raise where the model cannot obey the options, whatever the text."""
        if options.seq2seq and self.config.guided:
            self._seq2seq.check_options(_in_one_go(options))
            return
        check_rerank(options, self.runtime.capabilities, self.config.seq2seq_objective)
        if options.known_words_only:
            _ = self._lexicon
        if options.drafts and self.config.guided:
            _ = self._planner

    @cached_property
    def _seq2seq(self) -> Generator:
        """The same weights as a sequence-to-sequence model."""
        return Generator(WholeTextRuntime(self.runtime), self.vocabulary, self.defaults, self.words, self.language)

    def scheduler(self, batch: int = AUTO, watch: Stopwatch | None = None, fair: bool = False) -> Scheduler:
        """A scheduler for requests of this generator; `fair` where they are of several users."""
        return Scheduler(self.runtime, self.grammar, batch or batch_for(self.config), watch, fair)

    def document(self, number: int, text: str, steering: Steering, options: SearchOptions, nbest: int = 1) -> Document:
        """The searches for one text, not begun: one for each sentence with `split`, none where none is needed."""
        answer = unread(text, self.language)
        if answer or not text.strip():
            return Document([], [], options.beam, answer=answer)
        cut = segments(text.strip()) if options.split else [text]
        if len(cut) == 1:
            request = self.request(number, text, steering, options, nbest, abstain=True, plan=True)
            return Document([request], [""], options.beam)
        if steering.template is not None and steering.control == "hard":
            what = f"the text has {len(cut)} sentences, and a hard template guarantees the shape of one"
            raise TemplateError(what, remedy="give the sentences one by one, or use control=soft or split=false")
        gaps = [piece[: len(piece) - len(piece.lstrip())] for piece in cut]
        homes = [home_of(word, cut) for word in steering.lexical.texts]
        floating = [word for word, home in enumerate(homes) if home is None]
        requests = []
        for place, piece in enumerate(cut):
            required = [word for word, home in enumerate(homes) if home in (place, None)]
            lexical = steering.lexical.requiring(required)
            shape = steering if place == 0 else Steering()
            few = len(piece.split()) < FEW_WORDS
            asked = options.changed({"forbid_copy": False}) if few and options.copy_fallback else options
            own = replace(shape, lexical=lexical)
            requests.append(self.request(number, piece.strip(), own, asked, nbest, abstain=True, plan=True))
        document = Document(requests, gaps, options.beam, options.sample)
        document.floating = requests if floating else []
        for request in document.floating:
            request.floating = True
        return document

    def request(
        self,
        number: int,
        text: str,
        steering: Steering,
        options: SearchOptions,
        nbest: int = 1,
        abstain: bool = False,
        plan: bool = False,
    ) -> SearchRequest:
        """The search for one text, not begun; `abstain` is whether `copy_margin` may leave out all it finds, `plan`
        whether its shapes may be planned.

        What a user steers is never left out.
        """
        config = self.config
        if options.seq2seq and config.guided:
            what = "texts that are written in one go cannot be watched, explained or served"
            raise ConfigError(what, remedy="use seq2seq=true with `syntagma generate` or Generator alone")
        if not abstain or not steering.free:
            options = options.changed({"copy_margin": 0.0})
        source = tuple(self.vocabulary.encode(text))
        if len(source) + 1 > config.max_positions:
            raise SyntagmaError(
                f"the text has {len(source)} subwords, the model reads {config.max_positions - 1}", remedy="split it"
            )
        check_rerank(options, self.runtime.capabilities, config.seq2seq_objective)
        target = tuple(getattr(self.vocabulary, "encode_target", self.vocabulary.encode)(text))
        ids = self.vocabulary.encode_tokens(steering.start) if config.guided else []
        planned = plan and options.drafts and steering.free and config.guided
        return SearchRequest(
            number,
            source,
            options,
            config,
            Hypothesis(AnnotatedContext.plain(ids, config), 0.0, 1),
            list(self._constraints(text, target, steering, options)),
            lexical=self._lexical(text, steering, options),
            matches=self._matches(steering, options),
            canonical=getattr(self.vocabulary, "canonical", None) if config.guided else None,
            decode=self.vocabulary.decode,
            target=target,
            as_source=None if target == source else self._as_source,
            wanted=nbest,
            planner=self._planner if planned else None,
        )

    @cached_property
    def _planner(self) -> Planner:
        return Planner(self.vocabulary, self.grammar, self._steerer)

    def _lexical(self, text: str, steering: Steering, options: SearchOptions) -> LexicalConstraint:
        """The words that the user asks for, and the literals of the source that she does not rule out."""
        if not options.keep_literals or steering.start != (TOP,):
            return steering.lexical
        asked = [literal for literal in literals(text) if not steering.lexical.rules_out(literal, self.vocabulary)]
        return steering.lexical.joined(LexicalConstraint.of(self.vocabulary, asked)) if asked else steering.lexical

    def _as_source(self, ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.vocabulary.encode(self.vocabulary.decode(ids)))

    def _constraints(
        self, text: str, source: tuple[int, ...], steering: Steering, options: SearchOptions
    ) -> Iterator[Constraint]:
        """The constraints of one request; pins come first, as what the user has written stands."""
        config, vocabulary = self.config, self.vocabulary
        if config.guided:
            yield PinConstraint(config)
            if options.max_unary_repeats >= 0:
                yield UnaryConstraint(config, options.max_unary_repeats)
            if steering.template is not None and steering.control == "hard":
                yield TemplateConstraint([steering.template], self.grammar)
        if options.known_words_only:
            asked = vocabulary.decode(vocabulary.encode_tokens(steering.start)) if config.guided else ""
            yield LexiconConstraint(self._lexicon, text, asked, *steering.lexical.texts)
        else:
            yield self._characters
        if options.no_adjacent_repeats and not repeats(source, vocabulary):
            yield RepeatConstraint(vocabulary)
        if (size := options.no_repeat_ngram_size) and not repeats_ngram(source, size, vocabulary):
            yield NgramConstraint(size, vocabulary)
        if options.keep_capital and text.lstrip()[:1].isupper():
            yield CaseConstraint(vocabulary)
        if options.no_repeated_words:
            yield WordBudgetConstraint(text, vocabulary)
        if options.keep_literals:
            yield NumberConstraint(text, vocabulary)
        if options.forbid_copy:
            yield CopyConstraint(source, text, vocabulary, strict=not options.copy_fallback)

    def _matches(self, steering: Steering, options: SearchOptions) -> Any:
        template = steering.template
        if template is None:
            return None
        if template.depth > options.max_depth + 1:
            raise TemplateError(
                f"the template is {template.depth} deep, the search goes to depth {options.max_depth}",
                remedy="cut the template or raise max_depth",
            )
        return matcher(template, self.grammar) if steering.control == "soft" else None

    @cached_property
    def _characters(self) -> Constraint:
        if isinstance(self.vocabulary, Subwords):
            return CharacterConstraint(self.grammar, self.vocabulary)
        return ReadableConstraint(self.vocabulary)

    @cached_property
    def _lexicon(self) -> LexiconTable:
        if self.words is None or not isinstance(self.vocabulary, Subwords):
            remedy = "use known_words_only=false, or `syntagma export --words`"
            raise ConfigError("this model has no list of the words that it knows", remedy=remedy)
        return LexiconTable(self.words, self.vocabulary, self.grammar)

    # -- what was found

    def document_outputs(self, document: Document, steering: Steering) -> list[Output] | SyntagmaError:
        """The outputs for a text, once the searches for its segments are over."""
        document.settle()
        by_segment: list[list[Output]] = []
        for place, request in enumerate(document.requests):
            outputs = self.outputs(request, steering if place == 0 else Steering())
            if isinstance(outputs, SyntagmaError):
                return outputs
            by_segment.append(outputs)
        return document.combine(by_segment)

    def outputs(self, request: SearchRequest, steering: Steering) -> list[Output] | SyntagmaError:
        """The outputs of a search that is over, best first, or why it found nothing."""
        if request.unchanged:
            return [unchanged_output(self.vocabulary.decode(request.source_as_target), request.note)]
        try:
            check_found(request)
        except SyntagmaError as error:
            return error
        beam = request.beam if request.options.sample else self.distinct(request.beam)
        outputs = [
            replace(
                self.read_out(hypothesis, steering.start),
                rank_score=request.rank_scores.get(hypothesis),
                note=request.note,
            )
            for hypothesis in beam
        ]
        if steering.control == "hard" and steering.template is not None and request.options.check_template:
            return parsed_first(outputs, steering.template)
        return outputs

    def distinct(self, finished: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Without those whose texts differ from a better one's by case and punctuation only."""
        first_of: dict[str, Hypothesis] = {}
        for hypothesis in finished:
            first_of.setdefault(core(self.vocabulary.decode(hypothesis.ids)), hypothesis)
        return list(first_of.values())

    def read_out(self, hypothesis: Hypothesis, first: Tokens) -> Output:
        """The output that a finished hypothesis amounts to."""
        if self.config.guided:
            return read_out(hypothesis, first, self.vocabulary)
        return read_out_plain(hypothesis, self.vocabulary, self.config.architecture == "linearised")


def _in_one_go(options: SearchOptions) -> SearchOptions:
    """Options for texts without a tree, whose log-probability no reranker can add."""
    return options.changed({"rerank": "none" if options.rerank == "none" else "joint"})
