"""What several of these tests share: the 800 pairs, where they are, and peers, where they are installed."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def paranmt(shared: Path) -> tuple[list[str], list[str]]:
    """The sources and the references of ParaNMT-small's test set."""
    folder = shared / "paraphrase" / "paranmt-small-test"
    src, tgt = ((folder / name).read_text("utf-8").splitlines() for name in ("test.src", "test.tgt"))
    assert len(src) == len(tgt) == 800
    return src, tgt


@pytest.fixture(scope="session")
def py_rouge() -> Callable[[list[str], list[list[str]]], list[tuple[float, float, float]]]:
    """The F of ROUGE-1, 2 and L by py-rouge, a row a segment."""
    spec = find_spec("rouge")
    if spec is None or spec.origin is None or find_spec("nltk") is None:
        pytest.skip("py-rouge is not installed")
    folder = Path(spec.origin).parent
    if "pkg_resources" not in sys.modules and find_spec("pkg_resources") is None:  # gone from newer setuptools
        stand_in = types.ModuleType("pkg_resources")
        stand_in.resource_filename = lambda _, name: str(folder / name)  # type: ignore[attr-defined]
        sys.modules["pkg_resources"] = stand_in
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import rouge
        from nltk.tokenize import NLTKWordTokenizer

    words = NLTKWordTokenizer()  # what word_tokenize uses, without the sentence model that it downloads
    rouge.Rouge.tokenize_text = staticmethod(lambda text, language="english": words.tokenize(text))
    peer = rouge.Rouge(
        metrics=["rouge-n", "rouge-l"], max_n=2, limit_length=True, length_limit=100, length_limit_type="words",
        apply_avg=True, stemming=True, alpha=0.5, weight_factor=1.2,
    )  # fmt: skip

    def scores(hyps: list[str], refs: list[list[str]]) -> list[tuple[float, float, float]]:
        made = [peer.get_scores([hyp], [ref]) for hyp, ref in zip(hyps, refs, strict=True)]
        return [(row["rouge-1"]["f"], row["rouge-2"]["f"], row["rouge-l"]["f"]) for row in made]

    return scores
