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
import importlib.util
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent
_SCRIPTED, _SEARCH = "tests/search/test_scripted.py", "tests/search/test_search.py"
TARGETS: dict[str, list[str]] = {
    "levels.py": ["tests/test_levels.py", "tests/network/test_contexts.py"],
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
    "search/hypothesis.py": [_SCRIPTED],
    "search/infill_beam.py": [
        _SCRIPTED,
        f"{_SEARCH}::TestLexicalConstraint",
        f"{_SEARCH}::TestAlgorithm::test_equals_the_plain_algorithm",
        f"{_SEARCH}::TestAlgorithm::test_pruning_saves_work",
    ],
    "search/request.py": [
        _SCRIPTED,
        f"{_SEARCH}::TestAlgorithm::test_copies_are_left_out_where_there_is_something_else",
        f"{_SEARCH}::TestLexicalConstraint",
        f"{_SEARCH}::TestGrowth",
        f"{_SEARCH}::TestSteering",
    ],
    "search/scheduler.py": [
        _SCRIPTED,
        f"{_SEARCH}::test_what_is_finished_leaves_at_once",
        f"{_SEARCH}::test_a_fair_scheduler_finishes_ordinary_requests_beside_hard_ones",
        "tests/search/test_memory.py",
    ],
    "search/bounds.py": [
        _SCRIPTED,
        f"{_SEARCH}::TestAlgorithm::test_bounds_save_work_and_change_nothing_on_a_trained_model",
        f"{_SEARCH}::TestAlgorithm::test_equals_the_plain_algorithm",
        "tests/search/constraints/test_lexical.py::test_bounds_change_nothing_with_required_words",
        "tests/search/test_pins.py::test_bounds_know_of_the_reward",
    ],
    "search/competition.py": [
        _SCRIPTED,
        "tests/search/test_growth.py",
        f"{_SEARCH}::test_the_search_says_why_a_hypothesis_was_dropped",
        f"{_SEARCH}::TestLexicalConstraint",
        f"{_SEARCH}::TestDiversity",
        f"{_SEARCH}::TestAlgorithm::test_bounds_save_work_and_change_nothing_on_a_trained_model",
        f"{_SEARCH}::TestAlgorithm::test_copies_are_left_out_where_there_is_something_else",
    ],
    "search/rerank.py": [
        "tests/search/test_rerank.py",
        f"{_SEARCH}::TestAlgorithm::test_texts_without_room_to_be_written_in_one_go_are_still_ordered",
        f"{_SEARCH}::TestAlgorithm::test_a_model_that_never_wrote_whole_texts_is_refused_at_once",
        f"{_SEARCH}::TestAlgorithm::test_the_noisy_channel_counts",
        f"{_SEARCH}::TestAlgorithm::test_joint_reranking_orders_what_the_search_found",
        f"{_SEARCH}::TestAlgorithm::test_seq2seq_reranking_orders_what_the_search_found",
    ],
    "search/result.py": [
        _SCRIPTED,
        "tests/search/test_rerank.py",
        f"{_SEARCH}::TestGrowth",
        f"{_SEARCH}::TestSteering",
    ],
    "search/growth.py": ["tests/search/test_growth.py"],
    "search/document.py": ["tests/search/test_document.py"],
    "search/selection.py": ["tests/search/test_selection.py", f"{_SEARCH}::TestDiversity"],
    "search/constraints/characters.py": ["tests/search/constraints/test_characters.py"],
    "search/constraints/copy.py": ["tests/search/constraints/test_copy.py"],
    "search/constraints/grammar.py": [
        f"{_SEARCH}::TestWellFormed::test_brackets_always_close_within_their_tokens",
        f"{_SEARCH}::TestWellFormed::test_free_brackets_end_within_their_tokens_and_are_read_as_a_tree",
        f"{_SEARCH}::TestWellFormed::test_the_grammar_always_ends_within_its_tokens",
        _SCRIPTED,
        f"{_SEARCH}::TestAlgorithm::test_equals_the_plain_algorithm",
    ],
    "search/constraints/lexical.py": ["tests/search/constraints/test_lexical.py"],
    "search/constraints/lexicon.py": ["tests/search/constraints/test_lexicon.py"],
    "search/constraints/literals.py": ["tests/search/constraints/test_literals.py"],
    "search/constraints/ngrams.py": ["tests/search/constraints/test_ngrams.py"],
    "search/constraints/pins.py": [
        f"{_SEARCH}::TestGrowth",
        "tests/search/constraints/test_lexicon.py::test_what_the_user_writes_stands",
    ],
    "search/constraints/repeats.py": ["tests/search/constraints/test_repeats.py"],
    "search/constraints/template.py": [
        _SCRIPTED,
        "tests/search/test_growth.py",
        f"{_SEARCH}::TestSteering",
        "tests/search/test_pins.py::test_rewards_fall_where_the_template_matches_and_nowhere_else",
    ],
    "search/constraints/unary.py": ["tests/search/constraints/test_unary.py"],
}
LIBRARIES = ("pytest", "hypothesis", "numpy", "torch", "onnxruntime", "tokenizers", "sacrebleu", "typer", "fastapi")
_MOST_SECONDS = 600
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


def sites(source: str) -> list[int]:
    """The numbers of the places of a module that can be changed."""
    return [number for number, node in enumerate(places(ast.parse(source))) if change(node) is not None]


def mutant(source: str, number: int) -> tuple[str, str]:
    """The mutant of a module at one of its sites: what was done and where, and the module with it."""
    tree = ast.parse(source)
    changed: Any = places(tree)[number]
    done = change(changed)
    where = f"line {changed.lineno}, column {changed.col_offset + 1}"
    return f"{where}: {done}", ast.unparse(ast.fix_missing_locations(tree))


def notices(folder: Path, file: str, seconds: int) -> tuple[str, float]:
    """What the tests of a file say of the sources in a folder: passed, failed or timeout; and the time they took.

    That is the processor's time: beside other load the clock would take a slow machine for a bug.
    """
    arguments = [
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
        "--hypothesis-profile",
        "mutants",
        *TARGETS[file],
    ]
    doctests = folder / "syntagma" / file
    if ">>>" in doctests.read_text(encoding="utf-8"):
        arguments.append(str(doctests))
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        _test(folder, arguments)
    end = time.monotonic() + _MOST_SECONDS
    while time.monotonic() < end:
        ended, status, used = os.wait4(child, os.WNOHANG)
        if ended:
            verdict = "timeout" if os.WIFSIGNALED(status) else "failed" if status else "passed"
            return verdict, used.ru_utime + used.ru_stime
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout", _MOST_SECONDS


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


def _register_profile() -> None:
    """Fewer examples than usual, and no smaller one of those that fail: which it is does not matter here."""
    from hypothesis import HealthCheck, Phase, settings

    slow = [HealthCheck.too_slow]
    phases = [Phase.explicit, Phase.generate]
    settings.register_profile("mutants", deadline=None, max_examples=20, phases=phases, suppress_health_check=slow)


def copied(folder: Path) -> Path:
    """The sources once more; bundled models are linked to."""
    package = ROOT / "src" / "syntagma"
    shutil.copytree(package, folder / "syntagma", ignore=shutil.ignore_patterns("bundled", "__pycache__"))
    (folder / "syntagma" / "bundled").symlink_to(package / "bundled")
    return folder


def run(files: list[str], report: Path, sample: int, seed: int, minutes: float) -> dict[str, dict[str, str]]:
    """The verdict on each mutant by file, in the report as well after each."""
    verdicts: dict[str, dict[str, str]] = json.loads(report.read_text()) if report.exists() else {}
    limits: dict[tuple[str, ...], int] = {}
    end = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as place:
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(Path(place) / "hypothesis")
        for library in LIBRARIES:
            importlib.import_module(library)
        _register_profile()
        folder = copied(Path(place) / "src")
        for file in files:
            path = folder / "syntagma" / file
            source = path.read_text(encoding="utf-8")
            every = sites(source)
            chosen = random.Random(f"{seed} {file}").sample(every, min(sample, len(every)))
            known = verdicts.setdefault(file, {})
            if all(mutant(source, number)[0] in known for number in chosen):
                continue
            tests = tuple(TARGETS[file])
            if tests not in limits:
                verdict, used = notices(folder, file, _MOST_SECONDS)
                if verdict != "passed":
                    raise SystemExit(f"the tests of {file} fail without a bug: {' '.join(tests)}")
                limits[tests] = 10 + 3 * int(used)
            for what, changed in (mutant(source, number) for number in chosen):
                if what in known:
                    continue
                if time.monotonic() > end:
                    return verdicts
                path.write_text(changed, encoding="utf-8")
                Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
                verdict, _ = notices(folder, file, limits[tests])
                known[what] = {"passed": "survived", "failed": "killed", "timeout": "killed (time)"}[verdict]
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
