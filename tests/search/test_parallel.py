from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from search_models import TEXTS, random_model
from syntagma.cli.generate import _workers
from syntagma.files import scan_lines
from syntagma.network.storage import save_pretrained
from syntagma.search import Generator
from syntagma.search.parallel import SearchWork, parallel
from syntagma.text import Subwords, split

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    subwords = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
    about = {"search": {"max_depth": 4, "max_tokens": 10, "beam": 2}}
    save_pretrained(tmp_path / "model", random_model(subwords, 4), subwords, "# Random\n", about=about)
    return tmp_path / "model"


@pytest.mark.filterwarnings("ignore")  # Ray's own
@pytest.mark.parametrize("executor", ["local", "ray"])
def test_two_workers_give_what_one_gives(model: Path, executor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if executor == "ray":
        pytest.importorskip("ray")
    monkeypatch.setattr("syntagma.search.parallel.CHUNK", 2)
    texts = [*TEXTS, "", "I", "an apple"]
    alone = list(Generator.from_pretrained(model).stream(texts))
    in_parallel = list(parallel(SearchWork(str(model)), texts, executor, workers=2))
    for one, other in zip(alone, in_parallel, strict=True):
        assert isinstance(one, list)
        assert isinstance(other, list)
        assert [output.text for output in one] == [output.text for output in other]
        assert [output.score for output in one] == pytest.approx([output.score for output in other], abs=1e-4)
        assert [output.tree for output in one] == [output.tree for output in other]


def test_a_file_of_many_lines_gets_all_cores(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, syntagma: Run
) -> None:
    (tmp_path / "many.txt").write_text("an apple\n" * 520)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    for name, expected in (("many.txt", 2), ("model/README.md", 1)):
        workers, lines = _workers(scan_lines(tmp_path / name), "cpu")
        assert workers == expected
        assert list(lines) == (tmp_path / name).read_text().splitlines()  # none is lost to the counting
    given = ("--model", model, "-i", tmp_path / "many.txt")
    in_parallel = syntagma("generate", *given)
    assert in_parallel.stdout == syntagma("generate", *given, "--workers", "1").stdout
    assert in_parallel.stdout.count("\n") == 520
