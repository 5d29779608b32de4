"""The work of each request, apart from HTTP: models and searches in, plain values out."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import islice
from typing import Any

from syntagma.errors import ConfigError, SyntagmaError
from syntagma.parse import Parser
from syntagma.search.document import Document, segments, unread
from syntagma.search.explain import Explanation, explainable, explained
from syntagma.search.outcome import check_found
from syntagma.search.request import SearchRequest
from syntagma.search.result import Output
from syntagma.serve.admission import DESCRIBED, MOST_ROWS, ORDINARY_ROWS, Admission, Ticket, parse_rows, search_rows
from syntagma.serve.compare import VotingSession
from syntagma.serve.control import ControlTask
from syntagma.serve.counters import Counters
from syntagma.serve.growing import (
    Beam,
    Describer,
    Growing,
    begin,
    checked,
    output_values,
    settings,
    steer,
    watch_levels,
    winners,
)
from syntagma.serve.middleware import Rules
from syntagma.serve.models import Desk, Served
from syntagma.serve.schemas import (
    ExplainRequest,
    GenerateRequest,
    GrowRequest,
    ParseRequest,
    RequestOptions,
    SentencesRequest,
    TemplateRequest,
    VoteRequest,
)
from syntagma.serve.worker import Busy, QueuedRequest, SearchFailed
from syntagma.template import Template
from syntagma.text import split
from syntagma.tree import Tree

SAMPLE = "It seems like he has made a mistake."
PARSED_AT_ONCE = 8
"""Texts of one request between which others get their turn at the parser."""


class Service:
    """The models, the parser and the comparison that one process serves."""

    def __init__(
        self,
        models: Mapping[str, Served],
        *,
        parser: Parser | None = None,
        comparison: VotingSession | None = None,
        control: ControlTask | None = None,
        rules: Rules | None = None,
    ) -> None:
        self.models = dict(models)
        self.parser, self.rules = parser, rules or Rules()
        self.comparison, self.control = comparison, control
        self.counters = Counters()
        self.admission = Admission(self.rules.patience)
        self.stopping = False
        self._parsing, self.voting = Desk("parser"), Desk("votes", 256)

    def start(self) -> None:
        """Begin to work."""
        for served in self.models.values():
            served.worker.start()

    def warm_up(self) -> None:
        """Search with each model, so that no client waits for what is made once; learn how long the slowest takes."""
        slowest = 0.0
        for served in self.models.values():
            for _ in range(2):  # the second time nothing is made any more
                begun = time.monotonic()
                with contextlib.suppress(SyntagmaError):
                    served.generator(SAMPLE)
            seconds = time.monotonic() - begun
            slowest = max(slowest, seconds / search_rows([SAMPLE], served.generator.defaults.beam))
        self.admission.learn(ORDINARY_ROWS, slowest * ORDINARY_ROWS)

    async def stop(self) -> None:
        """Finish what has begun, and end."""
        self.stopping = True
        for served in self.models.values():
            await asyncio.to_thread(served.worker.stop)
            await asyncio.to_thread(served.desk.close)
        for desk in (self._parsing, self.voting):
            await asyncio.to_thread(desk.close)
        for task in (self.comparison, self.control):
            if task is not None:
                task.store.close()

    # -- what it has

    def model(self, name: str | None) -> Served:
        """The model of that name, or the first."""
        if name is None:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise ConfigError("there is no model of that name here", remedy="choose one of /v1/models")
        return self.models[name]

    def about(self) -> dict[str, Any]:
        """The models and the parser."""
        parser = self.parser and {"name": self.parser.name, "version": self.parser.version}
        return {"models": [served.info() for served in self.models.values()], "parser": parser}

    def metrics(self) -> str:
        """Counters, gauges and the latency, for Prometheus."""
        workers = {name: served.worker for name, served in self.models.items()}
        gauges = {
            "syntagma_queue_sentences": {name: float(worker.waiting) for name, worker in workers.items()},
            "syntagma_alive_sentences": {name: float(worker.alive) for name, worker in workers.items()},
        }
        totals = {
            "syntagma_finished_sentences_total": {name: float(worker.finished) for name, worker in workers.items()},
            "syntagma_withdrawn_sentences_total": {name: float(worker.withdrawn) for name, worker in workers.items()},
            "syntagma_turns_total": {name: float(worker.turns) for name, worker in workers.items()},
            "syntagma_row_steps_total": {name: float(worker.row_steps) for name, worker in workers.items()},
        }
        return self.counters.text(gauges, totals, self.admission.refused)

    # -- generating

    async def generate(self, request: GenerateRequest) -> dict[str, Any]:
        """The hypotheses for each text; where there is but one text, what is wrong with it is the request's error."""
        with self._enter(request, request.texts or [request.text or ""]) as ticket:
            return await self._generate(request, ticket)

    async def _generate(self, request: GenerateRequest, ticket: Ticket) -> dict[str, Any]:
        served = self.model(request.model)
        generator = served.generator
        steering = steer(generator, request, await self._template(served, request))
        options = settings(generator, request)
        texts = request.texts or [request.text or ""]
        ready: list[Document | SyntagmaError] = []
        for number, text in enumerate(texts):
            try:
                document = generator.document(number, text, steering, options, request.nbest or 1)
                document.requests = [checked(search) for search in document.requests]
                ready.append(document)
            except SyntagmaError as error:
                ready.append(error)
        searched = [search for one in ready if isinstance(one, Document) for search in one.requests]
        found = iter(await served.worker.search(searched) if searched else ())
        ticket.done = float(sum(search.row_steps for search in searched))
        results: list[dict[str, Any]] = []
        for text, one in zip(texts, ready, strict=True):
            outputs: list[Output] | Exception
            if isinstance(one, Document):
                wrong = [done for done in islice(found, len(one.requests)) if isinstance(done, Exception)]
                outputs = wrong[0] if wrong else generator.document_outputs(one, steering)
            else:
                outputs = one
            if isinstance(outputs, list):
                best = outputs[: request.nbest or 1]
                results.append({"source": text, "hypotheses": [output_values(output) for output in best]})
            elif request.texts is None or not isinstance(outputs, SyntagmaError):
                raise outputs
            else:
                results.append({"source": text, "hypotheses": [], "error": sentence_of(outputs)})
        return {"model": served.name, "results": results}

    async def grow(self, request: GrowRequest) -> dict[str, Any]:
        """A beam grown by one depth, or several."""
        if answer := self._unread(request):
            outputs = [output_values(output) for output in answer]
            return {"depth": 1, "finished": True, "beam": [], "lost": [], "more_lost": 0, "outputs": outputs}
        with self._enter(request, [request.text], described=True) as ticket:
            growing = await self._begin(request, request.levels or 1)
            done = await self._searched(growing.served, growing.request)
            ticket.done = DESCRIBED * done.row_steps
            describer = Describer(growing)
            return await growing.served.desk.do(describer.level, Beam.of(done))

    async def stream(self, request: GrowRequest) -> AsyncIterator[tuple[str, Any]]:
        """The events of a growth; the first has come before this returns, so that it can be refused."""
        if answer := self._unread(request):
            return _only("done", {"outputs": [output_values(one) for one in answer], "winners": [], "rerank": "none"})
        events = self._events(request, self._enter(request, [request.text], described=True))
        first = await anext(events)
        return _chain(first, events)

    async def _events(self, request: GrowRequest, ticket: Ticket) -> AsyncIterator[tuple[str, Any]]:
        with ticket:
            growing = await self._begin(request, request.levels)
            works, beams = self._put(growing)
            async for event in self._levels(growing, works, beams):
                with ticket.waiting():
                    yield event
            ticket.done = DESCRIBED * growing.request.row_steps

    @staticmethod
    def _put(growing: Growing) -> tuple[Sequence[QueuedRequest], asyncio.Queue[Beam | None]]:
        """Begin a search whose depths come through a queue."""
        beams: asyncio.Queue[Beam | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(beam: Beam) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(beams.put_nowait, beam)

        watch_levels(growing.request, tell)
        return growing.served.worker.put([growing.request]), beams

    async def _levels(
        self, growing: Growing, works: Sequence[QueuedRequest], beams: asyncio.Queue[Beam | None]
    ) -> AsyncIterator[tuple[str, Any]]:
        served, describer = growing.served, Describer(growing)
        task = asyncio.ensure_future(served.worker.wait(works))
        task.add_done_callback(lambda _: beams.put_nowait(None))
        seen: list[Beam] = []
        try:
            while (beam := await beams.get()) is not None:
                if beam.kept:
                    seen.append(beam)
                    yield "level", await served.desk.do(describer.level, beam)
            done = self._check(served, task.result()[0])
            ends = describer.ends(done.beam)
            outputs = describer.outputs(Beam.of(done), done.note)
            yield "done", {"outputs": outputs, "winners": winners(seen, ends), "rerank": done.options.rerank}
        except SyntagmaError as error:
            yield "error", {"error": sentence_of(error)}
        except SearchFailed:
            yield "error", {"error": "The search failed."}
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def explain(self, request: ExplainRequest) -> str:
        """The page that explains a search."""
        if answer := self._unread(request):
            return Explanation.without_search(request.text, answer).to_html()
        with self._enter(request, [request.text], described=True) as ticket:
            return await self._explain(request, ticket)

    async def _explain(self, request: ExplainRequest, ticket: Ticket) -> str:
        served = self.model(request.model)
        steering = steer(served.generator, request, await self._template(served, request))
        options = settings(served.generator, request)
        search, first = explainable(served.generator, request.text, steering, options)
        done = await self._searched(served, checked(search))
        ticket.done = DESCRIBED * done.row_steps
        explanation = await served.desk.do(explained, served.generator, request.text, steering, done, first)
        return await served.desk.do(explanation.to_html)

    def _unread(self, request: GrowRequest | ExplainRequest) -> list[Output]:
        """The answer, without a search, to a text that the model cannot read."""
        return unread(request.text, self.model(request.model).generator.language)

    def _enter(self, request: RequestOptions, texts: Sequence[str], described: bool = False) -> Ticket:
        """Let a search in, with what it is expected to take."""
        beam = settings(self.model(request.model).generator, request).beam
        parsed = parse_rows([request.exemplar]) if request.exemplar is not None else 0.0
        rows = search_rows(texts, beam, described)
        if rows > MOST_ROWS:
            raise ConfigError("this is more than one request may ask for", remedy="send fewer texts or a narrower beam")
        return self.admission.enter(rows + parsed)

    async def _begin(self, request: GrowRequest, levels: int | None) -> Growing:
        served = self.model(request.model)
        return begin(served, request, await self._template(served, request), levels)

    async def _searched(self, served: Served, request: SearchRequest) -> SearchRequest:
        (done,) = await served.worker.search([request])
        return self._check(served, done)

    @staticmethod
    def _check(served: Served, done: SearchRequest | Exception) -> SearchRequest:
        if isinstance(done, Exception):
            raise done
        check_found(done)
        return done

    # -- parsing

    async def parse(self, request: ParseRequest) -> dict[str, Any]:
        """A tree for each text."""
        texts = request.texts or [request.text or ""]
        with self.admission.enter(parse_rows(texts)):
            return {"trees": [str(tree) for tree in await self._trees(texts, request.tokenized)]}

    async def template(self, request: TemplateRequest) -> dict[str, Any]:
        """The shape of a sentence, in the labels of a model."""
        served = self.model(request.model)
        with self.admission.enter(parse_rows([request.text])):
            return {"template": str(await self._shape(served, request.text, request.depth))}

    @staticmethod
    async def sentences(request: SentencesRequest) -> dict[str, Any]:
        """The texts to grow one by one where a model has learnt single sentences."""
        return {"sentences": [segment.strip() for segment in segments(request.text)]}

    async def _template(self, served: Served, request: RequestOptions) -> Template | None:
        if request.exemplar is None:
            return None
        return await self._shape(served, request.exemplar, request.exemplar_depth)

    async def _shape(self, served: Served, text: str, depth: int | None) -> Template:
        (tree,) = await self._trees([text])
        return Template.from_tree(tree, depth, served.generator.vocabulary.labels)

    async def _trees(self, texts: Sequence[str], tokenized: bool = False) -> list[Tree]:
        if self.parser is None:
            raise ConfigError("this service has no parser", remedy="use a build that has one")
        for number, text in enumerate(texts, 1):
            if not split(text).words:
                raise ConfigError(f"text {number} has no words", remedy="leave it out")
        trees: list[Tree] = []
        for start in range(0, len(texts), PARSED_AT_ONCE):
            some = list(texts[start : start + PARSED_AT_ONCE])
            trees += await self._parsing.do(_parse, self.parser, some, tokenized)
        return trees

    # -- comparing

    async def next_item(self, voter: str, item: str | None = None) -> dict[str, Any]:
        """The next item of a voter, or one to see again."""
        assert self.comparison is not None
        return await self.voting.do(self.comparison.next, voter, item)

    async def vote(self, request: VoteRequest) -> dict[str, Any]:
        """Store a vote; it is stored to the end even if the client leaves."""
        assert self.comparison is not None
        return await self.voting.do(self.comparison.vote, request.voter, request.item, request.answers)


async def _only(event: str, values: dict[str, Any]) -> AsyncIterator[tuple[str, Any]]:
    yield event, values


async def _chain(first: tuple[str, Any], rest: AsyncIterator[tuple[str, Any]]) -> AsyncIterator[tuple[str, Any]]:
    try:
        yield first
        async for event in rest:
            yield event
    finally:
        await rest.aclose()  # type: ignore[attr-defined]


def _parse(parser: Parser, texts: list[str], tokenized: bool) -> list[Tree]:
    return parser(texts, tokenized=tokenized)


def sentence_of(error: SyntagmaError) -> str:
    """An error as one sentence for a client: never the place of a file."""
    column = error.place.column
    where = f"column {column}: " if column is not None else ""
    return as_sentence(f"{where}{error.what}; {error.remedy}" if error.remedy else f"{where}{error.what}")


def as_sentence(text: str) -> str:
    """Text as a sentence of bearable length.

    >>> as_sentence("the beam is empty")
    'The beam is empty.'
    """
    clean = " ".join(text.encode("utf-8", "replace").decode().split())
    clean = clean if len(clean) <= 400 else clean[:397] + "..."
    return clean[:1].upper() + clean[1:] + ("" if clean.endswith((".", "?", "!")) else ".")


__all__ = ["Busy", "Service", "as_sentence", "sentence_of"]
