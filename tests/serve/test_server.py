"""The service as a user starts and stops it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from search_models import TEXTS
from syntagma.hub import bundled
from syntagma.serve.compare import VoteStore

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_start_ask_and_stop(server: Callable[..., Any], model_folder: Path) -> None:
    running = server("--seconds", "300")
    with httpx.Client(base_url=running.address, timeout=300) as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        models = client.get("/v1/models")
        assert [model["name"] for model in models.json()["models"]] == ["tiny"]
        assert str(model_folder.parent) not in models.text
        assert "server" not in models.headers
        with client.stream("POST", "/v1/stream", json={"text": TEXTS[0]}) as answer:
            assert "event: done" in answer.read().decode()
        assert client.get("/v1/models", headers={"host": "evil.example"}).status_code == 400
        found: list[int] = []

        def ask() -> None:
            texts = [f"{TEXTS[1]} {n}" for n in range(6)]
            answer = httpx.post(
                f"{running.address}/v1/generate",
                json={"texts": texts, "beam": 6},
                timeout=300,
            )
            found.append(answer.status_code)

        asking = threading.Thread(target=ask)
        asking.start()
        while 'syntagma_alive_sentences{model="tiny"} 0' in client.get("/metrics").text and not found:
            time.sleep(0.01)
        running.process.send_signal(signal.SIGTERM)
        asking.join()
    assert found == [200]  # what was begun is finished
    assert running.process.wait(300) == 0
    assert running.errors == []


def test_a_signal_drains_the_server_before_it_ends(server: Callable[..., Any]) -> None:
    running = server("--drain", "3")
    client, body = httpx.Client(base_url=running.address, timeout=300), {"text": TEXTS[0]}
    with client, client.stream("POST", "/v1/stream", json=body) as answer:
        running.process.send_signal(signal.SIGTERM)
        while client.get("/readyz").status_code == 200:
            time.sleep(0.01)
        refused = client.post("/v1/generate", json=body)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert client.get("/healthz").status_code == 200
        assert "event: done" in answer.read().decode()
    assert running.process.wait(300) == 0
    assert running.errors == []


def test_a_killed_server_keeps_every_vote_it_acknowledged(server: Callable[..., Any], tmp_path: Path) -> None:
    lines = [json.dumps({"source": "s", "outputs": {"a": "x", "b": "y"}, "id": f"{n}"}) for n in range(8)]
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    for round_number in range(2):
        running = server("--compare", "items.jsonl", "--votes", "v.sqlite")
        with httpx.Client(base_url=running.address, timeout=300) as client:
            for _ in range(4):
                item = client.get("/v1/compare/next", params={"voter": "ann"}).json()["item"]
                answers = dict.fromkeys(("fidelity", "novelty"), "left")
                vote = {"voter": "ann", "item": item, "answers": answers}
                assert client.post("/v1/compare/vote", json=vote).json()["stored"]
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait()
        store = VoteStore(tmp_path / "v.sqlite", create=False)
        assert len(list(store.rows())) == 8 * (round_number + 1)
        store.close()


def test_it_refuses_what_is_unsafe_or_impossible(syntagma: Run, model_folder: Path) -> None:
    serve = ("serve", "--port", "0", "--model", model_folder)
    told = syntagma(*serve, "--host", "0.0.0.0", check=1).stderr
    assert told.startswith("syntagma: 0.0.0.0 can be reached from other machines, and there is no token; ")
    assert told.count("\n") == 1
    assert "at least 8" in syntagma(*serve, "--host", "0.0.0.0", "--token", "short", check=1).stderr
    assert "there is no model" in syntagma("serve", "--port", "0", "--model", "nothing", check=1).stderr
    assert "two models are called" in syntagma(*serve, "--model", model_folder, check=1).stderr
    assert "it cannot be opened" in syntagma(*serve, "--compare", "nothing.jsonl", check=1).stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "cannot listen" in syntagma("serve", "--port", port, "--model", model_folder, check=1).stderr
    if not bundled("model"):
        told = syntagma("serve", "--port", "0", check=1).stderr
        assert told == "syntagma: this build has no bundled model to serve; give a model's folder with --model\n"


def test_a_token_opens_other_addresses(server: Callable[..., Any]) -> None:
    running = server("--host", "0.0.0.0", "--token", "sesame-open")
    address = running.address.replace("0.0.0.0", "127.0.0.1")
    assert httpx.get(f"{address}/v1/models").status_code == 401
    right = {"authorization": "Bearer sesame-open"}
    assert httpx.get(f"{address}/v1/models", headers=right).status_code == 200
    assert httpx.get(f"{address}/v1/models", headers=right | {"host": "192.0.2.1:80"}).status_code == 200
    assert httpx.get(f"{address}/v1/models", headers=right | {"host": "evil.example"}).status_code == 400


@pytest.mark.slow
def test_the_bench_has_its_rows(model_folder: Path) -> None:
    from syntagma.bench.serve import run
    from syntagma.errors import InputError

    rows = {row.what: row for row in run(model=str(model_folder), seconds=0.5, clients=4)}
    for kind in ("generate", "stream", "parse"):
        assert rows[f"{kind}: answers to 4 clients"].ours > 0
        assert rows[f"{kind}: neither answered nor refused"].ours == 0
    assert rows["generate: answers to 4 clients"].peer == "one at a time"
    assert rows["an answer beside the worst requests, p50"].ours > 0
    assert rows["the server's memory at the end"].unit == "MB"
    with pytest.raises(InputError, match="did not start"):
        list(run(model="nothing"))
