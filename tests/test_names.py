"""One class name, one meaning (docs/architecture.md)."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import syntagma

ROOT = Path(syntagma.__file__).parent


def test_no_class_name_is_used_twice() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(path.relative_to(ROOT).as_posix())
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_no_private_names_of_other_libraries() -> None:
    private = re.compile(r"\b(?:torch|np|numpy|typer|click|rich|tokenizers|safetensors|onnxruntime|uvicorn)\._[a-z]\w*")
    used = {
        f"{path.relative_to(ROOT).as_posix()}: {name}"
        for path in ROOT.rglob("*.py")
        for name in private.findall(path.read_text(encoding="utf-8"))
    }
    assert used == set()


def test_docstrings_are_imperatives_or_noun_phrases() -> None:
    begun = []
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                begun += [f"{path.name}: {line}" for line in (ast.get_docstring(node) or "").splitlines()[:1]]
    assert len(begun) > 1000
    assert [line for line in begun if ": What " in line[:60]] == []
