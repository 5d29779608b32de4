"""The examples run as they stand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
EXPECTED = {
    "batch": ("not done: column", "do I?"),
    "grow": ("one step back", "the end: He ", ", right?"),
    "measure": ("beam 5:", "bleu:", "d_lex:"),
    "paraphrase": ("(TOP (S", "how the best one grew:", "<T>"),
    "steer": ("as it likes", ", right?", "looks"),
}


def test_every_example_is_tested_and_listed() -> None:
    scripts = {file.stem for file in EXAMPLES.glob("*.py")}
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert scripts == set(EXPECTED)
    assert all(f"({file.name})" in listed for file in EXAMPLES.iterdir() if file.suffix in (".py", ".ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_script(name: str, tmp_path: Path) -> None:
    command = [sys.executable, EXAMPLES / f"{name}.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert all(part in done.stdout for part in EXPECTED[name]), done.stdout


def test_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    """Its cells, in order; they are plain Python."""
    notebook = json.loads((EXAMPLES / "tour.ipynb").read_text(encoding="utf-8"))
    names: dict[str, object] = {}
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    shown = capsys.readouterr().out
    assert "True He left." in shown
    assert "<c> <S>" in shown
