from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
APPLE = "(S (NP (PRP I)) (VP (VBD ate) (NP (DT an) (NN apple))) (. .))"
LEVELS = "<T>\t<c> <S>\n<S>\t<c> <NP> <VP> .\n<NP> <VP> .\t<c> I <c> ate <NP>\nI ate <NP> .\t<c> an apple\n"


def test_arguments_file_and_stdin_agree(syntagma: Run, tmp_path: Path) -> None:
    (tmp_path / "trees").write_text(APPLE + "\n" + APPLE + "\n")
    with gzip.open(tmp_path / "trees.gz", "wt") as stream:
        stream.write(APPLE + "\n" + APPLE)
    for done in (
        syntagma("levels", APPLE, APPLE),
        syntagma("levels", "-i", "trees"),
        syntagma("levels", "-i", "trees.gz"),
        syntagma("levels", stdin="\ufeff" + APPLE + "\r\n" + APPLE),
    ):
        assert done.stdout == LEVELS + "\n" + LEVELS
        assert done.stderr == ""


def test_json_labels_and_drawing(syntagma: Run) -> None:
    made = json.loads(syntagma("levels", "--json", "--labels", "NP", APPLE).stdout)
    assert made["tree"] == "(TOP (NP I) ate (NP an apple) .)"
    assert made["levels"][1] == {"context": "<NP> ate <NP> .", "infill": "<c> I <c> an apple"}
    drawn = syntagma("levels", "--draw", APPLE).stdout
    assert drawn.endswith(LEVELS)
    assert "┌─┴──┐" in drawn


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            b"(S (NP I)",
            "standard input, line 2, column 1: the bracket opened here is never closed; add the missing ')'",
        ),
        (
            b"I",
            "standard input, line 2, column 1: the word 'I' stands outside all brackets; "
            "give it a label and brackets: (X word)",
        ),
        (b"", "standard input, line 2: the line is empty; give one tree a line, or use --bad skip"),
        (b"()", "standard input, line 2, column 1: these brackets are empty; put a word inside or remove it"),
        (
            b"(S)",
            "standard input, line 2, column 1: the constituent 'S' holds no words; put a word inside or remove it",
        ),
        (
            b"(S \xc3\xa4\xff)",
            "standard input, line 2, column 5: the byte 0xff is not UTF-8 text; save the file as UTF-8",
        ),
        (b"(S a\0)", "standard input, line 2, column 5: there is a NUL character; remove it: this is not plain text"),
    ],
)
def test_a_bad_line_stops_or_is_set_aside(syntagma: Run, tmp_path: Path, line: bytes, message: str) -> None:
    lines = b"(S a)\n" + line + b"\n(S b)\n"
    stopped = syntagma("levels", stdin=lines, check=1)
    assert stopped.stderr == f"syntagma: {message}\n"
    assert stopped.stdout == "<T>\t<c> <S>\n<S>\t<c> a\n"
    skipped = syntagma("levels", "--bad", "skip", "--rejects", "out/rejects.jsonl", stdin=lines)
    assert skipped.stdout == "<T>\t<c> <S>\n<S>\t<c> a\n\n<T>\t<c> <S>\n<S>\t<c> b\n"
    assert "1 of 3 lines were skipped" in skipped.stderr
    (reject,) = map(json.loads, (tmp_path / "out/rejects.jsonl").read_text().splitlines())
    assert (reject["line"], reject["reason"]) == (2, message)


def test_odd_but_good_input(syntagma: Run) -> None:
    out = syntagma("levels", "(S (NP <NP>) (VP \u05e9\u05dc\u05d5\u05dd e\u0301 -LRB-))").stdout
    assert out.splitlines()[-1] == "<NP> <VP>\t<c> \\<NP> <c> \u05e9\u05dc\u05d5\u05dd e\u0301 ("
    long = "(S " + "(NN word) " * 1_000_000 + ")"
    assert len(syntagma("levels", stdin=long).stdout) > 5_000_000


def test_wrong_usage(syntagma: Run) -> None:
    assert "cannot be opened" in syntagma("levels", "-i", "none", check=1).stderr
    assert "'S;NP' does not look like a label" in syntagma("levels", "--labels", "S;NP", APPLE, check=1).stderr
    assert "'<NP>' cannot be a label" in syntagma("levels", "--labels", "<NP>", APPLE, check=1).stderr
    apart, joined = (syntagma("levels", "--labels", some, APPLE).stdout for some in ("S NP", "S,NP"))
    assert apart == joined
    assert "<NP> ate <NP> ." in apart
    assert syntagma("levels", "--labels", "S N", APPLE).stderr == "syntagma: no tree has a constituent N\n"
    assert "add --bad skip" in syntagma("levels", "--rejects", "x", APPLE, check=1).stderr
    assert syntagma("levels", "--nonsense", check=2).stdout == ""
    assert syntagma("nonsense", check=2).stdout == ""


def test_help_imports_nothing_heavy() -> None:
    heavy = ("torch", "transformers", "tokenizers", "pyarrow", "numpy")
    code = f"import sys; from syntagma.cli import app; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_closed_pipe_is_no_crash() -> None:
    trees = "\n".join([APPLE] * 20_000)
    done = subprocess.run(
        f"{sys.executable} -m syntagma levels | head -1", shell=True, input=trees, capture_output=True, text=True
    )
    assert done.stdout == "<T>\t<c> <S>\n"
    assert done.stderr == ""


def test_bench_core(syntagma: Run) -> None:
    pytest.importorskip("nltk")
    rows = [json.loads(line) for line in syntagma("bench", "core", "--quick", "--json").stdout.splitlines()]
    assert [row["peer"] for row in rows] == ["nltk reading", "nltk reading"]
    assert all(row["ours"] > 0 for row in rows)


def test_a_treebanks_tags_and_traces_are_not_taken_for_labels_and_words(syntagma: Run) -> None:
    tagged = APPLE.replace("(NP (PRP", "(NP-SBJ (PRP").replace("(NN apple)", "(NN apple) (SBAR (-NONE- 0))")
    assert "NP-SBJ" in tagged
    assert syntagma("levels", tagged).stdout == LEVELS
