"""The token opens the service; nothing that is merely like it does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from syntagma.serve.counters import Counters
from syntagma.serve.middleware import Guard, Refusal, Rules, is_loopback, may_be_called

TOKEN = "sesame-open"


async def nothing(*_: Any) -> None:
    raise AssertionError("the application was asked")


def status(authorization: bytes | None, path: str = "/v1/models", token: str | None = TOKEN) -> int:
    headers = [(b"host", b"localhost")]
    if authorization is not None:
        headers.append((b"authorization", authorization))
    guard = Guard(nothing, Rules(token), Counters(), ())
    try:
        guard._check({"path": path, "headers": headers})
    except Refusal as refusal:
        return refusal.status
    return 200


def test_the_token_opens() -> None:
    assert status(f"Bearer {TOKEN}".encode()) == 200
    assert status(f"bearer  {TOKEN} ".encode()) == 200


@pytest.mark.parametrize("length", range(len(TOKEN)))
def test_no_part_of_the_token_opens(length: int) -> None:
    assert status(f"Bearer {TOKEN[:length]}".encode()) == 401
    assert status(f"Bearer {TOKEN[len(TOKEN) - length :]}".encode()) == 401


@pytest.mark.parametrize(
    "authorization",
    [
        None, b"", b"Bearer", b"Bearer ", TOKEN.encode(), f"Basic {TOKEN}".encode(), f"Bearer {TOKEN}x".encode(),
        f"Bearer x{TOKEN}".encode(), f"Bearer {TOKEN.upper()}".encode(), f"Bearer {TOKEN} {TOKEN}".encode(),
        f"Bearer{TOKEN}".encode(), b"Bearer \xff", f"Bearer {TOKEN[:-1]}m".encode(),
    ],
)  # fmt: skip
def test_nothing_else_opens(authorization: bytes | None) -> None:
    assert status(authorization) == 401


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/v1/generate", 401), ("/v1/", 401), ("/metrics", 401), ("/healthz", 200), ("/", 200), ("/studio/app.js", 200),
    ],
)  # fmt: skip
def test_what_is_locked(path: str, expected: int) -> None:
    assert status(None, path) == expected
    assert status(None, path, token=None) == 200


@pytest.mark.parametrize("name", [b"host", b"authorization", b"origin", b"content-length"])
def test_a_header_that_comes_twice_is_refused(name: bytes) -> None:
    guard = Guard(nothing, Rules(TOKEN), Counters(), ())
    with pytest.raises(Refusal) as caught:
        guard._check({"path": "/", "headers": [(b"host", b"localhost"), (name, b"0"), (name, b"0")]})
    assert caught.value.status == 400


def test_the_body_is_handed_on_whole_and_once() -> None:
    parts = [{"type": "http.request", "body": b"ab", "more_body": True}, {"type": "http.request", "body": b"c"}]
    leaves = {"type": "http.disconnect"}
    heard: list[Any] = []

    async def receive() -> Any:
        return parts.pop(0) if parts else leaves

    async def app(scope: Any, ask: Any, send: Any) -> None:
        heard.extend([await ask(), await ask()])

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"host", b"localhost")]}
    asyncio.run(Guard(app, Rules(body=3), Counters(), ())(scope, receive, nothing))
    assert heard == [{"type": "http.request", "body": b"abc", "more_body": False}, leaves]


def test_an_application_that_fails_is_answered_for() -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")]}
    asyncio.run(Guard(nothing, Rules(), Counters(), ())(scope, receive, send))
    assert [message.get("status") for message in sent] == [500, None]
    assert b"failed" in sent[1]["body"]


def test_hosts() -> None:
    far = Rules(loopback=False, hosts=frozenset({"good.example"}))
    near = Rules(hosts=frozenset({"good.example"}))
    assert may_be_called("good.example:80", near)
    assert may_be_called("192.0.2.1", far)
    assert not may_be_called("192.0.2.1", near)
    for rules in (far, near):
        assert not may_be_called("evil.example", rules)
        assert not may_be_called("x@localhost", rules)
        assert not may_be_called("localhost/x", rules)
        assert not may_be_called("[", rules)
        assert not may_be_called("", rules)
    assert not is_loopback("localhost.evil.example")
