"""Arrows point up the list of modules only (CONTRIBUTING.md)."""

from __future__ import annotations

import ast
from pathlib import Path

import syntagma

ORDER = [
    "errors", "client", "protobuf", "aliases", "files", "stopwatch", "settings", "hub", "process", "executors",
    "tree", "levels", "template",
    "text", "network", "convert", "backbone", "runtime", "runs", "parse",
    "metrics", "corpus", "backtranslation", "search",
    "train", "distillation", "recipes", "serve", "bench", "cli", "demo", "__main__", "__init__",
]  # fmt: skip
ROOT = Path(syntagma.__file__).parent


def imported(path: Path) -> set[str]:
    """The modules of the package that a file imports anywhere, by their first name."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        found |= {name.split(".")[1] for name in names if name.startswith("syntagma.")}
    return found


def test_no_import_points_down() -> None:
    wrong = []
    for path in ROOT.rglob("*.py"):
        mine = path.relative_to(ROOT).parts[0].removesuffix(".py")
        wrong += [f"{path.name} imports {name}" for name in imported(path) if ORDER.index(name) > ORDER.index(mine)]
    assert wrong == []
