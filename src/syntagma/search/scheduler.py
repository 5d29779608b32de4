"""All live beams in one batch: requests come and go, and every step feeds one token to every partial infill.

When a task is done its rows leave; when a request has all its tasks it moves to its next depth, or is finished.
Where memory runs out the batch is halved: a depth that was under way is begun again, with fewer requests at once.  Rows
that are drawn with different settings cannot share a step, so each setting has a lane of its own; mostly there is one.

Where requests are of several users (`fair`), one that takes much more work than others has a lane to itself, too: those
lanes take turns, and together get as much time as the ordinary ones, so that nobody waits for another's hard request.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from syntagma.errors import SyntagmaError, is_out_of_memory
from syntagma.network.contexts import check_lengths
from syntagma.runtime.base import IMPOSSIBLE, NO_WORDS, Draw, IdArray, Mask, Runtime, Step, WordSet
from syntagma.search.constraints.grammar import LABELS, WORDS, InfillGrammar
from syntagma.search.infill_beam import InfillBeam, continuations
from syntagma.search.known import fill_known
from syntagma.search.plan import plan
from syntagma.search.request import SearchRequest
from syntagma.search.rerank import rerank
from syntagma.search.rows import RowBatch, uniforms
from syntagma.search.task import Continuation, InfillTask
from syntagma.stopwatch import Stopwatch

_TASKS_ABREAST = 128
"""With few requests a depth's tasks run side by side, for less waiting; with many one after the other, for less work:
what the best context's infills score rules out much of what its rivals would try."""

_READY_SHARE = 4
"""New tasks are begun where one of so many requests has some: together they cost less than one by one."""

_HEAVY_ROWS, _HEAVY_SOURCE = 1_600, 500
"""A request is heavy that has taken so many row steps, or whose subwords times its beam are so many, or that has a
slow constraint, or that is one of many of a call: those share a lane."""

_ROWS_ABREAST = 64
"""Rows that a request of one of several users has in a step, if it can do with so few."""

_ALL = 1 << 30

Lane = tuple[tuple[float, float] | None, int | None]
"""The temperature and top-p that rows are drawn with, None where they are not; the heavy request or call it is for."""


class Scheduler:
    """Runs as many requests at once as `batch` says."""

    def __init__(
        self,
        runtime: Runtime,
        grammar: InfillGrammar,
        batch: int = 32,
        watch: Stopwatch | None = None,
        fair: bool = False,
    ) -> None:
        self.runtime, self.grammar, self.batch, self.fair = runtime, grammar, batch, fair
        self.watch = watch or Stopwatch()
        self.row_steps = 0
        """Rows decoded so far, summed over steps: what the search costs."""
        self._running: dict[int, SearchRequest] = {}
        self._postponed: list[SearchRequest] = []  # until there is memory for them
        self._room = _ALL  # so many fit into memory, as far as is known
        self._abreast = _TASKS_ABREAST
        self._finished: list[SearchRequest] = []
        self._ready: list[SearchRequest] = []  # between two depths
        self._waiting: list[InfillTask] = []  # not begun yet
        self._lanes: dict[Lane, RowBatch] = {}
        self.clock: Callable[[], float] = time.perf_counter
        self._credit = 0.0  # seconds that ordinary requests have had more than heavy ones

    def run(self, requests: Iterable[SearchRequest]) -> Iterator[SearchRequest]:
        """Each request once its beam is final, in the order in which they finish."""
        waiting = iter(requests)
        while True:
            self.add(islice(waiting, max(0, min(self.batch, self._room) - self.running)))
            if not self.running:
                return
            yield from self.step()

    @property
    def running(self) -> int:
        """How many requests are being searched."""
        return len(self._running) + len(self._postponed)

    def add(self, requests: Iterable[SearchRequest]) -> None:
        """Take in requests; those that are there already go on as before."""
        entering = list(requests)
        check_lengths(self.runtime.config, source=max((len(request.source) + 1 for request in entering), default=0))
        if not self.running:
            self._room, self._abreast = _ALL, _TASKS_ABREAST
        self._postponed += entering
        self._call_back()

    def abort(self, request: SearchRequest) -> None:
        """Give up a request; its rows go with it."""
        self._postponed = [other for other in self._postponed if other is not request]
        if self._running.pop(id(request), None) is None:
            return
        request.encoded = None
        self._ready = [other for other in self._ready if other is not request]
        self._waiting = [task for task in self._waiting if task.request is not request]
        for lane in self._lanes.values():
            lane.beams = [beam for beam in lane.beams if beam.task.request is not request]

    def step(self) -> list[SearchRequest]:
        """One token for every row of every request; the requests that are finished, which leave."""
        self._call_back()
        try:
            self._open_tasks()
            self._turn()
        except Exception as error:
            if not is_out_of_memory(error) or not self._running:
                raise
            self._retreat()
        finished, self._finished = self._finished, []
        self._lanes = {lane: batch for lane, batch in self._lanes.items() if batch.beams}
        for request in [request for request in self._running.values() if request.error is not None]:
            self.abort(request)
            finished.append(request)
        return finished

    def _turn(self) -> None:
        """Feed the ordinary lanes, and those of heavy requests, in turn, while they have had less time."""
        alive = [lane for lane, batch in self._lanes.items() if batch.beams]
        ordinary = [lane for lane in alive if lane[1] is None]
        begun = self.clock()
        for lane in ordinary:
            self._feed(lane, self._lanes[lane])
        self._credit = self._credit + self.clock() - begun if ordinary else 0.0
        for lane in [lane for lane in alive if lane[1] is not None]:
            if ordinary and self._credit <= 0:
                break
            batch = self._lanes[lane] = self._lanes.pop(lane)  # the others come first next time
            begun = self.clock()
            self._feed(lane, batch)
            self._credit -= self.clock() - begun
            if not ordinary:
                break
        self._credit = min(0.0, self._credit)

    # -- where memory runs out

    def _retreat(self) -> None:
        """Let half of the requests wait, and begin the depth of all anew; one that is alone fills its contexts one by
        one, and if that is too much it is given up."""
        self._lanes, self._waiting, self._ready = {}, [], []
        requests = list(self._running.values())
        if len(requests) == 1 and self._abreast == 1:
            requests[0].error = _no_memory()
            return
        for request in requests:
            request.restart_depth()
        if len(requests) == 1:
            self._abreast = 1
        self._room = max(1, len(requests) // 2)
        self._postponed = requests + self._postponed
        self._running = {}
        self._call_back()

    def _call_back(self) -> None:
        """Go on with requests that had to wait, as there is room."""
        while self._postponed and len(self._running) < self._room:
            request = self._postponed.pop(0)
            self._running[id(request)] = request
            self._ready.append(request)

    def _rerank(self, finished: Sequence[SearchRequest]) -> None:
        """Order the texts of requests, all at once or in halves."""
        try:
            rerank(finished, self.runtime)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            if len(finished) == 1:
                finished[0].error = _no_memory()
                return
            middle = len(finished) // 2
            self._rerank(finished[:middle])
            self._rerank(finished[middle:])

    # -- between depths

    def _open_tasks(self) -> None:
        """Begin the next depth of the requests that are between two; those that have none are finished."""
        finished: list[SearchRequest] = []
        if planned := [request for request in self._ready if request.planner is not None]:
            self._encode(planned)
            with self.watch("planning"):
                plan(planned, self.runtime)
        abreast = max(1, self._abreast // max(1, self.running))
        with self.watch("choice"):
            for request in self._ready:
                most = min(abreast, max(1, _ROWS_ABREAST // request.options.beam)) if self.fair else abreast
                fresh = request.next_tasks(most)
                self._waiting += fresh
                if not fresh:
                    request.encoded = None
                    request.settle()
                    del self._running[id(request)]
                    finished.append(request)
        self._ready = []
        self._finished += finished
        with self.watch("reranking"):
            self._rerank(finished)
        ready = [task for task in self._waiting if self._is_heavy(task.request)]
        crowd = [task for task in self._waiting if not self._is_heavy(task.request)]
        asking = {id(task.request) for task in crowd}
        busy = any(batch.beams for lane, batch in self._lanes.items() if lane[1] is None)
        ordinary = sum(not self._is_heavy(request) for request in self._running.values())
        if not (busy and len(asking) * _READY_SHARE < ordinary):
            ready, crowd = ready + crowd, []
        self._waiting = crowd
        if ready:
            self._begin(ready)

    def _encode(self, requests: Sequence[SearchRequest]) -> None:
        with self.watch("source encoding"):
            encoded = self.runtime.encode([request.source for request in requests])
        for request, handle in zip(requests, encoded, strict=True):
            request.encoded = handle

    def _is_heavy(self, request: SearchRequest) -> bool:
        predicted = len(request.source) * request.options.beam
        slow = any(constraint.slow for constraint in request.constraints)
        many = request.call is not None
        return self.fair and (many or slow or request.row_steps > _HEAVY_ROWS or predicted > _HEAVY_SOURCE)

    def _lane(self, request: SearchRequest) -> Lane:
        options = request.options
        drawn = (options.temperature, options.top_p) if options.sample else None
        return drawn, id(request.call or request) if self._is_heavy(request) else None

    def _begin(self, tasks: Sequence[InfillTask]) -> None:
        """Open tasks: a row each, fed with the start and, where parts are written, the first `<c>`."""
        self._encode(list({id(task.request): task.request for task in tasks if task.request.encoded is None}.values()))
        lanes: dict[Lane, list[InfillTask]] = {}
        for task in tasks:
            lanes.setdefault(self._lane(task.request), []).append(task)
        for lane, together in lanes.items():
            begun = self.clock()
            self._fill_known([task for task in together if task.known is not None])
            if opening := [task for task in together if task.known is None]:
                opened = self._open(opening)
                self._first_feed(lane, opened)
                batch = self._lanes.get(lane)
                if batch is None or not batch.beams:
                    self._lanes[lane] = opened
                elif opened.beams:
                    with self.watch("moving rows"):
                        batch.join(opened, self.runtime)
            if lane[1] is not None:
                self._credit -= self.clock() - begun

    def _open(self, tasks: Sequence[InfillTask]) -> RowBatch:
        """A row and a beam for each task."""
        contexts = [task.hypothesis.context for task in tasks] if self.runtime.config.guided else None
        with self.watch("context encoding"):
            state = self.runtime.open([task.request.encoded for task in tasks], contexts)
        return RowBatch(state, [InfillBeam(task, self.grammar) for task in tasks])

    def _fill_known(self, tasks: Sequence[InfillTask]) -> None:
        """Fill contexts that have no choice."""
        beams = [InfillBeam(task, self.grammar) for task in tasks]
        with self.watch("choice"):
            for beam in beams:
                fill_known(beam)
        self.row_steps += len(beams)
        self._settle(beams)

    def _first_feed(self, lane: Lane, batch: RowBatch) -> None:
        """Feed a fresh batch; where `<c>` comes first, as nothing else can, it is fed with the start."""
        config = self.runtime.config
        first = [config.start, config.part] if config.guided else [config.start]
        if config.guided:  # what `<c>` costs is known after the step; what may follow it is known now
            for beam in batch.beams:
                beam.choose([Continuation(0.0, 0, config.part)])
        live = [(row, beam) for row, beam in enumerate(batch.beams) if beam.partials]
        self._settle([beam for beam in batch.beams if not beam.partials])
        batch.beams = [beam for _, beam in live]
        if live:
            parents = np.array([row for row, _ in live], np.int64)
            self._step(lane, batch, parents, np.array([first] * len(live), np.int64))

    def _feed(self, lane: Lane, batch: RowBatch) -> None:
        """Feed every partial infill its last token, and choose how each beam goes on."""
        partials = [partial for beam in batch.beams for partial in beam.partials]
        parents = np.array([partial.row for partial in partials], np.int64)
        tokens = np.array([[partial.tokens[-1]] for partial in partials], np.int64)
        self._step(lane, batch, parents, tokens)

    def _step(self, lane: Lane, batch: RowBatch, parents: IdArray, tokens: IdArray) -> None:
        beams = batch.beams
        for beam in beams:
            beam.task.request.spend(len(beam.partials) * tokens.shape[1])
        self.row_steps += tokens.size
        with self.watch("masks"):
            mask = self._mask(beams)
            drawn = lane[0]
            draw = None if drawn is None else Draw(uniforms(beams), *drawn)
        widest = max(beam.options.beam for beam in beams)
        with self.watch("decoding"):
            step = self.runtime.step(batch.state, parents, tokens, mask, 1 if drawn else widest + 1, draw)
        with self.watch("choice"):
            batch.state = step.state
            self._choose(beams, step, mask)
            batch.beams = self._settle(beams)

    def _settle(self, beams: Sequence[InfillBeam]) -> list[InfillBeam]:
        """The beams that go on; what the others found goes to their requests."""
        for beam in beams:
            request = beam.task.request
            if not beam.partials and request.complete(beam.task, beam.finished):
                self._ready.append(request)
        return [beam for beam in beams if beam.partials]

    # -- one step

    def _mask(self, beams: Sequence[InfillBeam]) -> Mask:
        """The mask of each partial infill, in the runtime's terms."""
        grammar = self.grammar
        kinds: list[int] = []
        words: list[WordSet | None] = []
        denied: list[tuple[int, int]] = []
        asked: list[tuple[int, int]] = []
        special: list[tuple[int, Any]] = []
        for beam in beams:
            for partial in beam.partials:
                row = len(kinds)
                allowed = beam.allowed(partial)
                if allowed.only is not None or (allowed.labels is not None and allowed.kinds & LABELS):
                    special.append((row, allowed))
                kinds.append(allowed.kinds if allowed.only is None else 0)
                words.append(allowed.words if kinds[row] & WORDS else NO_WORDS)
                if allowed.denied and allowed.only is None:
                    denied += [(row, token) for token in allowed.denied]
                if allowed.asked and allowed.only is None:
                    asked += [(row, token) for token in allowed.asked]
        controls = grammar.table[kinds]
        for row, allowed in special:
            if allowed.only is None:
                for token in grammar.names:
                    controls[row, grammar.columns[token]] &= token in allowed.labels
            elif allowed.only in grammar.columns:
                controls[row, grammar.columns[allowed.only]] = True
            else:
                words[row] = grammar.single(allowed.only)
        pairs = [np.array(entries, np.int64).reshape(-1, 2) for entries in (denied, asked)]
        return Mask(controls, words, *pairs)

    def _choose(self, beams: Sequence[InfillBeam], step: Step, mask: Mask) -> None:
        """Hand each beam the continuations of its partial infills."""
        tokens, scores = step.tokens.tolist(), step.scores.tolist()
        extra: dict[int, list[tuple[int, float]]] = {}
        for (row, token), score in zip(mask.asked.tolist(), step.asked.tolist(), strict=True):
            if score != IMPOSSIBLE:
                extra.setdefault(row, []).append((token, score))
        fed = step.fed.sum(axis=1).tolist() if step.fed.shape[1] else None
        first = 0
        for beam in beams:
            if fed is not None:
                beam.partials = [partial._replace(score=fed[first]) for partial in beam.partials]
            candidates = continuations(beam.partials, tokens, scores, first)
            if extra:
                heard = {(number, token) for _, number, token in candidates}
                for number, partial in enumerate(beam.partials):
                    candidates += [
                        (-(partial.score + score), number, token)
                        for token, score in extra.get(first + number, ())
                        if (number, token) not in heard
                    ]
            size = len(beam.partials)
            try:
                beam.choose(candidates, first)
            except SyntagmaError as error:  # such as a template that can be read in too many candidates
                beam.task.request.error, beam.partials = error, []
            first += size


def _no_memory() -> SyntagmaError:
    return SyntagmaError(
        "there is not enough memory to search for this text alone", remedy="shorten it, or narrow the beam"
    )
