"""The work of each request, apart from HTTP: models and searches in, plain values out."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from syntagma.errors import ConfigError, SyntagmaError
from syntagma.parse import Parser
from syntagma.search.document import Document, segments, unread
from syntagma.search.explain import Explanation, explainable, explained
from syntagma.search.outcome import check_found
from syntagma.search.request import SearchRequest
from syntagma.search.result import Output
from syntagma.serve.admission import LARGEST, Admission, Ticket, parse_size, search_size
from syntagma.serve.compare import VotingSession
from syntagma.serve.control import ControlTask
from syntagma.serve.counters import Counters
from syntagma.serve.growing import (
    Beam,
    Describer,
    Growing,
    begin,
    checked,
    left_out,
    output_values,
    settings,
    steer,
    watch_levels,
    winners,
)
from syntagma.serve.middleware import Rules
from syntagma.serve.models import Desk, Served
from syntagma.serve.problems import sentence_of
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
from syntagma.serve.worker import QueuedRequest, SearchFailed
from syntagma.template import Template
from syntagma.text import split
from syntagma.tree import Tree

SAMPLE = "It seems like he has made a mistake."
PARSED_AT_ONCE = 8
"""Texts of one request between which others get their turn at the parser."""
DESCRIBED = 1.6
"""How much more a search takes whose levels are described, before one was."""


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
        self._parsing, self.voting = Desk("parser"), Desk("votes", 256)

    def start(self) -> None:
        """Begin to work."""
        for served in self.models.values():
            served.worker.start()

    def warm_up(self) -> None:
        """Search with each model, so that no client waits for what is made once; learn how long it takes."""
        for served in self.models.values():
            seconds = _second_time(served.generator, SAMPLE)
            cost = seconds / search_size([SAMPLE])
            self.admission.learn(f"search {served.name}", cost)
            self.admission.learn(f"growth {served.name}", DESCRIBED * cost)
        if self.parser is not None:
            texts = [SAMPLE] * PARSED_AT_ONCE
            self.admission.learn("parse", _second_time(self.parser, texts) / parse_size(texts))

    @property
    def stopping(self) -> bool:
        """Whether new work is refused, as the service is about to end."""
        return self.admission.shut

    def drain(self) -> None:
        """Finish what has begun, and refuse the rest."""
        self.admission.shut = True

    async def stop(self) -> None:
        """Finish what has begun, and end."""
        self.drain()
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
        with self._enter("search", request, request.texts or [request.text or ""]) as ticket:
            async with ticket.in_time():
                return await self._generate(request, ticket)

    async def _generate(self, request: GenerateRequest, ticket: Ticket) -> dict[str, Any]:
        served = self.model(request.model)
        generator = served.generator
        steering = steer(generator, request, await self._template(served, request))
        options = settings(generator, request)
        texts = request.texts or [request.text or ""]
        documents: list[Document | SyntagmaError] = []
        for number, text in enumerate(texts):
            try:
                document = generator.document(number, text, steering, options, request.nbest or 1)
                document.requests = [checked(search) for search in document.requests]
                documents.append(document)
            except SyntagmaError as error:
                documents.append(error)
        searches = [search for document in documents if isinstance(document, Document) for search in document.requests]
        ticket.searched = bool(searches)
        searched = iter(await served.worker.search(searches) if searches else ())
        results: list[dict[str, Any]] = []
        for text, prepared in zip(texts, documents, strict=True):
            outputs: list[Output] | Exception
            if isinstance(prepared, Document):
                wrong = [done for done in islice(searched, len(prepared.requests)) if isinstance(done, Exception)]
                outputs = wrong[0] if wrong else await served.desk.do(generator.document_outputs, prepared, steering)
            else:
                outputs = prepared
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
        with self._enter("level", request, [request.text]) as ticket:
            async with ticket.in_time():
                growing = await self._begin(request, request.levels or 1)
                done = await self._searched(growing.served, growing.request)
                return await growing.served.desk.do(Describer(growing).level, Beam.of(done))

    async def stream(self, request: GrowRequest) -> AsyncIterator[tuple[str, Any]]:
        """The events of a growth; the first has come before this returns, so that it can be refused."""
        if answer := self._unread(request):
            outputs = [output_values(output) for output in answer]
            return _only("done", {"outputs": outputs, "winners": [], "left_out": [], "rerank": "none"})
        ticket = self._enter("growth", request, [request.text])
        events = self._events(request, ticket)
        async with ticket.in_time():
            first = await anext(events)
        return _chain(first, events)

    async def _events(self, request: GrowRequest, ticket: Ticket) -> AsyncIterator[tuple[str, Any]]:
        with ticket:
            growing = await self._begin(request, request.levels)
            works, beams = self._put(growing)
            async for event in self._levels(growing, works, beams):
                with ticket.waiting():
                    yield event

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
            outputs = await served.desk.do(describer.outputs, Beam.of(done))
            ends = [] if done.unchanged else describer.ends(done.beam)
            yield (
                "done",
                {
                    "outputs": outputs,
                    "winners": winners(seen, ends),
                    "left_out": left_out(seen, done),
                    "rerank": done.options.rerank,
                },
            )
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
        with self._enter("growth", request, [request.text]) as ticket:
            async with ticket.in_time():
                return await self._explain(request)

    async def _explain(self, request: ExplainRequest) -> str:
        served = self.model(request.model)
        steering = steer(served.generator, request, await self._template(served, request))
        options = settings(served.generator, request)
        search, first = explainable(served.generator, request.text, steering, options)
        done = await self._searched(served, checked(search))
        explanation = await served.desk.do(explained, served.generator, request.text, steering, done, first)
        return await served.desk.do(explanation.to_html)

    def _unread(self, request: GrowRequest | ExplainRequest) -> list[Output]:
        """The answer, without a search, to a text that the model cannot read."""
        return unread(request.text, self.model(request.model).generator.language)

    def _enter(self, kind: str, request: RequestOptions, texts: Sequence[str]) -> Ticket:
        """Let a search in, with what it is expected to take."""
        served = self.model(request.model)
        generator = served.generator
        size = search_size(texts, settings(generator, request).width / generator.defaults.width)
        if size > LARGEST:
            raise ConfigError("this is more than one request may ask for", remedy="send fewer texts or a narrower beam")
        hard = request.control == "hard" and (request.template or request.exemplar) is not None
        return self.admission.enter(f"{kind} {served.name}", size, heavy=hard)

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
        with self.admission.enter("parse", parse_size(texts)) as ticket:
            async with ticket.in_time():
                return {"trees": [str(tree) for tree in await self._trees(texts, request.tokenized)]}

    async def template(self, request: TemplateRequest) -> dict[str, Any]:
        """The shape of a sentence, in the labels of a model."""
        served = self.model(request.model)
        with self.admission.enter("parse", parse_size([request.text])) as ticket:
            async with ticket.in_time():
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
            batch = list(texts[start : start + PARSED_AT_ONCE])
            trees += await self._parsing.do(_parse, self.parser, batch, tokenized)
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


def _second_time(call: Callable[..., Any], *arguments: Any) -> float:
    """The seconds that a call takes when everything is made that is made once."""
    for _ in range(2):
        begun = time.monotonic()
        with contextlib.suppress(SyntagmaError):
            call(*arguments)
    return time.monotonic() - begun


def _parse(parser: Parser, texts: list[str], tokenized: bool) -> list[Tree]:
    return parser(texts, tokenized=tokenized)
