"""The parts of /openapi.json beyond the routes: tags, the token, and an answer of each operation as an example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from syntagma.serve.middleware import needs_token

TAGS = [
    {"name": "generate", "description": "Texts, and how they grow."},
    {"name": "parse", "description": "Trees, shapes and sentences of texts."},
    {"name": "compare", "description": "A blind comparison of two systems."},
    {"name": "control", "description": "An experiment on partial control."},
    {"name": "service", "description": "What is served, and how it is."},
]
BEARER = {"type": "http", "scheme": "bearer", "description": "The token that the service was started with, if any."}

_TREE = "(TOP (S (NP He) (VP has made (NP a mistake)) .))"
_HYPOTHESIS = {
    "text": "He has made a mistake.", "score": -0.42, "tree": _TREE,
    "levels": ["<T>", "<S>", "<NP> <VP> .", "He has made <NP> .", "He has made a mistake ."],
    "rank_score": -0.31, "note": None,
    "trace": [
        {
            "depth": 1, "context": "<T>", "infill": "<c> <S>", "infill_score": -0.001, "score": -0.001,
            "rewarded": False, "edited": False,
        }
    ],
}  # fmt: skip
_NODE = {
    "state": "eJyLjgUAARUAuQ", "context": "He has made <NP> .",
    "tokens": [
        {"text": "He", "label": False, "new": True}, {"text": "has", "label": False, "new": True},
        {"text": "made", "label": False, "new": True}, {"text": "NP", "label": True, "new": True},
        {"text": ".", "label": False, "new": False},
    ],
    "score": -0.3, "depth": 4, "parent": 0, "finished": False, "edited": False, "rewarded": False, "winner": True,
    "reason": None, "infill_score": -0.2,
    "parts": [
        {"label": "NP", "became": "He", "score": -0.05}, {"label": "VP", "became": "has made <NP>", "score": -0.15},
    ],
}  # fmt: skip
EXAMPLES: dict[str, Any] = {
    "generate": {
        "model": "paraphrase-en",
        "results": [{"source": "It seems like he has made a mistake.", "hypotheses": [_HYPOTHESIS]}],
    },
    "grow": {"depth": 4, "finished": False, "beam": [_NODE], "lost": [], "more_lost": 0, "outputs": []},
    "stream": 'event: level\ndata: {"depth": 2, ...}\n\nevent: done\ndata: {"outputs": [...], "winners": [[0, 0]]}\n\n',
    "parse": {"trees": ["(TOP (S (NP (PRP He)) (VP (VBZ nods)) (. .)))"]},
    "template": {"template": "(S (NP) (ADVP) (VP (NP)))"},
    "sentences": {"sentences": ["He nods.", "Does he know?"]},
    "next_item": {
        "item": "7", "source": "He nods.", "left": ["He is nodding."], "right": ["He agrees."],
        "questions": [{"name": "fidelity", "text": "Which says more nearly the same as the sentence?"}],
        "ties": True, "answers": {}, "before": None, "done": 6, "total": 100,
    },
    "vote": {"stored": True, "done": 7},
    "next_step": {
        "task": "edit", "done": 6, "total": 100, "source": "He nods.", "id": "7", "contexts": ["<NP> <VP> ."],
        "output": "He is nodding.",
    },
    "edit": {"edit": 3, "output": "Is he nodding?"},
    "judge": {"stored": True},
    "models": {
        "models": [
            {
                "name": "paraphrase-en", "task": "paraphrase", "source_language": "en", "target_language": "en",
                "guided": True, "labels": ["S", "NP", "VP", "PP"], "defaults": {"beam": 5, "alpha": 0.8},
                "limits": {"text": 400, "beam": 16, "nbest": 16},
            }
        ],
        "parser": {"name": "parser-en", "version": "3"},
    },
    "health": {"status": "ok"},
    "ready": {"status": "ready"},
    "metrics": '# TYPE syntagma_requests_open gauge\nsyntagma_requests_open 1\n',
}  # fmt: skip
"""An answer of each operation."""


def operation_name(route: APIRoute) -> str:
    """The name of an operation: that of its function."""
    return route.name


def _tag(path: str) -> str:
    if path in ("/v1/parse", "/v1/template", "/v1/sentences"):
        return "parse"
    for experiment in ("compare", "control"):
        if path.startswith(f"/v1/{experiment}/"):
            return experiment
    return "generate" if path.startswith("/v1/") and path != "/v1/models" else "service"


def describe(app: FastAPI, locked: bool) -> Callable[[], dict[str, Any]]:
    """The description of an application's routes, made once; `locked`: there is a token."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = plain()
            schema.setdefault("components", {})["securitySchemes"] = {"bearer": BEARER}
            for path, operations in schema["paths"].items():
                for operation in operations.values():
                    operation["tags"] = [_tag(path)]
                    if needs_token(path):
                        operation["security"] = [{"bearer": []}] if locked else [{}, {"bearer": []}]
                    for content in operation["responses"]["200"].get("content", {}).values():
                        if (example := EXAMPLES.get(operation["operationId"])) is not None:
                            content["example"] = example
            app.openapi_schema = schema
        return app.openapi_schema

    return openapi
