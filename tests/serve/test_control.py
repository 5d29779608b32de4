from __future__ import annotations

import asyncio
import csv
import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from serve_models import client_of, tiny_service
from syntagma.errors import InputError
from syntagma.serve.control import ControlStore, ControlTask, read_task, success
from syntagma.serve.control_routes import StepAnswer

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    levels = ["<T>", "<NP> <VP> .", "I <VP> .", "I nod ."]
    lines = [{"source": f"I see {n} .", "hypotheses": [{"text": "I nod .", "levels": levels}]} for n in range(4)]
    lines.append({"source": "silent", "hypotheses": []})
    path = tmp_path / "out.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_an_experiment_from_outputs_to_the_success_rate(outputs: Path, tmp_path: Path, syntagma: Run) -> None:
    assert "3 items" in syntagma("control-task", outputs, "--sample", "3", "--out", "task.jsonl").stderr
    items = read_task(tmp_path / "task.jsonl")
    assert items[0].contexts == ("<NP> <VP> .", "I <VP> .")
    file = tmp_path / "v.sqlite"

    async def test() -> None:
        task = ControlTask(items, ControlStore(file))
        async with client_of(tiny_service(control=task)) as client:
            for who, followed in (("ann", True), ("bob", False)):
                for done in range(3):
                    step = (await client.get("/v1/control/next", params={"annotator": who})).json()
                    assert (step["task"], step["done"], step["total"]) == ("edit", done, 3)
                    StepAnswer.model_validate(step, strict=True, extra="forbid")
                    body = {"annotator": who, "item": step["id"], "before": "<NP> <VP> .", "after": "Did <NP> <VP> ?"}
                    made = (await client.post("/v1/control/edit", json=body)).json()
                    assert made["output"].startswith("Did"), "the model goes on from the edited context"
                    waiting = (await client.get("/v1/control/next", params={"annotator": who})).json()
                    assert (waiting["task"], waiting["edit"]) == ("judge", made["edit"])
                    StepAnswer.model_validate(waiting, strict=True, extra="forbid")
                    said = {"annotator": who, "edit": made["edit"], "followed": followed or done == 0}
                    assert (await client.post("/v1/control/judge", json=said)).json() == {"stored": True}
            other = (await client.get("/v1/control/next", params={"annotator": "ann"})).json()
            assert other["task"] == "judge", "what others have edited comes last"
            assert waiting["own"]
            assert not other["own"]
            for wrong in ({"item": "x"}, {"after": body["before"]}, {"before": "<VP>"}, {"after": "<QP>"}):
                assert (await client.post("/v1/control/edit", json=body | wrong)).status_code == 422
            assert (await client.post("/v1/control/judge", json=said | {"edit": 99})).status_code == 422
            again = {"annotator": "ann", "edit": other["edit"], "followed": False}
            await client.post("/v1/control/judge", json=again)
            assert (await client.get("/control")).status_code == 200

    asyncio.run(test())
    shown = [json.loads(line) for line in syntagma("votes", file, "--json").stdout.splitlines()]
    assert [(row["annotator"], row["edits"], row["followed"]) for row in shown] == [
        ("all", 6, 4), ("ann", 3, 3), ("bob", 3, 1),
    ]  # fmt: skip
    assert shown[0]["low"] < 4 / 6 < shown[0]["high"]
    assert shown[0]["judges"] == 2
    assert shown[0]["alpha"] is not None
    assert "66.7%" in syntagma("votes", file).stdout
    stored = list(csv.DictReader(io.StringIO(syntagma("votes", file, "--csv").stdout)))
    assert len(stored) == 6
    assert json.loads(stored[0]["judgements"])["ann"] is True


def test_the_last_judgement_counts_and_edits_without_one_do_not() -> None:
    edits = [{"edit": 1, "annotator": "ann"}, {"edit": 2, "annotator": "ann"}, {"edit": 3, "annotator": "bob"}]
    (every, ann) = success(edits, [("ann", 1, True), ("bob", 1, False), ("ann", 2, False)])
    assert (every.edits, every.followed, ann.rate) == (2, 1, 0.5)
    assert success(edits, [("bob", 1, True)]) == [], "only who asked for it says whether it was followed"


@pytest.mark.parametrize(
    "line", ["x", "[]", '{"source": "a"}', '{"source": "a", "contexts": []}', '{"contexts": ["b"]}']
)
def test_bad_task_files(line: str, tmp_path: Path) -> None:
    path = tmp_path / "task.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=r"line 1: this is no(t JSON| item of a control task); make the file with"):
        read_task(path)


def test_outputs_without_contexts(tmp_path: Path, syntagma: Run) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text('{"source": "a", "hypotheses": [{"text": "b", "levels": []}]}\n')
    said = syntagma("control-task", path, "--out", "task.jsonl", check=1).stderr
    assert "no output has contexts to edit" in said
