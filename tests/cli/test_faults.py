"""What the system refuses is one sentence and exit code 1, never a traceback."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from syntagma.cli import _guarded
from syntagma.errors import InputError, SyntagmaError, explain

Run = Callable[..., "subprocess.CompletedProcess[str]"]
TREE = "(S (NP (NN Äpfel)) (VP (VBD fell)))"
COMMAND = f"{sys.executable} -m syntagma"


def shell(script: str, **environment: str) -> tuple[int, str]:
    """The exit code and what stands on stderr."""
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script}"],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("levels '{tree}' > /dev/full", "no space left on device; make room and give the same command again"),
        ("--version > /dev/full", "no space left on device; make room and give the same command again"),
        ("levels '{tree}' >&-", "standard output is closed; leave it open, or send it to /dev/null"),
        ("levels <&-", "standard input: it is closed; name a file instead"),
        ("levels -i /", "/: it cannot be opened (is a directory); check the path"),
    ],
)
def test_streams_that_cannot_be_used(script: str, sentence: str) -> None:
    assert shell(f"{COMMAND} {script.format(tree=TREE)}") == (1, f"syntagma: {sentence}\n")


def test_a_reader_that_has_gone(tmp_path: Path) -> None:
    (tmp_path / "trees").write_text((TREE + "\n") * 5000)
    for options in ("", f"--bad skip --rejects {tmp_path / 'rejects'}"):
        assert shell(f"{COMMAND} levels -i {tmp_path / 'trees'} {options} | head -1") == (1, "")


def test_an_output_that_is_not_utf_8() -> None:
    status, told = shell(f"{COMMAND} levels '{TREE}'", PYTHONIOENCODING="ascii")
    assert (status, told) == (
        1,
        "syntagma: the output takes ascii only, and '\\xc4' is not in it; set PYTHONIOENCODING=utf-8\n",
    )


@pytest.mark.parametrize(
    "command",
    [
        "prepare pairs.tsv --out {out} --parser brackets:trees",
        "generate x --out {out}",
        "export --model paraphrase-en --out {out}",
        "train --data corpus --out {out}",
    ],
)
def test_folders_that_cannot_be_made(command: str, syntagma: Run, tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("a b\tc d\n")
    (tmp_path / "trees").write_text("(S (NP c d))\n")
    (tmp_path / "file").write_text("")
    done = syntagma(*command.format(out=tmp_path / "file" / "out").split(), check=1)
    told = [line for line in done.stderr.splitlines() if line.strip()]
    assert told[-1].startswith("syntagma: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (MemoryError(), "there is not enough memory; give shorter texts, a smaller batch or fewer workers"),
        (
            RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
            "there is not enough memory; give shorter texts, a smaller batch or fewer workers",
        ),
        (RecursionError(), "something is nested too deeply; look at the input that was read last"),
        (PermissionError(errno.EACCES, "Permission denied", "/x/out"), "/x/out: permission denied; check the path"),
        (OSError(errno.EROFS, "Read-only file system", b"/x\xff"), "/x\ufffd: read-only file system; check the path"),
        (OSError(errno.EDQUOT, "Quota exceeded"), "quota exceeded; make room and give the same command again"),
        (
            UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed"),
            "a name or text among the arguments is not UTF-8; give it as UTF-8, or in a file",
        ),
        (InputError("it is empty", remedy="fill it"), "it is empty; fill it"),
    ],
)
def test_each_error_has_its_sentence(
    error: Exception, sentence: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def command() -> None:
        raise error

    assert _guarded(command) == 1
    assert capsys.readouterr().err == f"syntagma: {sentence}\n"
    monkeypatch.setenv("SYNTAGMA_TRACEBACK", "1")
    if isinstance(error, SyntagmaError):
        assert _guarded(command) == 1
    else:
        with pytest.raises(type(error)):
            _guarded(command)


@pytest.mark.parametrize("error", [KeyError("x"), ValueError("x"), RuntimeError("x"), OSError("no number")])
def test_a_bug_stays_a_bug(error: Exception) -> None:
    def command() -> None:
        raise error

    assert explain(error) is None
    with pytest.raises(type(error)):
        _guarded(command)


@pytest.mark.parametrize(("code", "status"), [(None, 0), (0, 0), (2, 2), (130, 130), ("sentence", 1)])
def test_exit_codes(code: object, status: int) -> None:
    def command() -> None:
        raise SystemExit(code)

    assert _guarded(command) == status
