"""How answers leave: compressed where the client takes that, and without a body where it asked for none."""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

KINDS = (b"text/", b"application/json", b"image/svg+xml")
SMALLEST = 1000
"""Bytes below which an answer of known length is sent as it is."""


class Sending:
    """Sends one answer; event streams are compressed event by event, so that none waits for the next."""

    def __init__(self, send: Send, *, compress: bool, head: bool) -> None:
        self._send, self._compress, self._head = send, compress, head
        self._packer: Any = None

    async def __call__(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            message["headers"] = self._started(message["headers"])
        elif message["type"] == "http.response.body":
            body, more = message.get("body", b""), message.get("more_body", False)
            if self._packer is not None:
                body = self._packer.compress(body) + self._packer.flush(zlib.Z_SYNC_FLUSH if more else zlib.Z_FINISH)
            message["body"] = b"" if self._head else body
        await self._send(message)

    def _started(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        given = {name.lower(): value for name, value in headers}
        length = given.get(b"content-length")
        fitting = given.get(b"content-type", b"").startswith(KINDS) and b"content-encoding" not in given
        if not fitting:
            return headers
        headers = [*headers, (b"vary", b"accept-encoding")]
        if not self._compress or self._head or (length is not None and int(length) < SMALLEST):
            return headers
        self._packer = zlib.compressobj(6, zlib.DEFLATED, 31)
        return [pair for pair in headers if pair[0].lower() != b"content-length"] + [(b"content-encoding", b"gzip")]


def takes_gzip(accepted: str) -> bool:
    """Whether an Accept-Encoding header allows gzip.

    >>> takes_gzip("br, gzip;q=0.8"), takes_gzip("gzip;q=0"), takes_gzip("identity")
    (True, False, False)
    """
    for coding in accepted.lower().split(","):
        name, _, weight = coding.strip().partition(";")
        if name.strip() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
