"""Connections that send half a request, or none, on a real socket."""

from __future__ import annotations

import asyncio
import json

import uvicorn
from uvicorn.server import ServerState

from syntagma.serve.protocol import PromptProtocol


async def echo(scope: dict[str, object], receive: object, send: object) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})  # type: ignore[operator]
    await send({"type": "http.response.body", "body": b"ok"})  # type: ignore[operator]


class Prompt(PromptProtocol):
    header_seconds = 0.3


async def talk(*parts: bytes, pause: float = 0.0) -> bytes:
    """What a connection that sends these parts gets before it is closed."""
    config = uvicorn.Config(echo, http=Prompt, timeout_keep_alive=1, log_level="critical")  # type: ignore[arg-type]
    config.load()
    server = await asyncio.get_running_loop().create_server(lambda: Prompt(config, ServerState(), {}), "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for part in parts:
            writer.write(part)
            await asyncio.sleep(pause)
        found = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        return found


HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"


def test_headers_that_do_not_come_close_the_connection() -> None:
    for parts in ((), (HEAD,), (b"G",), (HEAD + b"\r\n", HEAD)):  # the last: half a second request
        answer = asyncio.run(talk(*parts, pause=0.05))
        head, _, body = answer.rpartition(b"\r\n\r\n")
        assert b"HTTP/1.1 408 " in head, parts
        assert json.loads(body) == {"error": "The request did not arrive in time."}


def test_who_asks_in_time_is_answered_and_may_ask_again_later() -> None:
    slowly = asyncio.run(talk(HEAD[:10], HEAD[10:], b"\r\n", pause=0.08))
    assert slowly.startswith(b"HTTP/1.1 200 ")
    assert b"408" not in slowly  # an idle connection is closed without a word
    twice = asyncio.run(talk(HEAD + b"\r\n", HEAD + b"\r\n", pause=0.5))
    assert twice.count(b"HTTP/1.1 200 ") == 2


def test_what_is_no_http_is_refused_in_json() -> None:
    answer = asyncio.run(talk(b"\x16\x03\x01 hello\r\n\r\n"))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert json.loads(answer.rpartition(b"\r\n\r\n")[2]) == {"error": "This is no HTTP request."}
