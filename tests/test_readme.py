"""The README's commands give what it shows.  Links, options and Python of all documents: test_docs.py."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from test_docs import COMMANDS, ROOT, blocks

Run = Callable[..., "subprocess.CompletedProcess[str]"]
SHELL = blocks(ROOT / "README.md", "")
SHOWN = [text for text in SHELL if text.startswith("$ syntagma")]
_SCORE = re.compile(r"^ +-?\d+\.\d{3}  ", re.MULTILINE)


def test_what_is_said_of_json_and_input_holds() -> None:
    """Commands that give figures or make something take --json; those for texts and trees take -i."""
    without = {
        name for name, one in COMMANDS.items() if not any("--json" in parameter.opts for parameter in one.params)
    }
    assert without == {"train", "parser train", "parser convert", "serve"}


def test_all_commands_are_named() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {name.split()[0] for name in COMMANDS} <= set(re.findall(r"`([a-z-]+)`", text))


@pytest.mark.parametrize("block", SHOWN, ids=["five paraphrases", "trace"])
def test_commands_write_what_is_shown(block: str, syntagma: Run) -> None:
    """Scores apart, which differ from engine to engine."""
    command, _, expected = block.partition("\n")
    done = syntagma(*shlex.split(command.removeprefix("$ syntagma ")))
    assert _SCORE.sub("", done.stdout).strip() == _SCORE.sub("", expected).strip()


def test_the_first_commands(syntagma: Run) -> None:
    (block,) = [text for text in SHELL if "make demo" in text]
    (line,) = [line for line in block.splitlines() if "syntagma" in line]
    words = shlex.split(line, comments=True)[1:]
    done = syntagma(*(["It seems like he has made a mistake." if word == "..." else word for word in words]))
    assert len([line for line in done.stdout.splitlines() if line]) == 5


@pytest.mark.slow
def test_training_on_your_own_pairs(syntagma: Run, tmp_path: Path, pairs: tuple[list[str], list[str]]) -> None:
    """As it stands there, but on a few pairs, with the smallest network and for a few steps."""
    (block,) = [text for text in SHELL if "syntagma train" in text]
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in zip(*pairs, strict=True)), encoding="utf-8")
    smaller = {
        "--dev 500 tokenizer=paraphrase-en": "--dev 4 vocab_size=300",
        "--minutes 150 init=paraphrase-en": "--preset tiny steps=6 batch_tokens=600",
        '"..."': '"I saw 3 dogs."',
    }
    for old, new in smaller.items():
        assert old in block
        block = block.replace(old, new)
    for line in block.splitlines():
        if line.startswith("syntagma"):
            done = syntagma(*shlex.split(line)[1:])
    assert "<T> -> " in done.stdout
