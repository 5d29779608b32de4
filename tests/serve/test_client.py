from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from search_models import TEXTS
from syntagma.client import Client, ServiceError


def test_the_client_generates_streams_and_tells_what_was_refused(server: Callable[..., Any]) -> None:
    address = server("--token", "sesame-open").address
    client = Client(address, token="sesame-open")
    assert client.models()[0]["name"] == "tiny"
    best, *_ = client.generate(TEXTS[0], nbest=2)
    events = list(client.stream(TEXTS[0], nbest=2))
    assert [name for name, _ in events[-2:]] == ["level", "done"]
    assert events[-1][1]["outputs"][0]["text"] == best.text
    assert best.levels[0] == "<T>"
    with pytest.raises(ServiceError, match="beem") as refused:
        client.generate(TEXTS[0], beem=3)
    assert refused.value.status == 422
    with pytest.raises(ServiceError, match="token"):
        Client(address).models()
    with pytest.raises(ServiceError, match="does not answer"):
        Client("http://127.0.0.1:9").models()


def test_a_busy_service_is_asked_again() -> None:
    asked: list[str] = []

    class Busy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            body = b'{"models": []}' if len(asked) == 2 else b'{"error": "Too many."}'
            self.send_response(200 if len(asked) == 2 else 503)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Busy) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        client = Client(f"http://127.0.0.1:{service.server_port}", tries=2)
        assert client.models() == []
        with pytest.raises(ServiceError, match="Too many") as refused:
            client.models()
        assert (refused.value.status, len(asked)) == (503, 4)
        service.shutdown()
