"""Arrows point up the list of modules only (CONTRIBUTING.md)."""

from __future__ import annotations

import ast
from pathlib import Path

import syntagma

ORDER = [
    "errors", "client", "protobuf", "aliases", "files", "stopwatch", "settings", "hub", "process", "executors",
    "tree", "levels", "template", "text", "network", "runtime", "runs", "parse", "metrics", "corpus", "search", "train",
    "recipes", "serve", "bench", "cli", "demo", "__main__", "__init__",
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


LONGEST = 400
LONGER: set[str] = set()
"""Modules that are still to be split."""


def test_modules_fit_a_reader() -> None:
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in ROOT.rglob("*.py")}
    assert {name for name, lines in lengths.items() if lines > LONGEST} <= LONGER


ACROSS = {"data", "faults", "studio"}
"""Folders of tests that belong to several parts, or to no Python module."""


def test_tests_mirror_the_package() -> None:
    """Each folder of tests has its package; a test beside them is for a module, or for all of it."""
    tests = Path(__file__).parent
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")} - {Path()}
    strange = {folder for folder in folders if folder.parts[0] not in ACROSS and not (ROOT / folder).is_dir()}
    assert strange == set()
