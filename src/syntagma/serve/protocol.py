"""HTTP connections that may not dawdle: a request's headers arrive in time, or its connection is closed."""

from __future__ import annotations

import asyncio
import json

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0


class PromptProtocol(H11Protocol):
    """uvicorn's protocol with a time limit for headers, and with its own errors as JSON."""

    header_seconds = HEADER_SECONDS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, not for ever."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take in data; where it is no whole request yet, the rest is awaited."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._unwatch()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Say that this is no HTTP."""
        self._say("400 Bad Request", "This is no HTTP request.")

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._unwatch()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.header_seconds, self._late)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if self.conn.their_state is h11.IDLE:
            self._say("408 Request Timeout", "The request did not arrive in time.")

    def _say(self, status: str, sentence: str) -> None:
        """Answer past the application, and close."""
        if not self.transport.is_closing():
            body = json.dumps({"error": sentence})
            head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n"
            self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
            self.transport.close()
