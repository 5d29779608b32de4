from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
from pydantic import BaseModel

from serve_models import client_of, tiny_service
from syntagma.serve import schemas
from syntagma.serve.compare import Item, VoteStore, VotingSession
from syntagma.serve.control import ControlItem, ControlStore, ControlTask
from syntagma.serve.control_routes import EditAnswer, JudgeAnswer, StepAnswer
from syntagma.serve.middleware import Rules
from syntagma.serve.openapi import EXAMPLES, TAGS
from syntagma.serve.service import Service

ANSWERS: dict[str, type[BaseModel]] = {
    "generate": schemas.GenerateAnswer, "grow": schemas.GrowAnswer, "parse": schemas.ParseAnswer,
    "template": schemas.TemplateAnswer, "sentences": schemas.SentencesAnswer, "next_item": schemas.CompareAnswer,
    "vote": schemas.VoteAnswer, "models": schemas.ModelsAnswer, "health": schemas.Health, "ready": schemas.Health,
    "next_step": StepAnswer, "edit": EditAnswer, "judge": JudgeAnswer,
}  # fmt: skip


def get(path: str, service: Service, **headers: str) -> httpx.Response:
    async def ask() -> httpx.Response:
        async with client_of(service) as client:
            return await client.get(path, headers=headers)

    return asyncio.run(ask())


def described(tmp_path: Path, **rules: Any) -> dict[str, Any]:
    file = tmp_path / "v.sqlite"
    session = VotingSession([Item("1", "x", {"a": ("y",), "b": ("z",)})], VoteStore(file))
    task = ControlTask([ControlItem("1", "x", ("<NP> <VP>",))], ControlStore(file))
    service = tiny_service(comparison=session, control=task, rules=Rules(**rules))
    found: dict[str, Any] = get("/openapi.json", service).json()
    return found


def test_every_operation_has_a_name_a_tag_and_an_example_that_fits_its_schema(tmp_path: Path) -> None:
    schema = described(tmp_path)
    operations = {one["operationId"]: one for path in schema["paths"].values() for one in path.values()}
    assert set(operations) == EXAMPLES.keys() | {"explain"}
    assert {tag for one in operations.values() for tag in one["tags"]} == {tag["name"] for tag in TAGS}
    for name, operation in operations.items():
        (content,) = operation["responses"]["200"]["content"].values()
        assert ("example" in content) == (name in EXAMPLES)
        if name in ANSWERS:
            ANSWERS[name].model_validate(content["example"], strict=True, extra="forbid")


def test_the_token_is_a_security_scheme_of_what_needs_it(tmp_path: Path) -> None:
    for token, security in ((None, [{}, {"bearer": []}]), ("sesame-open", [{"bearer": []}])):
        schema = described(tmp_path, token=token)
        assert schema["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
        assert schema["paths"]["/v1/generate"]["post"]["security"] == security
        assert schema["paths"]["/metrics"]["get"]["security"] == security
        assert "security" not in schema["paths"]["/healthz"]["get"]


def test_a_root_path_is_taken_off_whether_the_proxy_leaves_it_or_not(tmp_path: Path) -> None:
    rules = Rules("sesame-open", root_path="/syntagma")
    for path in ("/healthz", "/syntagma/healthz", "/syntagma/", "/syntagma/studio/api.js"):
        assert get(path, tiny_service(rules=rules)).status_code == 200, path
    for path in ("/syntagma/v1/models", "/v1/models", "/syntagma/metrics"):
        assert get(path, tiny_service(rules=rules)).status_code == 401, path
    assert get("/syntagmatic/healthz", tiny_service(rules=rules)).status_code == 404
    moved = get("/syntagma", tiny_service(rules=rules))
    assert (moved.status_code, moved.headers["location"]) == (308, "/syntagma/")
    assert described(tmp_path, root_path="/syntagma")["servers"] == [{"url": "/syntagma"}]


def test_every_metric_says_what_it_is() -> None:
    lines = get("/metrics", tiny_service()).text.splitlines()
    helped = [line.split(" ", 3)[2] for line in lines if line.startswith("# HELP ")]
    typed = [line.split(" ", 3)[2] for line in lines if line.startswith("# TYPE ")]
    assert helped == typed
    assert len(set(typed)) == len(typed) > 8
