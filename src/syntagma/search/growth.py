"""A search that the user walks level by level, and may change between levels.

    growth = generator.grow("It seems like he has made a mistake.")
    growth.step()                               # <S>
    growth.step()                               # <NP> <VP> .
    growth.replace(0, "<NP> <VP> , right ?")    # the first context of the beam becomes the user's
    growth.pin(0, 1, "he")                      # its first open label becomes "he"
    growth.forbid(words=["mistake"])
    growth.finish()[0].text

Every change can be undone, and shows in the trace as made by the user.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from syntagma.errors import ConfigError
from syntagma.levels import Tokens, is_label, show
from syntagma.network.contexts import AnnotatedContext
from syntagma.search.beam import Hypothesis, Sentence
from syntagma.search.engine import Engine
from syntagma.search.options import SearchOptions
from syntagma.search.output import Output, read_out, words_as_text
from syntagma.search.wishes import Wishes

if TYPE_CHECKING:
    from syntagma.search.generator import Generator, Steering


@dataclass(frozen=True)
class Sprout:
    """A context of the beam as the user sees it."""

    context: str
    score: float
    depth: int
    finished: bool
    edited: bool


@dataclass(frozen=True)
class _Moment:
    """What undo returns to."""

    beam: tuple[Hypothesis, ...]
    lost: tuple[Hypothesis, ...]
    wishes: Wishes


class Growth:
    """One source on its way down; made by `Generator.grow`."""

    def __init__(self, generator: Generator, text: str, steering: Steering, options: SearchOptions) -> None:
        self.generator = generator
        self.text = text
        self.steering = steering
        self.options = options
        sentence = generator.sentence(0, text, steering, options)
        self._source = sentence.source
        self._now = _Moment(tuple(sentence.beam), (), steering.wishes)
        self._past: list[_Moment] = []

    # -- looking

    @property
    def beam(self) -> list[Sprout]:
        """The contexts that are alive, best first."""
        return [self._sprout(hypothesis) for hypothesis in self._now.beam]

    @property
    def lost(self) -> list[Sprout]:
        """The contexts that the last step left behind, best first."""
        return [self._sprout(hypothesis) for hypothesis in self._now.lost]

    @property
    def finished(self) -> bool:
        """Whether no label is open any more."""
        return all(sprout.finished for sprout in self.beam)

    def outputs(self) -> list[Output]:
        """The finished hypotheses, best first."""
        done = [h for h, sprout in zip(self._now.beam, self.beam, strict=True) if sprout.finished]
        return [read_out(hypothesis, self.steering.start, self.generator.vocabulary) for hypothesis in done]

    # -- growing

    def step(self, levels: int = 1) -> Growth:
        """Grow by one depth, or several."""
        self._run(levels)
        return self

    def finish(self) -> list[Output]:
        """Grow to the end; the outputs, best first."""
        self._run(None)
        return self.outputs()

    # -- changing

    def replace(self, index: int, context: str) -> Growth:
        """Put a context of the user's in the place of one of the beam; its score stays."""
        return self._change(index, with_context(self.generator, self._at(index), context))

    def pin(self, index: int, label: int, words: str) -> Growth:
        """Decide what an open label of a context becomes (labels count from 1); the model fills the others."""
        return self._change(index, with_pin(self.generator, self._at(index), label, words))

    def keep(self, *indices: int) -> Growth:
        """Go on with those contexts of the beam only."""
        kept = tuple(self._at(index) for index in indices)
        if not kept:
            raise ConfigError("no context is kept", remedy="name at least one")
        return self._move(replace(self._now, beam=kept))

    def require(self, words: Sequence[str] = (), labels: Sequence[str] = ()) -> Growth:
        """Words that the text must hold, labels that the next infill must hold."""
        made = Wishes.of(self.generator.vocabulary, words, labels=labels)
        return self._move(replace(self._now, wishes=self._now.wishes.joined(made)))

    def forbid(self, words: Sequence[str] = (), labels: Sequence[str] = ()) -> Growth:
        """Words and labels that may not be written from here on."""
        made = Wishes.of(self.generator.vocabulary, (), words, not_labels=labels)
        return self._move(replace(self._now, wishes=self._now.wishes.joined(made)))

    def undo(self) -> Growth:
        """Back to before the last step or change."""
        if not self._past:
            raise ConfigError("there is nothing to undo", remedy="grow or change something first")
        self._now = self._past.pop()
        return self

    # -- inside

    def _run(self, levels: int | None) -> None:
        sentence = self._sentence()
        sentence.levels = levels
        sentence.on_level = meet_required_labels
        engine = Engine(self.generator.network, self.generator.grammar)
        (done,) = engine.run([sentence])
        self.generator.check_found(done)
        self._move(_Moment(tuple(done.beam), tuple(done.dropped), done.wishes))

    def _sentence(self) -> Sentence:
        sentence = self.generator.sentence(0, self.text, self.steering, self.options)
        sentence.beam = list(self._now.beam)
        sentence.wishes = self._now.wishes
        return sentence

    def _sprout(self, hypothesis: Hypothesis) -> Sprout:
        tokens: Tokens = words_as_text(self.generator.vocabulary.decode_tokens(hypothesis.context.ids))
        finished = not any(is_label(token) for token in tokens)
        edited = hypothesis.edited or bool(hypothesis.pins)
        return Sprout(show(tokens), hypothesis.score, hypothesis.depth, finished, edited)

    def _at(self, index: int) -> Hypothesis:
        if not 0 <= index < len(self._now.beam):
            raise ConfigError(f"the beam has {len(self._now.beam)} contexts, not {index}", remedy="count them from 0")
        return self._now.beam[index]

    def _change(self, index: int, hypothesis: Hypothesis) -> Growth:
        beam = list(self._now.beam)
        beam[index] = hypothesis
        return self._move(replace(self._now, beam=tuple(beam)))

    def _move(self, moment: _Moment) -> Growth:
        self._past.append(self._now)
        self._now = moment
        return self


def with_context(generator: Generator, old: Hypothesis, context: str) -> Hypothesis:
    """A hypothesis with a context of the user's in the place of its own; its score stays."""
    ids = generator.vocabulary.encode_tokens(generator.read_context(context))
    marked = AnnotatedContext.plain(ids, generator.network.config)
    return Hypothesis(marked, old.score, old.depth, old, edited=True, sample=old.sample)


def with_pin(generator: Generator, old: Hypothesis, label: int, words: str) -> Hypothesis:
    """A hypothesis whose next infill has those words for one of its open labels, which count from 1."""
    labels = generator.network.config.labels
    opened = sum(token in labels for token in old.context.ids)
    if not 1 <= label <= opened:
        raise ConfigError(f"the context has {opened} open labels, not {label}", remedy="count them from 1")
    ids = tuple(generator.vocabulary.encode_tokens(generator.read_context(words)))
    return replace(old, pins={**old.pins, label: ids})


def meet_required_labels(sentence: Sentence) -> None:
    """At the end of a level: what lacks a label that was required of its infill is left; the next need not have it."""
    labels = set(sentence.wishes.required_labels)
    if not labels:
        return
    kept = [hypothesis for hypothesis in sentence.beam if labels <= set(hypothesis.infill)]
    left = [hypothesis for hypothesis in sentence.beam if not labels <= set(hypothesis.infill)]
    sentence.beam, sentence.dropped = kept, left + sentence.dropped
    if kept:
        sentence.wishes = replace(sentence.wishes, required_labels=())
