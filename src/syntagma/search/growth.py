"""A search that the user walks level by level, and may change between levels.

    growth = generator.grow("It seems like he has made a mistake.")
    growth.step()                               # <S>
    growth.step()                               # <NP> <VP> .
    growth.replace(0, "<NP> <VP> , right ?")    # the first context of the beam becomes the user's
    growth.pin(0, 1, "he")                      # its first open label becomes "he"
    growth.forbid(words=["mistake"])
    growth.finish()[0].text

Every change can be undone, and shows in the trace as made by the user.  A `BeamEntry` is what a user, a client of the
service and an explanation see of a context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from syntagma.errors import ConfigError
from syntagma.levels import MalformedInfill, Tokens, is_label, show, split_infill
from syntagma.network.contexts import AnnotatedContext
from syntagma.search.constraints.lexical import LexicalConstraint
from syntagma.search.hypothesis import Hypothesis
from syntagma.search.options import SearchOptions
from syntagma.search.outcome import check_found
from syntagma.search.request import SearchRequest
from syntagma.search.result import Output, TraceLevel, read_out, read_trace

if TYPE_CHECKING:
    from syntagma.search.generator import Generator
    from syntagma.search.steering import Steering
    from syntagma.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class PartEntry:
    """The part of an infill that filled one open label, with its log-probability."""

    label: str
    became: str
    score: float


@dataclass(frozen=True)
class BeamEntry:
    """A context of a beam as a user sees it."""

    context: str
    tokens: Tokens
    score: float
    depth: int
    finished: bool
    edited: bool
    rewarded: bool = False
    infill_score: float = 0.0
    parts: tuple[PartEntry, ...] = ()
    """The parts that its infill has for the open labels."""
    fresh: tuple[bool, ...] = ()
    """For each token, whether the last infill wrote it."""

    @staticmethod
    def of(hypothesis: Hypothesis, vocabulary: Vocabulary, grown: bool = True) -> BeamEntry:
        """Make an entry of a hypothesis; with `grown`, with the parts of its last infill."""
        first = tuple(vocabulary.decode_tokens(hypothesis.history()[0].context.ids))
        trace, _, tokens = read_trace(hypothesis, first, vocabulary)
        level = trace[-1] if grown and hypothesis.infill else None
        return BeamEntry(
            show(tokens),
            tokens,
            hypothesis.score,
            hypothesis.depth,
            not any(map(is_label, tokens)),
            hypothesis.edited or bool(hypothesis.pins),
            hypothesis.rewarded,
            hypothesis.infill_score,
            parts_of(level) if level is not None else (),
            _fresh(level) if level is not None else (False,) * len(tokens),
        )


def parts_of(level: TraceLevel) -> tuple[PartEntry, ...]:
    """The parts of a level's infill, where the search has kept what each scores."""
    parts = split_infill(level.infill)
    assert not isinstance(parts, MalformedInfill)
    labels = [show((token,)) for token in level.context if is_label(token)]
    return tuple(
        PartEntry(label, show(part), score)
        for label, part, score in zip(labels, parts, level.part_scores, strict=False)
    )


def _fresh(level: TraceLevel) -> tuple[bool, ...]:
    parts = split_infill(level.infill)
    assert not isinstance(parts, MalformedInfill)
    sizes = iter(map(len, parts))
    fresh: list[bool] = []
    for token in level.context:
        fresh += [True] * next(sizes) if is_label(token) else [False]
    return tuple(fresh)


@dataclass(frozen=True)
class _Moment:
    """A state that undo returns to."""

    beam: tuple[Hypothesis, ...]
    lost: tuple[Hypothesis, ...]
    lexical: LexicalConstraint
    unchanged: tuple[Output, ...] = ()
    """The source, where nothing that grew without the user is good enough."""


class Growth:
    """One source on its way down; made by `Generator.grow`."""

    def __init__(self, generator: Generator, text: str, steering: Steering, options: SearchOptions) -> None:
        self.generator = generator
        self.text = text
        self.steering = steering
        self.options = options
        request = generator.request(0, text, steering, options)
        self._now = _Moment(tuple(request.beam), (), steering.lexical)
        self._past: list[_Moment] = []

    # -- looking

    @property
    def beam(self) -> list[BeamEntry]:
        """The contexts that are alive, best first."""
        return [BeamEntry.of(hypothesis, self.generator.vocabulary) for hypothesis in self._now.beam]

    @property
    def lost(self) -> list[BeamEntry]:
        """The contexts that the last step left behind, best first."""
        return [BeamEntry.of(hypothesis, self.generator.vocabulary) for hypothesis in self._now.lost]

    @property
    def finished(self) -> bool:
        """Whether no label is open any more."""
        return all(entry.finished for entry in self.beam)

    def outputs(self) -> list[Output]:
        """The finished hypotheses, best first; the source, with a note, where nothing better grew by itself."""
        if self._now.unchanged:
            return list(self._now.unchanged)
        done = [h for h, entry in zip(self._now.beam, self.beam, strict=True) if entry.finished]
        if not self.options.sample:
            done = self.generator.distinct(done)
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
        made = LexicalConstraint.of(self.generator.vocabulary, words, labels=labels)
        return self._move(replace(self._now, lexical=self._now.lexical.joined(made)))

    def forbid(self, words: Sequence[str] = (), labels: Sequence[str] = ()) -> Growth:
        """Words and labels that may not be written from here on."""
        made = LexicalConstraint.of(self.generator.vocabulary, (), words, not_labels=labels)
        return self._move(replace(self._now, lexical=self._now.lexical.joined(made)))

    def undo(self) -> Growth:
        """Back to before the last step or change."""
        if not self._past:
            raise ConfigError("there is nothing to undo", remedy="grow or change something first")
        self._now = self._past.pop()
        return self

    # -- inside

    def _run(self, levels: int | None) -> None:
        request = self.generator.request(0, self.text, self.steering, self.options, abstain=not self._past)
        go_on(request, self._now.beam, self._now.lexical, levels)
        (done,) = self.generator.scheduler().run([request])
        check_found(done)
        unchanged = self.generator.outputs(done, self.steering) if done.unchanged else []
        assert isinstance(unchanged, list)
        self._move(_Moment(tuple(done.beam), tuple(done.dropped), done.lexical, tuple(unchanged)))

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


def go_on(request: SearchRequest, beam: Sequence[Hypothesis], lexical: LexicalConstraint, levels: int | None) -> None:
    """Have a request go on from a beam by so many levels, under those constraints on words and labels."""
    request.continue_from(beam, lexical)
    request.levels = levels
    request.on_level = meet_required_labels


def with_context(generator: Generator, old: Hypothesis, context: str) -> Hypothesis:
    """A hypothesis with a context of the user's in the place of its own; its score stays."""
    ids = generator.vocabulary.encode_tokens(generator.read_context(context))
    made = AnnotatedContext.plain(ids, generator.config)
    return Hypothesis(
        made, old.score, old.depth, old, edited=True, sample=old.sample, log_probability=old.log_probability
    )


def with_pin(generator: Generator, old: Hypothesis, label: int, words: str) -> Hypothesis:
    """A hypothesis whose next infill has those words for one of its open labels, which count from 1."""
    labels = generator.config.labels
    opened = sum(token in labels for token in old.context.ids)
    if not 1 <= label <= opened:
        raise ConfigError(f"the context has {opened} open labels, not {label}", remedy="count them from 1")
    ids = tuple(generator.vocabulary.encode_tokens(generator.read_context(words)))
    return replace(old, pins={**old.pins, label: ids})


def meet_required_labels(request: SearchRequest) -> None:
    """At the end of a level: what lacks a label that was required of its infill is left; the next need not have it."""
    labels = request.lexical.required_labels
    if not labels:
        return
    kept = [hypothesis for hypothesis in request.beam if labels <= set(hypothesis.infill)]
    left = [hypothesis for hypothesis in request.beam if not labels <= set(hypothesis.infill)]
    request.beam, request.dropped = kept, left + request.dropped
    request.reasons.update(dict.fromkeys(left, "lacks a required label"))
    if kept:
        request.lexical = request.lexical.without_labels()
