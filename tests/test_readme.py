"""What the README says works: its commands, its options, its Python."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from syntagma.cli import app
from syntagma.hub import bundled

Run = Callable[..., "subprocess.CompletedProcess[str]"]
README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
PYTHON = [text for kind, text in BLOCKS if kind == "python"]
SHELL = [text for kind, text in BLOCKS if kind != "python"]
needs_models = pytest.mark.skipif("paraphrase-en" not in bundled("model"), reason="the bundled models are not here")


def leaves(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its name."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for word, one in inner.items():
        yield from leaves(one, f"{name} {word}".strip())


COMMANDS = dict(leaves(typer.main.get_command(app)))


def written() -> list[str]:
    """Every command that the README writes, inline or in a block."""
    inline = re.findall(r"`(?:\.venv/bin/)?syntagma ([^`]+)`", re.sub(r"^```.*?^```", "", README, flags=re.S | re.M))
    lines = [line for text in SHELL for line in text.splitlines()]
    return [*inline, *(match.group(1) for line in lines if (match := re.match(r"(?:\$ |\S*/)?syntagma (.*)", line)))]


def named(words: list[str]) -> str:
    """The name of the command that a line begins with."""
    return next((name for name in (" ".join(words[:2]), words[0]) if name in COMMANDS), words[0])


@pytest.mark.parametrize("line", sorted(set(written())))
def test_commands_and_options_exist(line: str) -> None:
    words = [word for word in shlex.split(line.split(" #")[0].replace("...", "x")) if word]
    if words[0] == "parser" and len(words) == 1:
        return
    command = COMMANDS[named(words)]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {word.partition("=")[0] for word in words if word.startswith("-") and len(word) > 1} <= known | {"--help"}


def test_options_named_alone_exist() -> None:
    known = {option for one in COMMANDS.values() for p in one.params for option in (*p.opts, *p.secondary_opts)}
    alone = re.findall(r"`(--[a-z][a-z-]*)[^`]*`", re.sub(r"^```.*?^```", "", README, flags=re.S | re.M))
    assert len(alone) > 5
    assert set(alone) <= known | {"--help"}


def test_what_is_said_of_json_and_input_holds() -> None:
    """Commands that give figures or make something take --json; those for texts and trees take -i."""
    without = {
        name for name, one in COMMANDS.items() if not any("--json" in parameter.opts for parameter in one.params)
    }
    assert without == {"train", "parser train", "parser convert", "serve"}


@needs_models
def test_the_trace_is_what_the_command_writes(syntagma: Run) -> None:
    """Scores apart, which differ from engine to engine."""
    (block,) = [text for text in SHELL if text.startswith("$ syntagma")]
    command, *expected = block.splitlines()
    done = syntagma(*shlex.split(command.removeprefix("$ syntagma ")))
    scores = re.compile(r"^ +-?\d+\.\d{3}  ")
    assert [scores.sub("", line) for line in done.stdout.strip().splitlines()] == [
        scores.sub("", line) for line in expected
    ]


@needs_models
def test_the_first_commands(syntagma: Run) -> None:
    (block,) = [text for text in SHELL if "make demo" in text]
    (line,) = [line for line in block.splitlines() if "syntagma" in line]
    words = shlex.split(line, comments=True)[1:]
    done = syntagma(*(["It seems like he has made a mistake." if word == "..." else word for word in words]))
    assert len([line for line in done.stdout.splitlines() if line]) == 5


@needs_models
@pytest.mark.parametrize("snippet", PYTHON)
def test_python(snippet: str) -> None:
    names: dict[str, Any] = {"text": "It seems like he has made a mistake."}
    lines = snippet.replace("growth.finish()", "grown = growth.finish()")
    exec(compile(lines, "README.md", "exec"), names)
    if "grown" in names:
        best = names["grown"][0].text
        assert best.lower().startswith("he ")
        assert best.endswith(", right?")
    assert str(names["tree"]).startswith("(TOP")


@needs_models
@pytest.mark.slow
def test_training_on_your_own_pairs(syntagma: Run, tmp_path: Path) -> None:
    """As it stands there, but on two dozen pairs, with the smallest network and for a few steps."""
    (block,) = [text for text in SHELL if "syntagma train" in text]
    pairs = [(f"I saw {n} dogs.", f"There were {n} dogs that I saw.") for n in range(24)]
    (tmp_path / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    smaller = {"--dev 500": "--dev 4 --vocab-size 300", "--preset small": "--preset tiny", '"..."': '"I saw 3 dogs."'}
    smaller["--minutes 150"] = "steps=6 batch_tokens=600"
    for old, new in smaller.items():
        assert old in block
        block = block.replace(old, new)
    for line in block.splitlines():
        done = syntagma(*shlex.split(line)[1:])
    assert "<T> -> " in done.stdout
