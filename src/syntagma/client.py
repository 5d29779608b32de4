"""A client of the service, with nothing but the standard library.

    client = Client("http://127.0.0.1:8000", token="...")
    client.generate("It seems like he has made a mistake.", nbest=3)[0].text
    for event, values in client.stream("It seems like he has made a mistake.", beam=3):
        ...                                  # "level" for each depth, then "done"

A busy service is asked again after as long as it says; any other refusal is a `ServiceError` with its sentence.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from syntagma.errors import SyntagmaError


class ServiceError(SyntagmaError):
    """A refusal by the service, or no answer from it (`status` is 0 then)."""

    def __init__(self, what: str, status: int = 0) -> None:
        super().__init__(what)
        self.status = status


@dataclass(frozen=True)
class GeneratedText:
    """A text that was generated."""

    text: str
    score: float
    rank_score: float | None
    tree: str | None
    levels: tuple[str, ...]
    note: str | None = None
    """What the user should know of it."""


class Client:
    """One service; `tries` is how often a busy one is asked."""

    def __init__(
        self, address: str = "http://127.0.0.1:8000", *, token: str | None = None, seconds: float = 60.0, tries: int = 5
    ) -> None:
        self.address, self.token, self.seconds, self.tries = address.rstrip("/"), token, seconds, tries

    def models(self) -> list[dict[str, Any]]:
        """The models that the service has."""
        models: list[dict[str, Any]] = self._json("/v1/models")["models"]
        return models

    def generate(self, text: str, **options: Any) -> list[GeneratedText]:
        """The hypotheses for a text, best first; `options` are those of /v1/generate."""
        (result,) = self._json("/v1/generate", {"text": text, **options})["results"]
        return [_hypothesis(values) for values in result["hypotheses"]]

    def parse(self, texts: Sequence[str]) -> list[str]:
        """A tree in brackets for each text."""
        trees: list[str] = self._json("/v1/parse", {"texts": list(texts)})["trees"]
        return trees

    def stream(self, text: str, **options: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        """The levels of a growth as they come, then `done`; `options` are those of /v1/stream."""
        with self._ask("/v1/stream", {"text": text, **options}) as answer:
            event = ""
            for raw in answer:
                name, _, value = raw.decode().rstrip("\n").partition(": ")
                if name == "event":
                    event = value
                elif name == "data":
                    values = json.loads(value)
                    if event == "error":
                        raise ServiceError(values["error"], 200)
                    yield event, values

    def _json(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        with self._ask(path, body) as answer:
            values: dict[str, Any] = json.load(answer)
            return values

    def _ask(self, path: str, body: dict[str, Any] | None) -> HTTPResponse:
        headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {self.token}"} if self.token is not None else {}
        )
        data = None if body is None else json.dumps(body).encode()
        for left in range(self.tries - 1, -1, -1):
            try:
                answer: HTTPResponse = urlopen(Request(self.address + path, data, headers), timeout=self.seconds)
                return answer
            except HTTPError as error:
                with error:
                    if error.code != 503 or not left:
                        raise ServiceError(_sentence(error), error.code) from None
                    wait = error.headers.get("Retry-After", "1")
                time.sleep(float(wait) if wait.isdigit() else 1.0)
            except (OSError, HTTPException) as error:
                raise ServiceError(f"the service at {self.address} does not answer ({error})") from None
        raise AssertionError("the last try has returned or raised")


def _hypothesis(values: dict[str, Any]) -> GeneratedText:
    return GeneratedText(
        values["text"],
        values["score"],
        values.get("rank_score"),
        values["tree"],
        tuple(values["levels"]),
        values.get("note"),
    )


def _sentence(error: HTTPError) -> str:
    """The service's own sentence, where it is one."""
    try:
        told = json.loads(error.read())["error"]
    except (ValueError, KeyError, TypeError):
        told = None
    return told if isinstance(told, str) else f"the service answered with status {error.code}"
