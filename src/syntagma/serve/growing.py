"""Growing a beam for a client, and describing what grew: contexts, tokens, parts and what lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from syntagma.errors import ConfigError, SyntagmaError
from syntagma.levels import is_label
from syntagma.search import Generator, Output, Steering
from syntagma.search.constraints.lexical import LexicalConstraint
from syntagma.search.constraints.template import TemplateConstraint
from syntagma.search.growth import BeamEntry, go_on, with_context, with_pin
from syntagma.search.hypothesis import Hypothesis, merge
from syntagma.search.options import SearchOptions
from syntagma.search.request import UNFAITHFUL, SearchRequest, fits
from syntagma.serve.client_state import read_state, write_state
from syntagma.serve.models import Served
from syntagma.serve.schemas import BEAM, GrowRequest, RequestOptions, Wish
from syntagma.template import Template, TemplateError

MOST_LOST = 16
MOST_ROW_STEPS = 2_000
"""Of one request, for each place of its beam: ten times what an ordinary sentence takes."""
MOST_CONSTITUENTS = 60
"""Of a template: what the search leaves positions for."""


class Beam(NamedTuple):
    """The contexts that a depth kept and those that it dropped, best first."""

    kept: list[Hypothesis]
    """Of hypotheses with the same context in several planned shapes the first."""
    places: Mapping[Hypothesis, int]
    """Where among those the context of each hypothesis stands."""
    dropped: list[Hypothesis]
    reasons: Mapping[Hypothesis, str]
    """Why each that was dropped was."""
    rank_scores: Mapping[Hypothesis, float]
    """What decided the order of finished texts, where they were reranked."""
    note: str = ""
    is_unchanged: bool = False
    """Whether the source is returned as nothing in it is good enough."""

    @staticmethod
    def of(request: SearchRequest) -> Beam:
        """The depth that a request has come to."""
        kept, places = merge(request.beam, request.plans)
        return Beam(
            kept, places, list(request.dropped), dict(request.reasons), dict(request.rank_scores),
            request.note, request.unchanged,
        )  # fmt: skip


@dataclass(frozen=True)
class Growing:
    """A search that is about to begin for a client."""

    served: Served
    request: SearchRequest
    sent: list[Hypothesis | None] | None
    """The beam that the client sent, None for what hard control rules out; None: it begins at the start."""
    nbest: int | None


def settings(generator: Generator, request: RequestOptions) -> SearchOptions:
    """The search options of a request; the beam is wide enough for what it asks for."""
    options = generator.defaults.for_texts(request.nbest or 1, request.search(), widest=BEAM)
    return options.changed({"max_row_steps": min(options.max_row_steps or MOST_ROW_STEPS, MOST_ROW_STEPS)})


def steer(generator: Generator, request: RequestOptions, template: Template | None) -> Steering:
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
    """The search that a request asks for, with its beam, pins and constraints."""
    generator = served.generator
    if not served.guided:
        raise ConfigError("this model writes its target in one go and grows nothing", remedy="use a guided model")
    steering = steer(generator, request, template)
    # What a user steers is never left out.
    free = request.beam_state is None and not request.pins and request.require == request.forbid == Wish()
    options = settings(generator, request)
    search = checked(generator.request(0, request.text, steering, options, abstain=free, plan=free and levels is None))
    sent: list[Hypothesis | None] | None = None
    if request.beam_state is not None:
        sent = [_entry(served, search, entry.state, entry.context) for entry in request.beam_state]
    beam: list[Hypothesis | None] = [*search.beam] if sent is None else sent
    for pin in request.pins:
        if pin.index >= len(beam):
            raise ConfigError(f"the beam has {len(beam)} contexts, not {pin.index + 1}", remedy="count them from 0")
        old = beam[pin.index]
        if old is not None:
            beam[pin.index] = with_pin(generator, old, pin.label, pin.words)
    alive = [hypothesis for hypothesis in beam if hypothesis is not None]
    if not alive:
        raise TemplateError("no context of the beam has the template's shape", remedy="loosen it, or begin anew")
    wanted = LexicalConstraint.of(generator.vocabulary, request.require.words, (), request.require.labels)
    unwanted = LexicalConstraint.of(generator.vocabulary, (), request.forbid.words, (), request.forbid.labels)
    go_on(search, alive, search.lexical.joined(wanted).joined(unwanted), levels)
    return Growing(served, checked(search), beam if sent is not None else None, request.nbest)


def checked(request: SearchRequest) -> SearchRequest:
    """The request, if the model has positions for every context of its beam."""
    for hypothesis in request.beam:
        pinned = sum(map(len, hypothesis.pins.values()))
        context = hypothesis.context.ids
        if not fits(context, request.config, request.source, pinned):
            what = f"a context of {len(context)} subwords and {request.open_labels(hypothesis)} open labels"
            raise SyntagmaError(f"{what} does not fit the model", remedy="shorten it")
    return request


def _entry(served: Served, request: SearchRequest, state: str | None, context: str | None) -> Hypothesis | None:
    """The hypothesis that an entry of the client's beam stands for; None where hard control rules it out."""
    generator = served.generator
    if state is None:
        assert context is not None
        edited = with_context(generator, request.start, context)
        return replace(edited, parent=None, depth=1, score=0.0, edited=False)
    hypothesis = read_state(state, served.name, request)
    if context is not None:
        return with_context(generator, hypothesis, context)
    shapes = [constraint for constraint in request.constraints if isinstance(constraint, TemplateConstraint)]
    return hypothesis if all(shape.keep(hypothesis) for shape in shapes) else None


# -- describing


class Describer:
    """Says what a depth of one client's search holds, as /v1/grow answers."""

    def __init__(self, growing: Growing) -> None:
        self.served, self.nbest = growing.served, growing.nbest
        self.request = growing.request
        self.sample = growing.request.options.sample
        self.before: Mapping[Hypothesis, int] = {
            hypothesis: place for place, hypothesis in enumerate(growing.sent or ()) if hypothesis is not None
        }

    def level(self, beam: Beam) -> dict[str, Any]:
        """The answer for a depth; parents count in the beam of the call before."""
        places = self.before
        shown = (*beam.kept, *beam.dropped[:MOST_LOST])
        nodes = [self._node(hypothesis, places, beam.reasons.get(hypothesis)) for hypothesis in shown]
        kept = nodes[: len(beam.kept)]
        for number, node in enumerate(kept):
            node["winner"] = number == 0 and not beam.is_unchanged
        self.before = beam.places
        return {
            "depth": max(hypothesis.depth for hypothesis in beam.kept),
            "finished": all(node["finished"] for node in kept),
            "beam": kept,
            "lost": nodes[len(beam.kept) :],
            "more_lost": max(0, len(beam.dropped) - MOST_LOST),
            "outputs": self.outputs(beam),
        }

    def outputs(self, beam: Beam) -> list[dict[str, Any]]:
        """The finished hypotheses, best first; where none is good enough, the source."""
        if beam.is_unchanged:
            outputs = self.served.generator.outputs(self.request, Steering())
            assert isinstance(outputs, list)
            return [output_values(output) for output in outputs]
        return [
            output_values(replace(self._read_out(end), rank_score=beam.rank_scores.get(end), note=beam.note))
            for end in self.ends(beam.kept)
        ]

    def ends(self, beam: Sequence[Hypothesis]) -> list[Hypothesis]:
        """The hypotheses of a beam that are finished and say something different each, as many as are wanted."""
        generator = self.served.generator
        labels = set(generator.config.labels)
        done = [hypothesis for hypothesis in beam if labels.isdisjoint(hypothesis.context.ids)]
        return (done if self.sample else generator.distinct(done))[: self.nbest]

    def _read_out(self, hypothesis: Hypothesis) -> Output:
        generator = self.served.generator
        first = hypothesis.history()[0].context.ids
        return generator.read_out(hypothesis, tuple(generator.vocabulary.decode_tokens(first)))

    def _node(self, hypothesis: Hypothesis, places: Mapping[Hypothesis, int], reason: str | None) -> dict[str, Any]:
        # A finished context that only stays is its own parent, and nothing in it is new.
        entry = BeamEntry.of(hypothesis, self.served.generator.vocabulary, grown=hypothesis not in places)
        parent = next((places[before] for before in hypothesis.history()[::-1] if before in places), None)
        return {
            "state": write_state(hypothesis, self.served.name),
            "context": entry.context,
            "tokens": [
                {"text": token.name if is_label(token) else str(token), "label": is_label(token), "new": new}
                for token, new in zip(entry.tokens, entry.fresh, strict=True)
            ],
            "score": entry.score,
            "depth": entry.depth,
            "parent": parent,
            "finished": entry.finished,
            "edited": hypothesis.edited,
            "rewarded": entry.rewarded,
            "winner": False,
            "reason": reason,
            "infill_score": entry.infill_score,
            "parts": [
                {"label": part.label.strip("<>"), "became": part.became, "score": part.score} for part in entry.parts
            ],
        }


def left_out(seen: Sequence[Beam], done: SearchRequest) -> list[dict[str, Any]]:
    """The places of the last beam whose texts are no outputs, and why."""
    kept = () if done.unchanged else done.beam
    last = seen[-1].kept if seen else []
    return [
        {"place": place, "reason": done.reasons.get(hypothesis, UNFAITHFUL)}
        for place, hypothesis in enumerate(last)
        if hypothesis not in kept
    ]


def winners(beams: Sequence[Beam], ends: Sequence[Hypothesis]) -> list[list[int | None]]:
    """For each finished hypothesis its place, or its ancestor's, in the beam of each depth."""
    ways = []
    for end in ends:
        history = set(end.history())
        places: list[int | None] = []
        for beam in beams:
            last = [place for hypothesis, place in beam.places.items() if hypothesis in history]
            places.append(last[-1] if last else None)
        ways.append(places)
    return ways


def watch_levels(request: SearchRequest, tell: Callable[[Beam], None]) -> None:
    """Have `tell` called, in the worker's thread, with each depth that is reached."""
    before = request.on_level

    def on_level(now: SearchRequest) -> None:
        if before is not None:
            before(now)
        tell(Beam.of(now))

    request.on_level = on_level


def output_values(output: Output) -> dict[str, Any]:
    """A finished hypothesis as the service answers it."""
    decided = {"rank_score": output.rank_score, "note": output.note or None}
    return output.to_dict() | decided | {"trace": [level.to_dict() for level in output.trace]}
