"""Small deliberate bugs, one at a time, and whether the tests notice: a bounded mutation run.

    python tools/mutate.py --report mutants.json --sample 25 --minutes 15

Each target is a file with the tests that should notice its bugs.  A mutant changes one comparison, boolean operator,
number or return value.  The sources are copied, so the working tree is not touched.  A report that is there is gone on
with: mutants that it holds are not run again.  Tests run in a fork of a process that has the large libraries loaded, in
the order in which they stand below, until the first that fails: so the cheap ones come first.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent
TARGETS: dict[str, list[str]] = {
    "levels.py": ["tests/test_levels.py"],
    "template/guide.py": ["tests/template"],
    "template/shape.py": ["tests/template"],
    "template/syntax.py": ["tests/template"],
    "files.py": ["tests/test_files.py"],
    "cli/output.py": ["tests/cli/test_output.py"],
    "serve/middleware.py": ["tests/serve/test_middleware.py", "tests/serve/test_app.py"],
    "corpus/filters.py": ["tests/corpus/test_filters.py"],
    "corpus/backtranslation/filters.py": ["tests/corpus/backtranslation/test_filters.py"],
    "runs/checkpoint.py": ["tests/runs/test_checkpoint.py"],
    "runs/schedule.py": ["tests/train/test_schedule.py"],
    "search/hypothesis.py": ["tests/search/test_scripted.py", "tests/search/test_search.py"],
    "search/infill_beam.py": ["tests/search/test_scripted.py", "tests/search/test_search.py"],
    "search/request.py": ["tests/search/test_search.py"],
    "search/scheduler.py": ["tests/search/test_scripted.py", "tests/search/test_search.py"],
    "search/rerank.py": ["tests/search/test_search.py"],
    "search/result.py": ["tests/search/test_search.py"],
    "search/growth.py": ["tests/search/test_growth.py"],
    "search/document.py": ["tests/search/test_document.py"],
    "search/selection.py": ["tests/search/test_selection.py", "tests/search/test_search.py"],
    "search/constraints/characters.py": ["tests/search/constraints/test_characters.py"],
    "search/constraints/copy.py": ["tests/search/constraints/test_copy.py"],
    "search/constraints/grammar.py": ["tests/search/test_scripted.py", "tests/search/test_search.py"],
    "search/constraints/lexical.py": ["tests/search/constraints/test_lexical.py"],
    "search/constraints/lexicon.py": ["tests/search/constraints/test_lexicon.py"],
    "search/constraints/pins.py": ["tests/search/test_search.py"],
    "search/constraints/repeats.py": ["tests/search/constraints/test_repeats.py"],
    "search/constraints/template.py": [
        "tests/search/test_pins.py",
        "tests/search/test_scripted.py",
        "tests/search/test_growth.py",
    ],
    "search/constraints/unary.py": ["tests/search/constraints/test_unary.py"],
}
LIBRARIES = ("pytest", "hypothesis", "numpy", "torch", "onnxruntime", "tokenizers", "sacrebleu", "typer", "fastapi")
OTHERS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


def places(tree: ast.Module) -> list[ast.AST]:
    """Every node of the code itself; annotations and what only type checkers see are left out."""
    found: list[ast.AST] = []

    def visit(node: ast.AST) -> None:
        found.append(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "type_params"):
                continue
            if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child)

    visit(tree)
    return found


def change(node: Any) -> str | None:
    """Change a node in place; what was done, or None where there is nothing to change."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OTHERS:
        before = ast.unparse(node)
        node.ops[0] = OTHERS[type(node.ops[0])]()
        return f"{before} -> {ast.unparse(node)}"
    if isinstance(node, ast.BoolOp):
        before = ast.unparse(node)
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return f"{before} -> {ast.unparse(node)}"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        before = ast.unparse(node)
        node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)
        return f"{before} -> without the not"
    if isinstance(node, ast.Constant) and type(node.value) is int:
        node.value += 1
        return f"{node.value - 1} -> {node.value}"
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        node.value = not node.value
        return f"{not node.value} -> {node.value}"
    if isinstance(node, ast.Return) and node.value is not None:
        if isinstance(node.value, ast.Constant) and node.value.value is None:
            return None
        before = ast.unparse(node)
        node.value = ast.Constant(None)
        return f"{before} -> return None"
    return None


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """Each mutant of a module: what was done and where, and the module with it."""
    tree = ast.parse(source)
    for number, node in enumerate(places(tree)):
        if change(copy.deepcopy(node)) is None:
            continue
        mutant = ast.parse(source)
        changed = places(mutant)[number]
        done = change(changed)
        yield f"line {getattr(changed, 'lineno', 0)}: {done}", ast.unparse(ast.fix_missing_locations(mutant))


def notices(folder: Path, file: str, seconds: float) -> str:
    """What the tests of a file say of the sources in a folder: passed, failed or timeout."""
    arguments = [
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
        *TARGETS[file],
    ]
    doctests = folder / "syntagma" / file
    if ">>>" in doctests.read_text(encoding="utf-8"):
        arguments.append(str(doctests))
    child = os.fork()
    if child == 0:
        _test(folder, arguments)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return "passed" if status == 0 else "failed"
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


def _test(folder: Path, arguments: list[str]) -> NoReturn:
    """Run tests against the sources in a folder, in a process and group of its own that ends with their code."""
    os.setpgid(0, 0)
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(quiet, stream)
    os.chdir(ROOT)
    os.environ["PYTHONPATH"] = str(folder)
    sys.path.insert(0, str(folder))
    code = 1
    try:
        code = int(sys.modules["pytest"].main(arguments))
    finally:
        os._exit(code)


def copied(folder: Path) -> Path:
    """The sources once more; bundled models are linked to."""
    package = ROOT / "src" / "syntagma"
    shutil.copytree(package, folder / "syntagma", ignore=shutil.ignore_patterns("bundled", "__pycache__"))
    (folder / "syntagma" / "bundled").symlink_to(package / "bundled")
    return folder


def run(files: list[str], report: Path, sample: int, seed: int, minutes: float) -> dict[str, dict[str, str]]:
    """The verdict on each mutant by file, in the report as well after each."""
    verdicts: dict[str, dict[str, str]] = json.loads(report.read_text()) if report.exists() else {}
    end = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as place:
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(Path(place) / "hypothesis")
        for library in LIBRARIES:
            importlib.import_module(library)
        folder = copied(Path(place) / "src")
        for file in files:
            path = folder / "syntagma" / file
            source = path.read_text(encoding="utf-8")
            every = list(mutants(source))
            chosen = random.Random(f"{seed} {file}").sample(every, min(sample, len(every)))
            known = verdicts.setdefault(file, {})
            begun = time.monotonic()
            if notices(folder, file, 600) != "passed":
                raise SystemExit(f"the tests of {file} fail without a bug: {' '.join(TARGETS[file])}")
            seconds = 10 + 3 * (time.monotonic() - begun)
            for what, mutant in chosen:
                if what in known:
                    continue
                if time.monotonic() > end:
                    return verdicts
                path.write_text(mutant, encoding="utf-8")
                known[what] = {"passed": "survived", "failed": "killed", "timeout": "killed (time)"}[
                    notices(folder, file, seconds)
                ]
                report.write_text(json.dumps(verdicts, indent=1, ensure_ascii=False))
                print(f"{file} {what}: {known[what]}", flush=True)
            path.write_text(source, encoding="utf-8")
    return verdicts


def main() -> None:
    """Run the mutants that the options choose, and say how many of each file were killed."""
    options = argparse.ArgumentParser(description="Deliberate bugs, one at a time, and whether the tests notice.")
    options.add_argument("files", nargs="*", default=[], help=f"of: {', '.join(TARGETS)}; without any, all of them")
    options.add_argument("--report", type=Path, default=Path("mutants.json"))
    options.add_argument("--sample", type=int, default=25, help="the most mutants of a file")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--minutes", type=float, default=15.0)
    given = options.parse_args()
    verdicts = run(given.files or list(TARGETS), given.report, given.sample, given.seed, given.minutes)
    for file, known in verdicts.items():
        counts = Counter(verdict.split()[0] for verdict in known.values())
        print(f"{file}: {counts['killed']} of {len(known)} killed")


if __name__ == "__main__":
    main()
