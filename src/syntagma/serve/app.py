"""The service over HTTP: routes, the studio's files, and errors as one sentence each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException

from syntagma import __version__
from syntagma.errors import SyntagmaError
from syntagma.serve import schemas
from syntagma.serve.control_routes import add_control
from syntagma.serve.events import ClientGone, Events, while_asking
from syntagma.serve.middleware import Guard
from syntagma.serve.openapi import TAGS, describe, operation_name
from syntagma.serve.problems import as_sentence, complaint, sentence_of
from syntagma.serve.service import Service
from syntagma.serve.worker import Busy, SearchFailed

STUDIO = Path(__file__).parent / "studio"
KINDS = {
    ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml",
    ".png": "image/png", ".ico": "image/x-icon", ".woff2": "font/woff2", ".json": "application/json",
    ".txt": "text/plain", ".html": "text/html",
}  # fmt: skip
EXPLAIN_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; sandbox"


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The refusals of a route, for OpenAPI."""
    told = {
        400: "The Host or Origin header is not this service's.", 401: "The token is missing or wrong.",
        413: "The body is too large.", 415: "The body is not JSON.", 422: "A value is wrong or beyond a limit.",
        503: "Too many requests are waiting; see Retry-After.", 504: "The time limit of the request is over.",
    }  # fmt: skip
    return {status: {"model": schemas.Problem, "description": told[status]} for status in (400, 401, *statuses)}


def _as_json(problems: dict[int | str, dict[str, Any]]) -> dict[int | str, dict[str, Any]]:
    """The same for a route whose good answer is not JSON."""
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": problem["description"], "content": content} for status, problem in problems.items()}


_EVENT = {
    "type": "object",
    "properties": {"event": {"enum": ["level", "done", "error"]}, "data": {"type": "string"}},
    "required": ["event", "data"],
}
_WORK = _problems(413, 415, 422, 503, 504)


def make_app(service: Service) -> Guard:
    """The whole application, its guard included."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        await service.stop()

    app = FastAPI(
        title="Syntagma",
        version=__version__,
        summary="Text grown from the root of a syntax tree down.",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        openapi_tags=TAGS,
        servers=[{"url": service.rules.root_path}] if service.rules.root_path else None,
        generate_unique_id_function=operation_name,
    )
    _errors(app)
    _searches(app, service)
    _parses(app, service)
    if service.comparison is not None:
        _compares(app, service)
    if service.control is not None:
        add_control(app, service, service.control, service.voting, _WORK)
    _tells(app, service)
    _studio(app)
    app.openapi = describe(app, service.rules.token is not None)  # type: ignore[method-assign]
    paths = {route.path for route in app.routes if hasattr(route, "path")} - {"/studio/{path:path}"}
    return Guard(app, service.rules, service.counters, paths)


def _errors(app: FastAPI) -> None:
    """Every error as `{"error": "one sentence."}`."""

    def say(status: int, sentence: str, headers: dict[str, str] | None = None) -> JSONResponse:
        return JSONResponse({"error": sentence}, status, headers)

    @app.exception_handler(SyntagmaError)
    async def wrong(_: Request, error: SyntagmaError) -> Response:
        if isinstance(error, Busy):
            return say(503, sentence_of(error), {"Retry-After": str(error.retry_after)})
        return say(422, sentence_of(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return say(422, as_sentence(complaint(error.errors()[0])))

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        status = 422 if error.status_code == 400 else error.status_code  # a body that is no JSON
        known = {404: "There is nothing here.", 405: "This path does not take that method.", 422: "This is not JSON."}
        headers = dict(error.headers) if error.headers else None
        return say(status, known.get(status, "The request is refused."), headers)

    @app.exception_handler(TimeoutError)
    async def late(_: Request, error: TimeoutError) -> Response:
        return say(504, "The time limit of a request is over.")

    @app.exception_handler(ClientGone)
    async def gone(_: Request, error: ClientGone) -> Response:
        return say(499, "The client has gone.")

    @app.exception_handler(SearchFailed)
    async def failed(_: Request, error: SearchFailed) -> Response:
        return say(500, "The search failed.")


def _searches(app: FastAPI, service: Service) -> None:
    seconds = service.rules.seconds

    async def answer(request: Request, work: Awaitable[dict[str, Any]]) -> Response:
        return JSONResponse(await while_asking(request, work, seconds))

    @app.post("/v1/generate", responses=_WORK | {200: {"model": schemas.GenerateAnswer}}, response_model=None)
    async def generate(body: schemas.GenerateRequest, request: Request) -> Response:
        """Generate a text for each source."""
        return await answer(request, service.generate(body))

    @app.post("/v1/grow", responses=_WORK | {200: {"model": schemas.GrowAnswer}}, response_model=None)
    async def grow(body: schemas.GrowRequest, request: Request) -> Response:
        """Grow any beam by one level, or by `levels`."""
        return await answer(request, service.grow(body))

    streamed = {"content": {"text/event-stream": {"schema": _EVENT}}, "description": "Levels as events."}

    @app.post("/v1/stream", responses=_as_json(_WORK) | {200: streamed}, response_class=Response, response_model=None)
    async def stream(body: schemas.GrowRequest, request: Request) -> Response:
        """Grow a beam to its end: an event `level` for each level, then `done` or `error`."""
        events = await while_asking(request, service.stream(body), seconds)
        return Events(events, seconds)

    @app.post("/v1/explain", responses=_as_json(_WORK), response_class=HTMLResponse, response_model=None)
    async def explain(body: schemas.ExplainRequest, request: Request) -> Response:
        """A page that says why the output came out: each constituent's score, and what lost."""
        page = await while_asking(request, service.explain(body), seconds)
        return HTMLResponse(page, headers={"Content-Security-Policy": EXPLAIN_POLICY})


def _parses(app: FastAPI, service: Service) -> None:
    seconds = service.rules.seconds

    @app.post("/v1/parse", responses=_WORK | {200: {"model": schemas.ParseAnswer}}, response_model=None)
    async def parse(body: schemas.ParseRequest, request: Request) -> Response:
        """Constituency trees of texts."""
        return JSONResponse(await while_asking(request, service.parse(body), seconds))

    @app.post("/v1/template", responses=_WORK | {200: {"model": schemas.TemplateAnswer}}, response_model=None)
    async def template(body: schemas.TemplateRequest, request: Request) -> Response:
        """The shape of a sentence, to be used as a template."""
        return JSONResponse(await while_asking(request, service.template(body), seconds))

    @app.post("/v1/sentences", responses=_WORK | {200: {"model": schemas.SentencesAnswer}}, response_model=None)
    async def sentences(body: schemas.SentencesRequest, request: Request) -> Response:
        """The sentences of a text."""
        return JSONResponse(await while_asking(request, service.sentences(body), seconds))


def _compares(app: FastAPI, service: Service) -> None:
    @app.get(
        "/v1/compare/next",
        responses=_problems(422, 503) | {200: {"model": schemas.CompareAnswer}},
        response_model=None,
    )
    async def next_item(
        voter: Annotated[str, Query(min_length=1, max_length=128, description="Who votes, by any name.")],
        item: Annotated[
            str | None, Query(min_length=1, max_length=128, description="An item to see again instead.")
        ] = None,
    ) -> Response:
        """The voter's next item of the blind comparison, or one to vote on again."""
        return JSONResponse(await service.next_item(voter, item))

    @app.post(
        "/v1/compare/vote",
        responses=_problems(413, 422, 503) | {200: {"model": schemas.VoteAnswer}},
        response_model=None,
    )
    async def vote(body: schemas.VoteRequest) -> Response:
        """Store a vote; a later one replaces it."""
        return JSONResponse(await service.vote(body))


def _tells(app: FastAPI, service: Service) -> None:
    @app.get("/v1/models", responses=_problems() | {200: {"model": schemas.ModelsAnswer}}, response_model=None)
    async def models() -> Response:
        """The models and the parser of this service."""
        return JSONResponse(service.about())

    @app.get("/openapi.json", include_in_schema=False)
    def description() -> Response:  # in a thread of its own, as it takes a while the first time
        return JSONResponse(app.openapi())

    @app.get("/healthz", responses={200: {"model": schemas.Health}}, response_model=None)
    async def health() -> Response:
        """Whether the service lives, also while it finishes what it has begun."""
        return JSONResponse({"status": "ok"})

    @app.get("/readyz", responses=_problems(503) | {200: {"model": schemas.Health}}, response_model=None)
    async def ready() -> Response:
        """Whether to send requests here; 503 while the service stops or has as much to do as it can."""
        if service.stopping or not service.admission.has_room():
            what = "The service is stopping." if service.stopping else "The service has enough to do."
            return JSONResponse({"error": what}, 503, {"Retry-After": "1"})
        return JSONResponse({"status": "ready"})

    @app.get("/metrics", responses=_as_json(_problems()), response_class=PlainTextResponse, response_model=None)
    async def metrics() -> Response:
        """Counters, gauges and latencies in the text format of Prometheus."""
        return Response(service.metrics(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _studio(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    def index() -> Response:
        return _file("index.html")

    @app.get("/compare", include_in_schema=False)
    @app.get("/control", include_in_schema=False)
    def experiment() -> Response:
        return _file("experiment.html")

    @app.get("/studio/{path:path}", include_in_schema=False)
    def studio(path: str) -> Response:
        return _file(path)


def _file(path: str) -> Response:
    """A file of the studio's folder; anything else is not there."""
    try:
        folder = STUDIO.resolve()
        file = (folder / path).resolve()
        kind = KINDS.get(file.suffix)
        if kind is None or not file.is_relative_to(folder):
            raise HTTPException(404)
        return Response(file.read_bytes(), media_type=kind)
    except (OSError, ValueError):  # no such file, or no name of a file
        raise HTTPException(404) from None
