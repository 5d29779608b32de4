"""Work for a client that may leave: waiting that ends when it does, and server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

Answer = TypeVar("Answer")
KEEP_ALIVE = 5.0
"""Seconds of silence after which a stream sends a comment."""


class ClientGone(Exception):
    """Nobody waits for the answer any more."""


async def while_there(receive: Receive, work: Awaitable[Answer], seconds: float) -> Answer:
    """Await `work`; it is cancelled when the client leaves (`ClientGone`) or its time is over (`TimeoutError`)."""
    task = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(receive))
    try:
        done, _ = await asyncio.wait({task, leaving}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if task in done:
            return task.result()
        raise ClientGone if leaving in done else TimeoutError
    finally:
        for waiting in (task, leaving):
            waiting.cancel()
        # What was cancelled ends before its request does, so that its place is free.
        await asyncio.gather(task, leaving, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def while_asking(request: Request, work: Awaitable[Answer], seconds: float) -> Answer:
    """`while_there` for a request whose body was read."""
    return await while_there(request.receive, work, seconds)


class Events(Response):
    """A stream of server-sent events: pairs of a name and values; `error` ends it in one sentence."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[tuple[str, Any]], seconds: float) -> None:
        super().__init__(headers={"x-accel-buffering": "no"})
        del self.headers["content-length"]
        self.events, self.seconds = events, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events while the client is there."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            await while_there(receive, self._send(send), self.seconds)
        except ClientGone:
            return
        except TimeoutError:
            text = event("error", {"error": "The time limit of a request is over."})
            await send({"type": "http.response.body", "body": text, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _send(self, send: Send) -> None:
        async with contextlib.aclosing(_lively(self.events)) as lively:  # type: ignore[type-var]
            async for text in lively:
                await send({"type": "http.response.body", "body": text, "more_body": True})


def event(name: str, values: Any) -> bytes:
    """One server-sent event.

    >>> event("level", {"depth": 2})
    b'event: level\\ndata: {"depth": 2}\\n\\n'
    """
    return f"event: {name}\ndata: {json.dumps(values, ensure_ascii=False)}\n\n".encode()


async def _lively(events: AsyncIterator[tuple[str, Any]]) -> AsyncIterator[bytes]:
    """The events as text, with a comment wherever nothing comes for a while."""
    following: asyncio.Future[tuple[str, Any]] | None = None
    try:
        while True:
            following = following or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait({following}, timeout=KEEP_ALIVE)
            if not done:
                yield b": still there\n\n"
                continue
            finished, following = following, None
            try:
                yield event(*finished.result())
            except StopAsyncIteration:
                return
    finally:
        if following is not None:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()
