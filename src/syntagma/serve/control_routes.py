"""The routes of a control task: what an annotator does next, an edit that the model answers, a judgement."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import ConfigDict, Field

from syntagma.serve.control import ControlTask
from syntagma.serve.events import while_asking
from syntagma.serve.models import Desk
from syntagma.serve.schemas import Context, GenerateRequest, Name
from syntagma.serve.schemas import Request as Body
from syntagma.serve.service import Service


class EditRequest(Body):
    """A context of an item, edited."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"annotator": "anna", "item": "7", "before": "<NP> <VP> .", "after": "did <NP> <VP> ?"}]
        }
    )
    annotator: Name
    item: Name
    before: Context
    after: Context


class JudgeRequest(Body):
    """Whether the model followed an edit."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"annotator": "anna", "edit": 3, "followed": True}]})
    annotator: Name
    edit: Annotated[int, Field(ge=1)]
    followed: bool


def add_control(app: FastAPI, service: Service, task: ControlTask, desk: Desk, problems: dict[int | str, Any]) -> None:
    """Add the routes; `desk` is where the calls wait that go to the disk."""

    @app.get("/v1/control/next", responses=problems, response_model=None)
    async def next_step(annotator: Annotated[str, Query(min_length=1, max_length=128)]) -> Response:
        """The annotator's next source to edit, or edit to judge."""
        return JSONResponse(await desk.do(task.next, annotator))

    @app.post("/v1/control/edit", responses=problems, response_model=None)
    async def edit(body: EditRequest, request: Request) -> Response:
        """Generate from an edited context, and store both."""
        item = task.check_edit(body.item, body.before, body.after)
        asked = GenerateRequest.model_validate({"text": item.source, "start": body.after, "model": task.model})
        answer = await while_asking(request, service.generate(asked), service.rules.seconds)
        hypotheses = answer["results"][0]["hypotheses"]
        text = hypotheses[0]["text"] if hypotheses else ""
        number = await desk.do(task.store.add_edit, body.annotator, item, body.before, body.after, text)
        return JSONResponse({"edit": number, "output": text})

    @app.post("/v1/control/judge", responses=problems, response_model=None)
    async def judge(body: JudgeRequest) -> Response:
        """Store whether the model followed an edit; a later judgement replaces it."""
        return JSONResponse(await desk.do(task.judge, body.annotator, body.edit, body.followed))
