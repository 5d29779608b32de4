"""A trained model writes the same with ONNX Runtime and with torch."""

from __future__ import annotations

import gzip
from importlib import util
from pathlib import Path
from types import ModuleType

import pytest

from syntagma.runtime.folder import load_model
from syntagma.runtime.onnx import OnnxRuntime
from syntagma.runtime.torch import TorchRuntime

ROOT = Path(__file__).parents[2]
PAIRS = ROOT / "tests" / "data" / "translation" / "tatoeba-de-en" / "test.tsv.gz"
COUNT = 30


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """`tools/same_results.py`, which is no part of the package."""
    spec = util.spec_from_file_location("same_results", ROOT / "tools" / "same_results.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rows() -> list[list[str]]:
    with gzip.open(PAIRS, "rt", encoding="utf-8") as lines:
        return [next(lines).rstrip("\n").split("\t") for _ in range(COUNT)]


@pytest.mark.slow
def test_a_bundled_model_writes_the_same(tool: ModuleType, rows: list[list[str]], tmp_path: Path) -> None:
    """Thirty sentences, all texts of a beam of 5, in fp32."""
    tool.export("translate-de-en", tmp_path / "fp32", "fp32")
    kinds = [type(load_model(tmp_path / "fp32", "cpu", precision).runtime) for precision in (None, "fp32")]
    assert kinds == [OnnxRuntime, TorchRuntime]
    sources = [source for source, _ in rows]
    ours, theirs = (tool.search(tmp_path / "fp32", sources, 5, precision) for precision in (None, "fp32"))
    assert sum(map(len, ours)) > 2 * COUNT
    for one, other in zip(ours, theirs, strict=True):
        assert [output.text for output in one] == [output.text for output in other]
        assert [output.score for output in one] == pytest.approx([output.score for output in other], abs=1e-4)
    found = tool.compare_runtimes(tmp_path / "fp32", sources[:3], 5)
    assert found["same_texts"] == 3
    assert found["largest_difference"] < 1e-4


def test_precisions_are_compared_by_their_best_texts(tool: ModuleType) -> None:
    from syntagma.search import Output

    references = ["the cat sat on the mat", "he ate an apple today"]
    sources = ["a cat sat there", "an apple was what he ate"]
    exact = [[Output(text, 0.0, None, ()), Output("x", -1.0, None, ())] for text in references]
    copied = [[Output(text, 0.0, None, ())] for text in (references[0], sources[1])]
    found = tool.compare_precisions({"fp32": exact, "int8": copied}, sources, references)
    assert found["fp32"]["bleu"] == 100
    assert found["int8"]["bleu"] < 100
    assert found["difference"]["bleu"]["value"] == pytest.approx(found["int8"]["bleu"] - 100, abs=0.01)
    assert found["difference"]["self_bleu"]["value"] > 0 > found["difference"]["ibleu"]["value"]
    assert found["same_best_texts"] == 1
