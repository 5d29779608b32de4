"""Growing a beam for a client, and describing what grew: contexts, tokens, parts and what lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from syntagma.errors import ConfigError, SyntagmaError
from syntagma.levels import PART, MalformedInfill, Tokens, is_label, show, split_infill
from syntagma.search import Generator, Output, Steering
from syntagma.search.beam import Hypothesis, Sentence, fits
from syntagma.search.explain import Share, shares
from syntagma.search.growth import meet_required_labels, with_context, with_pin
from syntagma.search.options import SearchOptions
from syntagma.search.output import TraceLevel, read_out, read_trace
from syntagma.search.wishes import Wishes
from syntagma.serve.models import Served
from syntagma.serve.schemas import BEAM, GrowRequest, Options
from syntagma.serve.states import read_state, write_state
from syntagma.template import Guide, Template, TemplateError

MOST_LOST = 16
MOST_CONSTITUENTS = 60
"""Of a template: what the engine leaves positions for."""


class Beam(NamedTuple):
    """What a depth kept and what it dropped, best first."""

    kept: list[Hypothesis]
    dropped: list[Hypothesis]


@dataclass(frozen=True)
class Growing:
    """A search that is about to begin for a client."""

    served: Served
    sentence: Sentence
    sent: list[Hypothesis | None] | None
    """The beam that the client sent, None for what hard control rules out; None: it begins at the start."""
    nbest: int | None


def settings(generator: Generator, request: Options) -> SearchOptions:
    """The search options of a request; the beam is wide enough for what it asks for."""
    return generator.defaults.for_texts(request.nbest or 1, request.search(), widest=BEAM)


def steer(generator: Generator, request: Options, template: Template | None) -> Steering:
    """The steering of a request; `template` is that of its exemplar, where it has one."""
    if template is None and request.template is not None:
        template = Template.parse(request.template, generator.vocabulary.labels)
    if template is not None and str(template).count("(") > MOST_CONSTITUENTS:
        raise TemplateError(
            f"the template has more than {MOST_CONSTITUENTS} constituents", remedy="cut it at a lower depth"
        )
    if request.template is not None and request.exemplar is not None:
        raise ConfigError("a template and an exemplar are both given", remedy="give one of them")
    return generator.steering(template, None, None, request.control, request.start, request.must, request.must_not)


def begin(served: Served, request: GrowRequest, template: Template | None, levels: int | None) -> Growing:
    """The search that a request asks for, with its beam, pins and wishes."""
    generator = served.generator
    if not served.guided:
        raise ConfigError("this model writes its target in one go and grows nothing", remedy="use a guided model")
    steering = steer(generator, request, template)
    sentence = checked(generator.sentence(0, request.text, steering, settings(generator, request)))
    sent: list[Hypothesis | None] | None = None
    if request.beam_state is not None:
        guide = sentence.start.guide
        sent = [_entry(served, sentence, entry.state, entry.context, guide) for entry in request.beam_state]
    beam: list[Hypothesis | None] = [*sentence.beam] if sent is None else sent
    for pin in request.pins:
        if pin.index >= len(beam):
            raise ConfigError(f"the beam has {len(beam)} contexts, not {pin.index + 1}", remedy="count them from 0")
        old = beam[pin.index]
        if old is not None:
            beam[pin.index] = with_pin(generator, old, pin.label, pin.words)
    sentence.beam = [hypothesis for hypothesis in beam if hypothesis is not None]
    if not sentence.beam:
        raise TemplateError("no context of the beam has the template's shape", remedy="loosen it, or begin anew")
    wanted = Wishes.of(generator.vocabulary, request.require.words, (), request.require.labels)
    unwanted = Wishes.of(generator.vocabulary, (), request.forbid.words, (), request.forbid.labels)
    sentence.wishes = sentence.wishes.joined(wanted).joined(unwanted)
    sentence.levels = levels
    sentence.on_level = meet_required_labels
    return Growing(served, checked(sentence), beam if sent is not None else None, request.nbest)


def checked(sentence: Sentence) -> Sentence:
    """The sentence, if the model has positions for every context of its beam."""
    for hypothesis in sentence.beam:
        pinned = sum(map(len, hypothesis.pins.values()))
        context = hypothesis.context.ids
        if not fits(context, sentence.config, sentence.source, pinned):
            what = f"a context of {len(context)} subwords and {sentence.open_labels(hypothesis)} open labels"
            raise SyntagmaError(f"{what} does not fit the model", remedy="shorten it")
    return sentence


def _entry(
    served: Served, sentence: Sentence, state: str | None, context: str | None, guide: Guide | None
) -> Hypothesis | None:
    """The hypothesis that an entry of the client's beam stands for; None where hard control rules it out."""
    generator = served.generator
    if state is None:
        assert context is not None
        edited = with_context(generator, sentence.start, context)
        return replace(edited, parent=None, depth=1, score=0.0, edited=False)
    found = read_state(state, served.name, sentence)
    if context is not None:
        return with_context(generator, found, context)
    history = found.history()
    if guide is None or any(not grown.infill for grown in history[1:]) or not _from_top(history[0], sentence):
        return found
    followed = _follow(generator, guide, history)
    return None if followed is None else replace(found, guide=followed)


def _from_top(first: Hypothesis, sentence: Sentence) -> bool:
    return list(first.context.ids) == [sentence.config.labels[0]]


def _follow(generator: Generator, guide: Guide, history: Sequence[Hypothesis]) -> Guide | None:
    """The guide after all infills of a history."""
    names, part = generator.grammar.names, generator.network.config.part
    following: Guide | None = guide
    for grown in history[1:]:
        for token in grown.infill:
            if following is not None and (token == part or token in names):
                following = following.follow(PART if token == part else names[token])
        following = following.next_level() if following is not None else None
    return following


# -- describing


class Describer:
    """Says what a depth of one client's search holds, as /v1/grow answers."""

    def __init__(self, growing: Growing) -> None:
        self.served, self.source, self.nbest = growing.served, growing.sentence.source, growing.nbest
        self.before: Sequence[Hypothesis | None] | None = growing.sent

    def level(self, beam: Beam) -> dict[str, Any]:
        """The answer for a depth; parents count in the beam of the call before."""
        lost = beam.dropped[:MOST_LOST]
        nodes = self._nodes([*beam.kept, *lost], self.before)
        kept = nodes[: len(beam.kept)]
        for number, node in enumerate(kept):
            node["winner"] = number == 0
        self.before = beam.kept
        return {
            "depth": max(hypothesis.depth for hypothesis in beam.kept),
            "finished": all(node["finished"] for node in kept),
            "beam": kept,
            "lost": nodes[len(beam.kept) :],
            "outputs": self.outputs(beam.kept),
        }

    def outputs(self, beam: Sequence[Hypothesis]) -> list[dict[str, Any]]:
        """The finished hypotheses, best first."""
        return [output_values(self._read_out(hypothesis)) for hypothesis in self.ends(beam)]

    def ends(self, beam: Sequence[Hypothesis]) -> list[Hypothesis]:
        """The hypotheses of a beam that are finished, as many as are wanted."""
        labels = set(self.served.generator.network.config.labels)
        return [one for one in beam if labels.isdisjoint(one.context.ids)][: self.nbest]

    def _read_out(self, hypothesis: Hypothesis) -> Output:
        return read_out(hypothesis, self._first(hypothesis), self.served.generator.vocabulary)

    def _first(self, hypothesis: Hypothesis) -> Tokens:
        first = hypothesis.history()[0].context.ids
        return tuple(self.served.generator.vocabulary.decode_tokens(first))

    def _nodes(
        self, hypotheses: Sequence[Hypothesis], before: Sequence[Hypothesis | None] | None
    ) -> list[dict[str, Any]]:
        vocabulary = self.served.generator.vocabulary
        read = [read_trace(hypothesis, self._first(hypothesis), vocabulary) for hypothesis in hypotheses]
        places = {id(one): at for at, one in enumerate(before or ()) if one is not None}
        # A finished context that only stays is its own parent, and nothing in it is new.
        grown = [at for at, one in enumerate(hypotheses) if one.infill and id(one) not in places]
        parts = shares(
            self.served.generator,
            self.source,
            [hypotheses[at] for at in grown],
            [read[at][0][-1] for at in grown],
        )
        shared = dict(zip(grown, parts, strict=True))
        nodes = []
        for at, (hypothesis, (trace, _, context)) in enumerate(zip(hypotheses, read, strict=True)):
            parent = next((places[id(one)] for one in hypothesis.history()[::-1] if id(one) in places), None)
            level = trace[-1] if at in shared else None
            nodes.append(self._node(hypothesis, context, level, shared.get(at, ()), parent))
        return nodes

    def _node(
        self,
        hypothesis: Hypothesis,
        context: Tokens,
        level: TraceLevel | None,
        parts: Sequence[Share],
        parent: int | None,
    ) -> dict[str, Any]:
        fresh = _new(level) if level is not None else [False] * len(context)
        return {
            "state": write_state(hypothesis, self.served.name),
            "context": show(context),
            "tokens": [
                {"text": token.name if is_label(token) else str(token), "label": is_label(token), "new": new}
                for token, new in zip(context, fresh, strict=True)
            ],
            "score": hypothesis.score,
            "depth": hypothesis.depth,
            "parent": parent,
            "finished": not any(map(is_label, context)),
            "edited": hypothesis.edited,
            "rewarded": hypothesis.rewarded,
            "winner": False,
            "infill_score": hypothesis.infill_score,
            "parts": [{"label": part.label.strip("<>"), "became": part.became, "score": part.score} for part in parts],
        }


def _new(level: TraceLevel) -> list[bool]:
    """For each token of the context that a level grows, whether its infill wrote it."""
    parts = split_infill(level.infill)
    assert not isinstance(parts, MalformedInfill)
    sizes = iter(map(len, parts))
    fresh: list[bool] = []
    for token in level.context:
        fresh += [True] * next(sizes) if is_label(token) else [False]
    return fresh


def winners(beams: Sequence[Beam], ends: Sequence[Hypothesis]) -> list[list[int | None]]:
    """For each finished hypothesis its place, or its ancestor's, in the beam of each depth."""
    found = []
    for end in ends:
        way = {id(one) for one in end.history()}
        places: list[int | None] = []
        for beam in beams:
            last = [at for at, one in enumerate(beam.kept) if id(one) in way]
            places.append(last[-1] if last else None)
        found.append(places)
    return found


def watch_levels(sentence: Sentence, tell: Callable[[Beam], None]) -> None:
    """Have `tell` called, in the worker's thread, with each depth that is reached."""
    before = sentence.on_level

    def on_level(now: Sentence) -> None:
        if before is not None:
            before(now)
        tell(Beam(list(now.beam), list(now.dropped)))

    sentence.on_level = on_level


def output_values(output: Output) -> dict[str, Any]:
    """A finished hypothesis as the service answers it."""
    return output.to_dict() | {"trace": [level.to_dict() for level in output.trace]}
