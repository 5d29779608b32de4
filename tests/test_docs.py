"""What the documents say holds: links, commands, options, Python, and the tutorial from its first line to its last."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from commands import COMMANDS
from syntagma.cli.settings import load_class
from syntagma.cli.train import _SETTINGS as TRAIN_SETTINGS
from test_layout import ORDER

Run = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[1]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "examples/README.md")),
    *sorted((ROOT / "src" / "syntagma" / "bundled").glob("*/README.md")),
    *DOCS,
]
USER_DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(page for page in DOCS if page.parent.name == "docs")]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(page: Path, kind: str) -> list[str]:
    """The fenced blocks of one kind."""
    return [text for found, text in _FENCE.findall(page.read_text(encoding="utf-8")) if found == kind]


def prose(page: Path) -> str:
    """A page without its blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """What GitHub and MkDocs call the headings of a page in links."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading.strip().lower()) for heading in headings]
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"https?:|mailto:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        outside = ROOT / "docs" in page.parents and ROOT / "docs" not in file.parents  # the site has docs/ only
        if outside or not file.exists() or (anchor and anchor not in anchors(file)):
            wrong.append(target)
    assert wrong == []


def test_the_short_documents_are_short() -> None:
    for name, most in (("README.md", 900), ("docs/lab-notes/style.md", 500)):
        assert len((ROOT / name).read_text(encoding="utf-8").split()) <= most, name


def test_the_layout_in_contributing_is_that_of_the_test() -> None:
    _, _, table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("| module |")
    named = re.findall(r"^\| (`.*?) \|", table.split("\n\n")[0], re.MULTILINE)
    assert re.findall(r"`(\w+)`", " ".join(named)) == [name for name in ORDER if not name.startswith("__")]


def written() -> list[str]:
    """Every command that the documents write, inline or in a block, and the examples of the help."""
    found = [line for one in COMMANDS.values() for line in re.findall(r"Example: syntagma (.*)", one.help or "")]
    for page in USER_DOCS:
        found += re.findall(r"`(?:\.venv/bin/)?syntagma ([^`]+)`", prose(page).replace("\n", " "))
        lines = [line for kind in ("", "sh") for text in blocks(page, kind) for line in text.splitlines()]
        found += [match.group(1) for line in lines if (match := re.match(r"(?:\$ |\S*/)?syntagma (.*)", line))]
    return found


@pytest.mark.parametrize("line", sorted(set(written())))
def test_commands_and_options_exist(line: str) -> None:
    words = [word for word in shlex.split(line.split(" #")[0].replace("...", "x")) if word]
    name = next((name for name in (" ".join(words[:2]), words[0]) if name in COMMANDS), None)
    if name is None:
        assert any(known.startswith(f"{words[0]} ") for known in COMMANDS)  # a group, such as `parser`
        return
    command = COMMANDS[name]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {word.partition("=")[0] for word in words if word.startswith("-") and len(word) > 1} <= known | {"--help"}
    classes = getattr(command, "where", TRAIN_SETTINGS if name == "train" else ())
    settings = {setting for place in classes for setting in get_type_hints(load_class(place))}
    given = {match.group(1) for word in words if (match := re.match(r"([a-z_]+)=", word))}
    assert not classes or given <= settings | {"test"}


def test_options_named_alone_exist() -> None:
    known = {option for one in COMMANDS.values() for p in one.params for option in (*p.opts, *p.secondary_opts)}
    for page in USER_DOCS:
        alone = set(re.findall(r"`(--[a-z][a-z-]*)[^`]*`", prose(page)))
        assert alone <= known | {"--help"}, page


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in USER_DOCS if blocks(page, "python")], ids=lambda page: page.stem)
def test_python(page: Path) -> None:
    """The blocks of a page, one after the other; those that need a running service are read only."""
    names: dict[str, Any] = {"text": "It seems like he has made a mistake."}
    for block in blocks(page, "python"):
        code = compile(block, page.name, "exec")
        if "syntagma.client" not in block:
            exec(code, names)


def test_the_figures_of_the_readme_are_those_of_the_results() -> None:
    results = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    rows = [line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if "| guided" in line]
    (start,) = [line for line in rows if line.startswith("| | guided")]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme[readme.index(start) :].split("\n\n")[0]
    assert table in results
    _, _, details = results.partition("## Paraphrase")
    for line in table.splitlines()[2:5]:
        figures = [figure for cell in line.split("|")[2:4] for figure in cell.split(" / ")]
        assert all(re.search(rf"\| {re.escape(figure.strip())}[ *]", details) for figure in figures), line


# What makes the tutorial short: smaller numbers, and no installation.
SMALLER = {
    "--dev 100 test=100 tokenizer=paraphrase-en": "--dev 6 test=6 vocab_size=500",
    "--minutes 12 init=paraphrase-en": "--preset tiny steps=6 batch_tokens=600 validate_every=3",
    "--precision int8": "--precision fp16",
}


@pytest.mark.slow
def test_every_line_of_the_tutorial_runs(
    syntagma: Run, tmp_path: Path, pairs: tuple[list[str], list[str]], free_port: int
) -> None:
    page = ROOT / "docs" / "tutorial.md"
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    for old, new in SMALLER.items():
        assert any(old in line for line in lines)
        lines = [line.replace(old, new) for line in lines]
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in zip(*pairs, strict=True)), encoding="utf-8")
    (tmp_path / "test.src").write_text("\n".join(pairs[0][:4]) + "\n", encoding="utf-8")
    (tmp_path / "test.tgt").write_text("\n".join(pairs[1][:4]) + "\n", encoding="utf-8")
    install = [line for line in lines if "venv" in line]
    assert len(install) == 3
    server: subprocess.Popen[str] | None = None
    try:
        for line in (line for line in lines if line not in install):
            words = shlex.split(line)
            if words[:2] == ["syntagma", "serve"]:
                command = [sys.executable, "-m", "syntagma", *words[1:], "--port", str(free_port)]
                server = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
                assert server.stderr is not None
                assert any("http://" in said for said in server.stderr)
            elif words[0] == "curl":
                assert _post(line.replace(":8000", f":{free_port}"))["results"]
            else:
                syntagma(*words[1:])
    finally:
        if server is not None:
            server.terminate()
            server.communicate(timeout=60)
    assert (tmp_path / "test.out").read_text(encoding="utf-8").count("\n") == 4
    assert {"config.json", "decoder.onnx", "model.safetensors", "words.txt"} <= set(os.listdir(tmp_path / "my-model"))


def _post(line: str) -> Any:
    """What a curl command would be answered."""
    import urllib.request

    words = shlex.split(line)
    address = next(word for word in words if word.startswith("http"))
    body = words[words.index("-d") + 1].encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


@pytest.fixture
def free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
