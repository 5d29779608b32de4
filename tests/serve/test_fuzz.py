"""Requests that OpenAPI allows, and others: no answer is a failure of the service."""

from __future__ import annotations

import base64
import json
import string
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serve_models import growing_generator
from syntagma.errors import SyntagmaError
from syntagma.search import Steering
from syntagma.search.hypothesis import Hypothesis
from syntagma.serve.client_state import StateError, read_state, write_state

schemathesis = pytest.importorskip("schemathesis")
from requests.exceptions import ConnectionError  # noqa: E402
from schemathesis import GenerationMode  # noqa: E402
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
GENERATOR = growing_generator()
CONFIG = GENERATOR.config
TEXT = "He can't have made a mistake."
REQUEST = GENERATOR.request(0, TEXT, Steering(), GENERATOR.defaults)


OPERATIONS = [
    "POST /v1/generate", "POST /v1/grow", "POST /v1/stream", "POST /v1/explain", "POST /v1/parse", "POST /v1/template",
    "POST /v1/sentences", "GET /v1/compare/next", "POST /v1/compare/vote", "GET /v1/models", "GET /healthz",
    "GET /readyz", "GET /metrics",
]  # fmt: skip
WITHOUT_VALUES = ("GET /v1/models", "GET /healthz", "GET /readyz", "GET /metrics")


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_no_request_makes_the_service_fail(server: Callable[..., Any], tmp_path: Path, mode: GenerationMode) -> None:
    line = {"source": "source", "outputs": {"a": "x", "b": "y"}}
    (tmp_path / "items.jsonl").write_text(json.dumps(line))
    running = server("--compare", "items.jsonl", "--patience", "20")  # beside other tests, too
    schema = schemathesis.openapi.from_url(running.address + "/openapi.json")
    operations = {result.ok().label: result.ok() for result in schema.get_all_operations()}
    assert set(operations) == set(OPERATIONS)
    for name in OPERATIONS:
        if mode is GenerationMode.NEGATIVE and name in WITHOUT_VALUES:
            continue

        @given(case=operations[name].as_strategy(generation_mode=mode))
        @settings(max_examples=20, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
        def ask(case: Any) -> None:
            try:
                case.call_and_validate(checks=CHECKS)
            except ConnectionError as error:
                ended = f"the service ended with {running.process.poll()}: {''.join(running.errors[-30:])}"
                raise AssertionError(ended) from error

        ask()


@given(st.text(max_size=60) | st.text(string.ascii_letters + string.digits + "-_", max_size=200))
def test_no_text_is_taken_for_a_state(text: str) -> None:
    with pytest.raises(StateError):
        read_state(text, "tiny", REQUEST)


def grown() -> Hypothesis:
    growth = GENERATOR.grow(TEXT).step(2)
    return growth._now.beam[0]


@given(st.data())
def test_states_with_changed_values_are_read_or_refused(data: st.DataObject) -> None:
    whole = write_state(grown(), "tiny")
    values = json.loads(zlib.decompress(base64.urlsafe_b64decode(whole + "=" * (-len(whole) % 4))))
    odd = st.none() | st.booleans() | st.integers(-5, 400) | st.floats() | st.text(max_size=3) | st.just([])
    place: Any = values
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(place) - 1))
        if not isinstance(place[at], list) or not place[at]:
            place[at] = data.draw(odd)
            break
        place = place[at]
    changed = base64.urlsafe_b64encode(zlib.compress(json.dumps(values).encode())).decode()
    try:
        found = read_state(changed, "tiny", REQUEST)
    except SyntagmaError:
        return
    for one in found.history():
        assert all(0 <= at < CONFIG.vocabulary for at in one.context.ids)


def test_a_state_comes_back_as_it_was() -> None:
    before = grown()
    after = read_state(write_state(before, "tiny"), "tiny", REQUEST)
    for one, other in zip(before.history(), after.history(), strict=True):
        assert one.context == other.context
        assert (one.score, one.depth, one.infill, one.infill_score) == (
            other.score, other.depth, other.infill, other.infill_score,
        )  # fmt: skip
    with pytest.raises(StateError, match="another model"):
        read_state(write_state(before, "tiny"), "other", REQUEST)
