from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import fields
from typing import Any

import httpx
import pytest

from search_models import TEXTS, random_model
from serve_models import SUBWORDS, client_of, growing_generator, tiny_service
from syntagma.parse import Parser
from syntagma.runtime.torch import TorchRuntime
from syntagma.search import Generator
from syntagma.search.options import SearchOptions
from syntagma.serve.app import make_app
from syntagma.serve.middleware import HEADERS, Rules
from syntagma.serve.models import load_bundled_parser, serve_model
from syntagma.serve.schemas import GenerateRequest
from syntagma.serve.service import Service
from syntagma.template import Template
from syntagma.tree import Tree

Client = httpx.AsyncClient
SOURCE = TEXTS[1]


def run(test: Callable[[Client], Awaitable[None]], service: Service | None = None, **headers: str) -> None:
    """Run a test with a client of a service."""

    async def whole() -> None:
        async with client_of(service or tiny_service(), **headers) as client:
            await test(client)

    asyncio.run(whole())


async def post(client: Client, path: str, expected: int = 200, **body: Any) -> dict[str, Any]:
    answer = await client.post(path, json=body)
    assert answer.status_code == expected, answer.text
    values: dict[str, Any] = answer.json()
    return values


def events(text: str) -> list[tuple[str, Any]]:
    blocks = [block.split("\n") for block in text.split("\n\n") if block and not block.startswith(":")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


def test_generate_gives_what_the_library_gives() -> None:
    async def test(client: Client) -> None:
        found = await post(client, "/v1/generate", texts=[*TEXTS, "\u200b "], beam=4, nbest=2)
        assert found["model"] == "tiny"
        generator = growing_generator()
        for text, result in zip(TEXTS, found["results"], strict=False):
            outputs = generator(text, beam=4, nbest=2)
            assert [one["text"] for one in result["hypotheses"]] == [output.text for output in outputs]
            assert [one["levels"] for one in result["hypotheses"]] == [output.levels for output in outputs]
            assert result["hypotheses"][0]["trace"][0]["context"] == "<T>"
        several = [TEXTS[1], " ".join(TEXTS[:3]), TEXTS[0]]
        split = await post(client, "/v1/generate", texts=several, split=True, nbest=2)
        for text, result in zip(several, split["results"], strict=True):
            outputs = generator(text, split=True, nbest=2)
            assert [one["text"] for one in result["hypotheses"]] == [output.text for output in outputs]
        one = await post(client, "/v1/generate", text=TEXTS[0], must_not=["apple"])
        assert len(one["results"][0]["hypotheses"]) == 1
        long = ["\U0001f600" * 400, TEXTS[0]]  # more subwords than the model has positions
        bad, good = (await post(client, "/v1/generate", texts=long))["results"]
        assert "subwords" in bad["error"]
        assert good["hypotheses"]
        assert "subwords" in (await post(client, "/v1/generate", 422, text=long[0]))["error"]
        drawn = [(await post(client, "/v1/generate", text=SOURCE, sample=True, seed=5))["results"] for _ in range(2)]
        assert drawn[0] == drawn[1]

    run(test)


def test_several_texts_have_the_beam_that_the_library_gives_them() -> None:
    async def test(client: Client) -> None:
        generator = growing_generator()
        for nbest in (1, 5):
            found = (await post(client, "/v1/generate", text=SOURCE, nbest=nbest))["results"][0]["hypotheses"]
            assert [one["text"] for one in found] == [one.text for one in generator(SOURCE, nbest=nbest)]
        await post(client, "/v1/generate", text=SOURCE, nbest=16)

    run(test)


def test_growing_level_by_level_comes_to_what_generate_gives() -> None:
    async def test(client: Client) -> None:
        whole = (await post(client, "/v1/generate", text=SOURCE, nbest=3, beam=3))["results"][0]["hypotheses"]
        body: dict[str, Any] = {}
        for _ in range(20):
            now = await post(client, "/v1/grow", text=SOURCE, **body)
            for node in now["beam"] + now["lost"]:
                assert node["parent"] is None if not body else 0 <= node["parent"] < len(body["beam_state"])
                assert " ".join(("<%s>" if t["label"] else "%s") % t["text"] for t in node["tokens"]) == node["context"]
                assert sum(part["score"] for part in node["parts"]) == pytest.approx(
                    node["infill_score"] if node["parts"] else 0, abs=1e-3
                )
                assert any(token["new"] for token in node["tokens"]) == bool(node["parts"])
            assert [node["winner"] for node in now["beam"]].index(True) == 0
            if now["finished"]:
                break
            body = {"beam_state": [{"state": node["state"]} for node in now["beam"]]}
        assert [one["text"] for one in now["outputs"]] == [one["text"] for one in whole]
        assert now["outputs"][0]["score"] == pytest.approx(whole[0]["score"], abs=1e-4)
        assert now["outputs"][0]["tree"] == whole[0]["tree"]
        streamed = await client.post("/v1/stream", json={"text": SOURCE})
        assert streamed.headers["content-type"].startswith("text/event-stream")
        *levels, (last, done) = events(streamed.text)
        assert {name for name, _ in levels} == {"level"}
        assert len(levels) > 2
        assert last == "done"
        assert [one["text"] for one in done["outputs"]] == [one["text"] for one in whole]
        for way, output in zip(done["winners"], done["outputs"], strict=True):
            contexts = [level["beam"][at]["context"] for at, (_, level) in zip(way, levels, strict=True)]
            assert contexts[: len(output["levels"]) - 1] == output["levels"][1:]
            places = [level["beam"][at]["parent"] for at, (_, level) in zip(way, levels, strict=True)]
            assert places == [None, *way[:-1]]

    run(test)


def test_what_lost_is_counted_also_where_it_is_not_listed() -> None:
    async def test(client: Client) -> None:
        few = await post(client, "/v1/grow", text=SOURCE, beam=2, levels=2)
        many = await post(client, "/v1/grow", text=SOURCE, beam=12, levels=3, prune=0.0)
        assert len(few["lost"]) < 16
        assert few["more_lost"] == 0
        assert len(many["lost"]) == 16
        assert many["more_lost"] > 0

    run(test)


def test_edits_pins_and_wishes() -> None:
    async def test(client: Client) -> None:
        first = await post(client, "/v1/grow", text=SOURCE)
        state = first["beam"][0]["state"]
        entry = {"state": state, "context": "<NP> <VP> , right ?"}
        grown = await post(
            client, "/v1/grow", text=SOURCE, beam_state=[entry], pins=[{"index": 0, "label": 1, "words": "an apple"}]
        )
        for node in grown["beam"]:
            assert node["context"].startswith("an apple ")
            assert node["context"].endswith(", right ?")
            assert node["edited"]
            assert node["parts"][0] | {"score": 0} == {"label": "NP", "became": "an apple", "score": 0}
        again = [{"state": node["state"]} for node in grown["beam"]]
        ended = await post(client, "/v1/grow", text=SOURCE, beam_state=again, levels=32)
        trace = ended["outputs"][0]["trace"]
        assert [level["edited"] for level in trace[:2]] == [False, True]
        own = await post(
            client, "/v1/grow", text=SOURCE, beam_state=[{"context": "<NP> ate ."}],
            require={"labels": ["PP"]}, forbid={"labels": ["S"], "words": ["apple"]},
        )  # fmt: skip
        assert all("<PP>" in node["context"] and "<S>" not in node["context"] for node in own["beam"])
        asked = {"text": SOURCE, "start": "<NP> ate .", "require": {"labels": ["PP"]}}
        *_, (last, values) = events((await client.post("/v1/stream", json=asked)).text)
        assert last == "done", values
        assert "(PP " in values["outputs"][0]["tree"]
        wrong = [{"index": 1, "label": 1, "words": "x"}]
        assert "not 2" in (await post(client, "/v1/grow", 422, text=SOURCE, beam_state=[entry], pins=wrong))["error"]
        deep = {"beam_state": [{"context": "<NP> " * 400}]}
        assert "does not fit" in (await post(client, "/v1/grow", 422, text=SOURCE, **deep))["error"]

    run(test)


def test_a_hard_template_holds_however_it_is_grown() -> None:
    async def test(client: Client) -> None:
        shape = {"template": "(S (NP) (VP (NP)))", "control": "hard"}
        body: dict[str, Any] = {}
        for _ in range(10):
            now = await post(client, "/v1/grow", text=SOURCE, **shape, **body)
            if now["finished"]:
                break
            body = {"beam_state": [{"state": node["state"]} for node in now["beam"]]}
        for output in now["outputs"]:
            assert Template.parse(shape["template"]).matches_tree(Tree.read(output["tree"]))
        other = {"template": "(NP)", "control": "hard"}
        assert "shape" in (await post(client, "/v1/grow", 422, text=SOURCE, **other, **body))["error"]
        wide = "(S" + " (NP)" * 80 + ")"
        assert "60" in (await post(client, "/v1/grow", 422, text=SOURCE, template=wide))["error"]

    run(test)


def test_a_text_is_cut_into_what_is_searched_at_a_time() -> None:
    async def test(client: Client) -> None:
        found = await post(client, "/v1/sentences", text="Hello! Mr. Li left.  Did he know? Bye.")
        assert found == {"sentences": ["Hello!", "Mr. Li left.", "Did he know?", "Bye."]}
        assert "error" in await post(client, "/v1/sentences", 422, text=" ")

    run(test)


def test_a_text_in_another_script_is_answered_without_a_search_on_every_path() -> None:
    service = tiny_service()
    served = service.models["tiny"]
    served.generator.language = "en"
    text = "Это моя книга."

    async def test(client: Client) -> None:
        two = (await post(client, "/v1/generate", texts=[text, SOURCE]))["results"]
        searched = served.worker.row_steps
        first, second = (one["hypotheses"][0] for one in two)
        assert first["text"] == text
        assert "reads English" in first["note"]
        assert second["note"] is None
        assert (await post(client, "/v1/grow", text=text))["outputs"] == [first]
        ((name, done),) = events((await client.post("/v1/stream", json={"text": text})).text)
        assert name == "done"
        assert done["outputs"] == [first]
        assert "reads English" in (await client.post("/v1/explain", json={"text": text})).text
        assert served.worker.row_steps == searched

    run(test, service)


def test_parse_template_and_exemplar() -> None:
    parser = load_bundled_parser()
    if parser is None:
        pytest.skip("this build has no parser")

    async def test(client: Client) -> None:
        info = (await client.get("/v1/models")).json()
        assert info["parser"] == {"name": parser.name, "version": parser.version}
        texts = [f"He made {n} mistakes." for n in range(10)]
        trees = (await post(client, "/v1/parse", texts=texts))["trees"]
        assert trees == [str(tree) for tree in Parser.from_pretrained()(texts)]
        given = (await post(client, "/v1/template", text="He made a mistake.", depth=3))["template"]
        assert given == "(S (NP *) (VP *))"
        found = await post(client, "/v1/generate", text=SOURCE, exemplar="He sleeps.", control="hard")
        shape = Template.parse((await post(client, "/v1/template", text="He sleeps."))["template"])
        assert shape.matches_tree(Tree.read(found["results"][0]["hypotheses"][0]["tree"]))
        both = await post(client, "/v1/generate", 422, text=SOURCE, exemplar="He sleeps.", template="(S)")
        assert "both" in both["error"]

    run(test, tiny_service(parser=parser))


def test_errors_are_one_sentence() -> None:
    async def test(client: Client) -> None:
        for body, word in [
            ({}, "either text or texts"), ({"text": "x", "texts": ["y"]}, "either"), ({"text": " "}, "visible"),
            ({"text": "x", "beem": 3}, "'beem'"), ({"text": "x", "beam": 17}, "16"), ({"text": "x" * 401}, "400"),
            ({"text": "x", "beam": "5"}, "'beam'"), ({"text": "x", "model": "../x"}, "no model"),
            ({"text": "x", "template": "(S"}, "never closed"), ({"text": "x", "start": "<XP>"}, "<XP>"),
            ({"texts": ["x"] * 33}, "32"), ({"text": "x", "alpha": 1}, "less than 1"),
            ({"text": "x", "temperature": 0}, "temperature"), ({"text": "x", "exemplar": "y"}, "no parser"),
        ]:  # fmt: skip
            error = (await post(client, "/v1/generate", 422, **body))["error"]
            assert word in error
            assert error.endswith((".", "?"))
            assert "\n" not in error
        for raw in (b"", b"\xff", b"[" * 100_000, b'{"text": NaN}', b'{"text": "\\ud800"}', b'{"\\ud800": 1}'):
            answer = await client.post("/v1/generate", content=raw, headers={"content-type": "application/json"})
            assert answer.status_code == 422, answer.text
            assert set(answer.json()) == {"error"}
        assert (await client.get("/v1/generate")).status_code == 405
        for path in ("/nothing", "/docs", "/v1/compare/next?voter=x", "/v1"):
            answer = await client.get(path)
            assert (answer.status_code, answer.json()) == (404, {"error": "There is nothing here."})

    run(test)


def test_states_that_were_tampered_with_are_refused() -> None:
    async def test(client: Client) -> None:
        state = (await post(client, "/v1/grow", text=SOURCE))["beam"][0]["state"]
        for bad in ("x", state[:-4], state[:9] + "AAAA" + state[13:], "eJwDAAAAAAE", "é" + state):
            error = (await post(client, "/v1/grow", 422, text=SOURCE, beam_state=[{"state": bad}]))["error"]
            assert "state" in error

    run(test)


def test_every_answer_has_the_headers_and_only_the_studio_is_served() -> None:
    async def test(client: Client) -> None:
        for path in ("/healthz", "/v1/models", "/metrics", "/nothing", "/openapi.json", "/studio/api.js"):
            answer = await client.get(path)
            assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
        assert (await client.get("/v1/models")).headers["cache-control"] == "no-store"
        for path in (
            "/studio/../app.py", "/studio/%2e%2e/app.py", "/studio/..%2f..%2ferrors.py", "/studio//etc/passwd",
            "/studio/%00.js", "/studio/", "/studio/" + "a" * 5000 + ".js", "/studio/%2e%2e/%2e%2e/py.typed",
        ):  # fmt: skip
            answer = await client.get(path)
            assert answer.status_code == 404, path
        explained = await client.post("/v1/explain", json={"text": SOURCE})
        assert explained.text.startswith("<!doctype html>")
        assert "sandbox" in explained.headers["content-security-policy"]
        told = (await client.get("/metrics")).text
        assert 'syntagma_requests_total{path="/v1/models",status="200"}' in told
        assert 'syntagma_finished_sentences_total{model="tiny"} 1' in told

    run(test)


def test_hosts_origins_and_the_token() -> None:
    async def test(client: Client) -> None:
        for headers, expected in [
            ({}, 401), ({"authorization": "Bearer wrong"}, 401), ({"authorization": "Bearer sesame-open"}, 200),
            ({"authorization": "Basic sesame-open"}, 401), ({"host": "evil.example"}, 400),
            ({"host": "localhost@evil.example"}, 400), ({"host": ""}, 400), ({"origin": "http://evil.example"}, 400),
            ({"origin": "null"}, 400), ({"host": "[::1]:80"}, 401), ({"host": "good.example"}, 401),
            ({"origin": "http://localhost", "authorization": "bearer sesame-open"}, 200),
            ({"origin": "http://localhost:9", "authorization": "bearer sesame-open"}, 400),
        ]:  # fmt: skip
            answer = await client.get("/v1/models", headers=headers)
            assert answer.status_code == expected, headers
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.get("/metrics")).status_code == 401

    run(test, tiny_service(rules=Rules("sesame-open", hosts=frozenset({"good.example"}))))


def test_bodies_have_a_limit_while_they_are_read() -> None:
    async def endless() -> Any:
        while True:
            yield b"x" * 1000

    async def test(client: Client) -> None:
        for content in (b"x" * 3001, endless()):
            answer = await client.post("/v1/generate", content=content)
            assert answer.status_code == 413
            assert "3000 bytes" in answer.json()["error"]

    run(test, tiny_service(rules=Rules(body=3000)))


def test_the_time_limit_and_the_full_queue() -> None:
    service = tiny_service(batch=1, queue=1, rules=Rules(seconds=0.5))
    worker = service.models["tiny"].worker

    async def test(client: Client) -> None:
        worker._scheduler.step = lambda: []  # type: ignore[method-assign]  # a search that never ends
        slow = [asyncio.create_task(client.post("/v1/generate", json={"text": SOURCE})) for _ in range(4)]
        slow.append(asyncio.create_task(client.post("/v1/stream", json={"text": SOURCE})))
        answers = await asyncio.gather(*slow)
        found = sorted(answer.status_code for answer in answers)
        assert set(found) <= {200, 503, 504}
        assert 504 in found
        assert 503 in found
        for answer in answers:
            assert "error" in answer.text
            assert (answer.headers.get("retry-after") == "1") == (answer.status_code == 503)
        assert worker.waiting == 0

    run(test, service)


def test_a_client_that_leaves_frees_its_work() -> None:
    service = tiny_service(batch=1)
    worker = service.models["tiny"].worker

    async def leave(path: str) -> None:
        app = make_app(service)
        turn = worker._scheduler.step
        worker._scheduler.step = lambda: []  # type: ignore[method-assign]
        gone = asyncio.Event()
        told = False

        async def receive() -> dict[str, Any]:
            nonlocal told
            if not told:
                told = True
                return {"type": "http.request", "body": json.dumps({"text": SOURCE}).encode()}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(_: Any) -> None:
            pass

        scope = {
            "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
            "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")], "scheme": "http",
            "http_version": "1.1", "server": ("localhost", 80), "client": ("127.0.0.1", 1), "root_path": "",
        }  # fmt: skip
        task = asyncio.create_task(app(scope, receive, send))  # type: ignore[arg-type]
        async with asyncio.timeout(30):
            while not worker.alive:
                await asyncio.sleep(0.005)
            gone.set()
            await task
            while worker.alive:
                await asyncio.sleep(0.005)
        worker._scheduler.step = turn  # type: ignore[method-assign]

    async def test(client: Client) -> None:
        await leave("/v1/generate")
        await leave("/v1/stream")
        assert worker.withdrawn == 2
        assert (await post(client, "/v1/generate", text=SOURCE))["results"]

    run(test, service)


def test_a_service_that_drains_finishes_what_runs_and_refuses_the_rest() -> None:
    async def test(client: Client) -> None:
        running = asyncio.create_task(client.post("/v1/generate", json={"text": SOURCE}))
        while not service.admission.open:
            await asyncio.sleep(0)
        service.drain()
        for path, body in (
            ("/v1/generate", {"text": SOURCE}),
            ("/v1/grow", {"text": SOURCE}),
            ("/v1/stream", {"text": SOURCE}),
            ("/v1/explain", {"text": SOURCE}),
            ("/v1/parse", {"text": SOURCE}),
            ("/v1/template", {"text": SOURCE}),
        ):
            refused = await client.post(path, json=body)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1"), path
            assert refused.json()["error"].startswith("The service is stopping")
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.headers["retry-after"]) == (503, "1")
        assert (await client.get("/healthz")).status_code == 200
        assert (await running).json()["results"][0]["hypotheses"]

    service = tiny_service()
    run(test, service)


def test_head_gzip_kinds_and_request_ids() -> None:
    async def test(client: Client) -> None:
        for path in ("/", "/v1/models", "/studio/api.js", "/healthz"):
            head, whole = await client.head(path), await client.get(path)
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-type"] == whole.headers["content-type"]
        plain = await client.post("/v1/stream", json={"text": SOURCE}, headers={"accept-encoding": "identity"})
        packed = await client.post("/v1/stream", json={"text": SOURCE}, headers={"accept-encoding": "gzip"})
        assert "content-encoding" not in plain.headers
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.text == plain.text
        assert "content-encoding" not in (await client.get("/healthz", headers={"accept-encoding": "gzip"})).headers
        form = await client.post("/v1/generate", data={"text": SOURCE})
        assert (form.status_code, list(form.json())) == (415, ["error"])
        given = await client.get("/healthz", headers={"x-request-id": "proxy-7"})
        assert given.headers["x-request-id"] == "proxy-7"
        made = await client.get("/healthz", headers={"x-request-id": "a b"})
        assert len(made.headers["x-request-id"]) == 16

    run(test)


def test_clients_have_the_options_of_a_search_but_for_those_that_bound_its_work() -> None:
    ours = {"max_tokens", "max_row_steps", "bounds"}
    assert {item.name for item in fields(SearchOptions)} - ours <= GenerateRequest.model_fields.keys()
    assert ours.isdisjoint(GenerateRequest.model_fields)
    asked = GenerateRequest(text="x", beam=3, keep_literals=True, diversity=0.5, template="(S *)")
    assert asked.search() == {"beam": 3, "keep_literals": True, "diversity_penalty": 0.5}


def test_more_work_than_one_request_may_ask_for_is_refused_at_once() -> None:
    async def test(client: Client) -> None:
        refused = await post(client, "/v1/generate", 422, texts=["x " * 200] * 32, beam=16)
        assert refused["error"].endswith("send fewer texts or a narrower beam.")

    run(test)


def test_a_service_is_ready_while_it_has_room() -> None:
    service = tiny_service()

    async def test(client: Client) -> None:
        assert (await client.get("/readyz")).json() == {"status": "ready"}
        tickets = []
        while service.admission.has_room():
            tickets.append(service.admission.enter("search tiny", 200.0))
        assert (await client.get("/readyz")).status_code == 503
        refused = await client.post("/v1/stream", json={"text": SOURCE, "beam": 16})
        assert (refused.status_code, int(refused.headers["retry-after"]) >= 1) == (503, True)
        assert "ask again in" in refused.json()["error"]
        assert (await client.get("/healthz")).status_code == 200
        for ticket in tickets:
            ticket.leave(finished=False)
        assert (await client.get("/readyz")).status_code == 200

    run(test, service)


def test_what_the_model_returns_unchanged_stays_unchanged_in_a_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "syntagma.search.rerank._faithfulness", lambda ids, request, _: 0.0 if ids == request.source_as_target else -9.0
    )
    options = {"beam": 3, "max_depth": 5, "max_tokens": 12, "rerank": "seq2seq", "copy_margin": 1.0}
    runtime = TorchRuntime(random_model(SUBWORDS, 3, seq2seq_objective=True))
    generator = Generator(runtime, SUBWORDS, SearchOptions.from_dict(options))

    async def test(client: Client) -> None:
        answer = await post(client, "/v1/generate", text=SOURCE)
        (expected,) = answer["results"][0]["hypotheses"]
        assert (expected["text"], expected["note"][:20]) == (SOURCE, "returned unchanged: ")
        *levels, (name, done) = events((await client.post("/v1/stream", json={"text": SOURCE})).text)
        assert (name, done["outputs"], done["winners"]) == ("done", [expected], [])
        assert [entry["place"] for entry in done["left_out"]] == list(range(len(levels[-1][1]["beam"])))
        grown = await post(client, "/v1/grow", text=SOURCE, levels=32)
        assert grown["outputs"] == [expected]
        assert not any(node["winner"] for node in grown["beam"])
        page = (await client.post("/v1/explain", json={"text": SOURCE})).text
        assert "Note: returned unchanged: " in page
        steered = await post(client, "/v1/grow", text=SOURCE, levels=32, forbid={"words": ["xyz"]})
        assert [output["note"] for output in steered["outputs"]] != [expected["note"]]

    run(test, Service({"tiny": serve_model("tiny", generator)}))
