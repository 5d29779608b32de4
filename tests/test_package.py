"""The wheel has every file of the package, stays small, and says its version in one voice."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import syntagma

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "syntagma"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FILES = [file for file in PACKAGE.rglob("*") if file.is_file() and "__pycache__" not in file.parts]


def test_every_file_goes_into_the_wheel() -> None:
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["syntagma"]
    packed = {file for pattern in patterns for file in PACKAGE.glob(pattern)}
    assert [file.name for file in FILES if file.suffix != ".py" and file not in packed] == []
    folders = {file.parent for file in FILES if file.suffix == ".py"}
    assert [folder.name for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_the_wheel_is_small() -> None:
    """Weights hardly shrink when they are packed, so their size is nearly the wheel's."""
    assert sum(file.stat().st_size for file in FILES) < 100_000_000


def test_one_version() -> None:
    version = syntagma.__version__
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == version


def test_extras_of_the_documents_exist() -> None:
    extras = set(PROJECT["project"]["optional-dependencies"])
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / "Makefile"]:
        named = re.findall(r"\.\[([a-z0-9,]+)\]", page.read_text(encoding="utf-8"))
        assert {name for names in named for name in names.split(",")} <= extras, page
