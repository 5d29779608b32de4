"""The middleware before the service: hosts, origins, the token, the size of a body, and the headers of every answer.

It is plain ASGI around the application.  The body is read here, up to its limit, before anything else sees the request.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import ipaddress
import json
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from syntagma.search.explain import BEAM_STYLE, PAGE_STYLE
from syntagma.serve.counters import Counters
from syntagma.serve.sending import Sending, takes_gzip
from syntagma.tree.draw import TREE_STYLE

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

log = logging.getLogger("syntagma.serve")

_EXPLANATION = " ".join(
    f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"
    for style in (PAGE_STYLE, BEAM_STYLE, TREE_STYLE)
)
"""The styles of an explanation, which the studio opens as a page of its own."""
POLICY = (
    f"default-src 'self'; img-src 'self' data: blob:; style-src 'self' {_EXPLANATION}; "
    "script-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass(frozen=True)
class Rules:
    """Who may ask, and how much."""

    token: str | None = None
    loopback: bool = True
    """Whether the service is bound to a loopback address."""
    hosts: frozenset[str] = frozenset()
    """Further names by which it is known."""
    body: int = 512 * 1024
    seconds: float = 30.0
    """The time limit of a request."""
    patience: float = 0.75
    """How long a request may wait for others; who would wait longer is refused at once."""
    root_path: str = ""
    """What stands before every path where a proxy serves this beside other things, such as /syntagma."""


def needs_token(path: str) -> bool:
    """Whether a path is for those with the token, where there is one.

    >>> [needs_token(path) for path in ("/v1/generate", "/metrics", "/healthz", "/studio/api.js")]
    [True, True, False, False]
    """
    return path.startswith("/v1/") or path == "/metrics"


def is_loopback(host: str) -> bool:
    """Whether an address or name means this machine only.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    if host.lower() == "localhost":
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def may_be_called(netloc: str, rules: Rules) -> bool:
    """Whether a Host header names this service.

    A name that merely resolves to this machine does not (that is how a page elsewhere would reach it); an address does
    where the service listens to more than loopback.

    >>> may_be_called("localhost:8000", Rules()), may_be_called("evil.example:8000", Rules())
    (True, False)
    """
    try:
        host = urlsplit(f"//{netloc}").hostname
    except ValueError:
        return False
    if not host or "@" in netloc or "/" in netloc:
        return False
    if is_loopback(host) or host in rules.hosts:
        return True
    return not rules.loopback and _address(host) is not None


class Refusal(Exception):
    """A request that is not let in."""

    def __init__(self, status: int, sentence: str, **headers: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers


class Guard:
    """The application behind its rules."""

    def __init__(self, app: App, rules: Rules, counters: Counters, paths: Collection[str]) -> None:
        self.app, self.rules, self.counters = app, rules, counters
        self.paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = time.monotonic()
        status = 0
        scope = {**scope, "path": self._below_root(scope["path"])}
        method, asked = scope["method"], dict(scope["headers"])
        request_id = _request_id(asked.get(b"x-request-id", b"").decode("latin-1"))
        if method == "HEAD":
            scope = {**scope, "method": "GET"}
        compress = takes_gzip(asked.get(b"accept-encoding", b"").decode("latin-1"))
        sending = Sending(send, compress=compress, head=method == "HEAD")

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = self._headers(scope["path"], message.get("headers", []))
                message["headers"] = [*headers, (b"x-request-id", request_id.encode())]
            await sending(message)

        self.counters.open += 1
        try:
            self._check(scope)
            if not scope["path"]:  # relative addresses need the slash
                raise Refusal(308, "It is one slash further.", location=f"{self.rules.root_path}/")
            body = await self._body(scope, receive)
            _check_kind(scope, body)
            await self.app(scope, _again(body, receive), answer)
        except Refusal as refusal:
            await refuse(answer, refusal)
        except Exception as error:
            log.error("request %s failed", request_id, exc_info=error)
            if not status:
                await refuse(answer, Refusal(500, "The service failed at this request."))
        finally:
            self.counters.open -= 1
            seconds = time.monotonic() - begun
            self.counters.count(self._path(scope["path"]), status or 499, seconds)
            # The path as a label only: what a client sends is nobody's business.
            log.info("%s %s %s %d %.3f s", request_id, method, self._path(scope["path"]), status or 499, seconds)

    def _check(self, scope: Scope) -> None:
        headers = _once(scope)
        host = headers.get(b"host", b"").decode("latin-1")
        if not may_be_called(host, self.rules):
            raise Refusal(400, "The Host header does not name this service.")
        if b"origin" in headers:
            origin = headers[b"origin"].decode("latin-1")
            scheme, _, netloc = origin.partition("://")
            if scheme not in ("http", "https") or netloc.lower() != host.lower():
                raise Refusal(400, "The request comes from a page of another origin.")
        if self.rules.token is not None and needs_token(scope["path"]):
            kind, _, given = headers.get(b"authorization", b"").partition(b" ")
            right = hmac.compare_digest(given.strip(), self.rules.token.encode())
            if kind.lower() != b"bearer" or not right:
                raise Refusal(401, "A token is needed: Authorization: Bearer TOKEN.", **{"www-authenticate": "Bearer"})

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body; refused as soon as it is too large, or when it does not arrive in time."""
        too_large = Refusal(413, f"The body is larger than {self.rules.body} bytes.", connection="close")
        length = _once(scope).get(b"content-length", b"0")
        if length.isdigit() and int(length) > self.rules.body:
            raise too_large
        parts: list[bytes] = []
        size, more = 0, True
        try:
            async with asyncio.timeout(self.rules.seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refusal(400, "The body ended early.")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    more = message.get("more_body", False)
                    if size > self.rules.body:
                        raise too_large
        except TimeoutError:
            raise Refusal(504, "The body did not arrive in time.", connection="close") from None
        return b"".join(parts)

    def _headers(self, path: str, own: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        cache = "no-store" if path.startswith(("/v1/", "/metrics", "/healthz", "/readyz")) else "no-cache"
        fixed = HEADERS | {"cache-control": cache}
        given = {name.lower() for name, _ in own}
        return [*own, *((n.encode(), v.encode()) for n, v in fixed.items() if n.encode() not in given)]

    def _below_root(self, path: str) -> str:
        """The path without what a proxy has put before it, if it has left it there."""
        root = self.rules.root_path
        return path[len(root) :] if root and (path == root or path.startswith(f"{root}/")) else path

    def _path(self, path: str) -> str:
        """The path as a label: those that clients make up are one."""
        return path if path in self.paths else "studio" if path.startswith("/studio/") else "other"


def _request_id(given: str) -> str:
    """The id that a proxy gave the request, or a new one."""
    return given if re.fullmatch(r"[A-Za-z0-9._-]{1,64}", given) else secrets.token_hex(8)


def _check_kind(scope: Scope, body: bytes) -> None:
    """A body is JSON, or is refused."""
    kind = dict(scope["headers"]).get(b"content-type", b"").partition(b";")[0].strip().lower()
    if body and kind and kind != b"application/json":
        raise Refusal(415, "The body is not JSON: send it with Content-Type: application/json.")


def _once(scope: Scope) -> dict[bytes, bytes]:
    """The headers that matter here; one that comes twice is refused."""
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in (b"host", b"origin", b"authorization", b"content-length"):
            if name in headers:
                raise Refusal(400, f"The header {name.decode()} comes twice.")
            headers[name] = value
    return headers


def _again(body: bytes, receive: Receive) -> Receive:
    """The body that was read, once more; then what the client does next, which is to leave."""
    told = False

    async def replay() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def refuse(send: Send, refusal: Refusal) -> None:
    """Answer with a refusal."""
    body = json.dumps({"error": refusal.sentence}, ensure_ascii=False).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **refusal.headers}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
