"""The driver of METEOR, with stand-ins that crash, hang and chatter; the program itself runs in test_paper."""

from __future__ import annotations

import os
import sys
import time

import pytest

from syntagma.errors import MissingExtra, SyntagmaError
from syntagma.metrics import Meteor, Segment
from syntagma.metrics import meteor as module
from syntagma.metrics.meteor import MeteorError

ECHO = """
import sys
for line in sys.stdin:
    kind, *fields = [field.strip() for field in line.split("|||")]
    if kind == "SCORE":
        *refs, hyp = fields
        print(max(len(set(hyp.split()) & set(ref.split())) / len(hyp.split()) for ref in refs), flush=True)
    else:
        print(fields[0], fields[0], sep="\\n", flush=True)
"""
SEGMENT = Segment("a b", ("a c",))


def stand_in(program: str, timeout: float = 20.0) -> Meteor:
    return Meteor(timeout, [sys.executable, "-c", program])


def test_scores_come_back_in_order_and_empty_texts_are_not_asked() -> None:
    metric = stand_in(ECHO)
    segments = [
        SEGMENT,
        Segment("", ("a",)),
        Segment("a", ("",)),
        Segment("x ||| y", ("x y", "z")),
        Segment("q", ("a",)),
    ]
    assert metric.statistics(segments)[:, 0].tolist() == [0.5, 0.0, 0.0, 1.0, 0.0]
    assert metric.corpus([SEGMENT])[0].value == 50.0
    metric.close()


def test_one_program_for_many_batches_and_none_left_behind() -> None:
    metric = stand_in("import os, sys\n" + ECHO.replace("print(max", "print(os.getpid() or max"))
    pids = {int(value) for _ in range(3) for value in metric.statistics([SEGMENT])[:, 0]}
    assert len(pids) == 1
    metric.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pids.pop(), 0)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import sys; sys.exit('Exception: out of memory')", "ended with code 1: Exception: out of memory"),
        ("print('1 2', flush=True)", "ended with code 0"),
        ("import sys\nfor line in sys.stdin: print('no number', flush=True)", "answered 'no number'"),
    ],
)
def test_a_crash_is_a_clear_error(program: str, message: str) -> None:
    metric = stand_in(program)
    with pytest.raises(MeteorError, match=message):
        metric.statistics([SEGMENT] * 50)
    metric.close()


def test_a_hang_is_ended() -> None:
    metric = stand_in("import time; time.sleep(60)", timeout=0.5)
    start = time.monotonic()
    with pytest.raises(MeteorError, match="no answer in time"):
        metric.statistics([SEGMENT])
    assert time.monotonic() - start < 20
    metric.close()


def test_a_hang_that_does_not_read_is_ended() -> None:
    metric = stand_in("import time; time.sleep(60)", timeout=0.5)
    with pytest.raises(MeteorError, match="no answer in time"):
        metric.statistics([Segment("word " * 200_000, ("a",))])  # more than a pipe holds


def test_a_program_that_cannot_start() -> None:
    with pytest.raises(MeteorError, match="cannot be started"):
        Meteor(command=["/no/such/program"]).statistics([SEGMENT])


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"syntagma\[meteor\]"):
        Meteor()


def test_without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    if module.find_spec("pycocoevalcap") is None:
        pytest.skip("pycocoevalcap is not installed")
    monkeypatch.setattr(module.shutil, "which", lambda name: None)
    with pytest.raises(SyntagmaError, match="needs Java"):
        Meteor()
