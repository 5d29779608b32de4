from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from syntagma.serve.compare import read_items

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def write(path: Path, outputs: list[list[str]]) -> None:
    records = [
        {"source": f"source {number}", "hypotheses": [{"text": text, "score": 0.0} for text in texts]}
        for number, texts in enumerate(outputs)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def test_a_comparison_is_drawn_from_what_differs(syntagma: Run, tmp_path: Path) -> None:
    write(tmp_path / "ours.jsonl", [[f"a {number}", "same"] for number in range(20)])
    theirs = [[f"b {number}", "same"] for number in range(20)]
    theirs[3], theirs[5] = ["a 3", "other"], []
    write(tmp_path / "theirs.jsonl", theirs)
    files = ("compare", "ours.jsonl", "theirs.jsonl", "--out", "items.jsonl")
    facts = json.loads(syntagma(*files, "--json").stdout)
    assert facts == {"items": 18, "equal": 1, "without_output": 1}
    drawn = syntagma(*files, "--sample", "6", "--nbest", "2", "--names", "A,B").stderr
    assert "6 items in items.jsonl" in drawn
    items = read_items(tmp_path / "items.jsonl")
    assert [int(item.id) for item in items] == sorted({int(item.id) for item in items})
    for item in items:
        number = int(item.id) - 1
        assert item.source == f"source {number}"
        assert item.outputs["A"] == (f"a {number}", "same")
        assert item.outputs["B"] == tuple(theirs[number])
    syntagma(*files, "--sample", "6", "--nbest", "2", "--names", "A,B", "--seed", "2")
    assert read_items(tmp_path / "items.jsonl") != items


def test_outputs_that_do_not_belong_together_are_refused(syntagma: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [["x"], ["y"]])
    write(tmp_path / "b.jsonl", [["z"]])
    files = ("compare", "a.jsonl", "b.jsonl", "--out", "items.jsonl")
    assert "b.jsonl: it has 1 records and a.jsonl has more" in syntagma(*files, check=1).stderr
    (tmp_path / "b.jsonl").write_text('{"source": "another", "hypotheses": []}\n')
    assert "b.jsonl, line 1: its source is not the one in a.jsonl" in syntagma(*files, check=1).stderr
    (tmp_path / "b.jsonl").write_text("plain text\n")
    assert "give what `generate --json` writes" in syntagma(*files, check=1).stderr
    write(tmp_path / "b.jsonl", [["x"], ["y"]])
    assert "the two systems differ nowhere" in syntagma(*files, check=1).stderr
    assert "both systems are called 'a'" in syntagma("compare", "a.jsonl", "a.jsonl", "--out", "i", check=1).stderr
    assert not (tmp_path / "items.jsonl").exists()
