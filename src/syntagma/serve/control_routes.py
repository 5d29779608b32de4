"""The routes of a control task: what an annotator does next, an edit that the model answers, a judgement."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

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


class StepAnswer(BaseModel):
    """The next task of an annotator: `edit` a context of a source, `judge` an edit, or nothing any more."""

    task: Literal["edit", "judge"] | None
    done: int
    total: int
    source: str | None = None
    id: str | None = Field(None, description="The item, where it is to be edited.")
    contexts: list[str] | None = Field(None, description="Those that the model went through.")
    edit: int | None = Field(None, description="The edit, where it is to be judged.")
    item: str | None = None
    before: str | None = None
    after: str | None = None
    output: str | None = Field(None, description="The model's, from the source or from the edited context.")
    own: bool | None = Field(None, description="Whether it is the annotator's own edit.")


class EditAnswer(BaseModel):
    """An edit that was stored, and what the model made of it."""

    edit: int
    output: str


class JudgeAnswer(BaseModel):
    """A judgement that was stored."""

    stored: Literal[True]


def add_control(app: FastAPI, service: Service, task: ControlTask, desk: Desk, problems: dict[int | str, Any]) -> None:
    """Add the routes; `desk` is where the calls wait that go to the disk."""

    @app.get("/v1/control/next", responses=problems | {200: {"model": StepAnswer}}, response_model=None)
    async def next_step(annotator: Annotated[str, Query(min_length=1, max_length=128)]) -> Response:
        """The annotator's next source to edit, or edit to judge."""
        return JSONResponse(await desk.do(task.next, annotator))

    @app.post("/v1/control/edit", responses=problems | {200: {"model": EditAnswer}}, response_model=None)
    async def edit(body: EditRequest, request: Request) -> Response:
        """Generate from an edited context, and store both."""
        item = task.check_edit(body.item, body.before, body.after)
        asked = GenerateRequest.model_validate({"text": item.source, "start": body.after})
        answer = await while_asking(request, service.generate(asked), service.rules.seconds)
        hypotheses = answer["results"][0]["hypotheses"]
        text = hypotheses[0]["text"] if hypotheses else ""
        number = await desk.do(task.store.add_edit, body.annotator, item, body.before, body.after, text)
        return JSONResponse({"edit": number, "output": text})

    @app.post("/v1/control/judge", responses=problems | {200: {"model": JudgeAnswer}}, response_model=None)
    async def judge(body: JudgeRequest) -> Response:
        """Store whether the model followed an edit; a later judgement replaces it."""
        return JSONResponse(await desk.do(task.judge, body.annotator, body.edit, body.followed))
