"""One thread for each model: it steps the scheduler, in which the searches of all clients are together.

A client puts its search requests into a bounded queue and waits; whoever stops waiting (the client has gone, its time
is over) takes them out again, be they in the queue or running.  A request that breaks the scheduler is found by running
each one alone, so that it fails nobody else.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from syntagma.errors import SyntagmaError
from syntagma.search import Generator
from syntagma.search.request import SearchRequest

log = logging.getLogger("syntagma.serve")

MANY = 4
"""Requests of a call, such as the sentences of a text, beyond which they take turns with others' as one."""


class Busy(SyntagmaError):
    """There is no room, or the service is stopping: ask again after so many seconds."""

    def __init__(self, what: str, *, remedy: str, retry_after: int = 1) -> None:
        super().__init__(what, remedy=remedy)
        self.retry_after = retry_after


class SearchFailed(Exception):
    """A search that broke for a reason that is not the client's; the log has it."""


@dataclass(eq=False)
class QueuedRequest:
    """One request and who waits for it; `group` is the same for all requests of one call."""

    request: SearchRequest
    loop: asyncio.AbstractEventLoop
    group: object
    future: asyncio.Future[SearchRequest] = field(init=False)

    def __post_init__(self) -> None:
        self.future = self.loop.create_future()

    def settle(self, error: Exception | None = None) -> None:
        """From the worker's thread: hand the request or an error to whoever waits."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self.loop.call_soon_threadsafe(self._settle, error)

    def _settle(self, error: Exception | None) -> None:
        if self.future.done():
            return
        if error is None:
            self.future.set_result(self.request)
        else:
            self.future.set_exception(error)


class Worker:
    """Searches for everyone with one model."""

    def __init__(self, generator: Generator, *, batch: int = 32, queue: int = 128) -> None:
        self.generator = generator
        self.batch, self.queue = batch, queue
        self.finished = self.withdrawn = self.turns = 0
        self._scheduler = generator.scheduler(batch, fair=True)
        self._row_steps = 0
        self._changed = threading.Condition()
        # Shared with the thread, under the lock:
        self._waiting: deque[QueuedRequest] = deque()
        self._leaving: list[QueuedRequest] = []
        self._stopping = False
        # The thread's own:
        self._inside: dict[int, QueuedRequest] = {}
        self._suspects: deque[QueuedRequest] = deque()
        self._thread = threading.Thread(target=self._run, name="search", daemon=True)

    # -- for the service

    @property
    def waiting(self) -> int:
        """How many requests wait for a place."""
        return len(self._waiting)

    @property
    def alive(self) -> int:
        """How many requests are being searched."""
        return len(self._inside) + len(self._suspects)

    @property
    def row_steps(self) -> int:
        """Rows decoded so far."""
        return self._row_steps + self._scheduler.row_steps

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self) -> None:
        """Take nothing more, finish what is there, and end."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    async def search(self, requests: Sequence[SearchRequest]) -> list[SearchRequest | Exception]:
        """Search for all; each comes back, or what went wrong with it.  `Busy` where there is no room in the queue.

        A caller that is cancelled takes its requests along.
        """
        return await self.wait(self.put(requests))

    async def wait(self, works: Sequence[QueuedRequest]) -> list[SearchRequest | Exception]:
        """Wait for queued requests; whoever stops waiting takes them out again."""
        try:
            results = await asyncio.gather(*(work.future for work in works), return_exceptions=True)
        finally:
            self._withdraw(works)
        return [result if isinstance(result, SearchRequest | Exception) else SearchFailed() for result in results]

    def put(self, requests: Sequence[SearchRequest]) -> list[QueuedRequest]:
        """Queue requests; `Busy` where there is no room."""
        loop = asyncio.get_running_loop()
        group = object()
        if len(requests) > MANY:
            for request in requests:
                request.call = group
        works = [QueuedRequest(request, loop, group) for request in requests]
        with self._changed:
            if self._stopping:
                raise Busy("the service is stopping", remedy="ask again in a moment")
            # A client's many requests get in whole wherever there is room for one, so that it cannot starve.
            if len(self._waiting) >= self.queue:
                raise Busy("too many requests are waiting", remedy="ask again in a moment")
            self._waiting.extend(works)
            self._changed.notify()
        return works

    def _withdraw(self, works: Sequence[QueuedRequest]) -> None:
        gone = [work for work in works if not work.future.done() or work.future.cancelled()]
        if not gone:
            return
        self.withdrawn += len(gone)
        with self._changed:
            queued = set(gone) & set(self._waiting)
            self._waiting = deque(work for work in self._waiting if work not in queued)
            self._leaving += [work for work in gone if work not in queued]
            self._changed.notify()

    # -- the thread

    def _run(self) -> None:
        while self._take():
            try:
                done = self._scheduler.step()
            except Exception as error:
                self._recover(error)
                continue
            self.turns += 1
            for request in done:
                self.finished += 1
                if work := self._inside.pop(id(request), None):
                    work.settle()

    def _take(self) -> bool:
        """Let requests out and in, waiting while there is nothing to do; False at the end."""
        with self._changed:
            while not (self._waiting or self._leaving or self._inside or self._suspects):
                if self._stopping:
                    return False
                self._changed.wait()
            leaving, self._leaving = self._leaving, []
            entering: list[QueuedRequest] = []
            if not self._suspects:
                entering = self._next()
        for work in leaving:
            self._inside.pop(id(work.request), None)
            self._scheduler.abort(work.request)
            if work in self._suspects:
                self._suspects.remove(work)
        if self._suspects and not self._inside:
            entering = [self._suspects.popleft()]
        self._inside.update((id(work.request), work) for work in entering)
        try:
            self._scheduler.add(work.request for work in entering)
        except Exception as error:
            self._recover(error)
        return True

    def _next(self) -> list[QueuedRequest]:
        """Who enters now: first come, first served, but one call never has more than half of the places."""
        room = self.batch - len(self._inside)
        most = max(1, self.batch // 2)
        inside = Counter(work.group for work in self._inside.values())
        entering: list[QueuedRequest] = []
        staying: deque[QueuedRequest] = deque()
        for work in self._waiting:
            if len(entering) < room and inside[work.group] < most:
                inside[work.group] += 1
                entering.append(work)
            else:
                staying.append(work)
        self._waiting = staying
        return entering

    def _recover(self, error: Exception) -> None:
        """A request broke the scheduler: all of them go on from their last depth, each alone, until it is found."""
        suspects = list(self._inside.values())
        self._inside.clear()
        self._row_steps += self._scheduler.row_steps
        self._scheduler = self.generator.scheduler(self.batch, fair=True)
        if len(suspects) == 1:
            if not isinstance(error, SyntagmaError):
                log.error("a search failed", exc_info=error)
                error = SearchFailed()
            suspects[0].settle(error)
            return
        for work in suspects:
            work.request.restart_depth()
        self._suspects.extend(suspects)
