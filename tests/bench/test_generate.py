from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from search_models import TEXTS, random_model
from syntagma.bench.generate import run
from syntagma.bench.team import Team
from syntagma.errors import InputError, SyntagmaError
from syntagma.network.storage import save_pretrained
from syntagma.text import Subwords, split


def test_every_engine_has_its_rows(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    subwords = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
    about = {"search": {"max_depth": 4, "max_tokens": 10, "score": "mean"}}
    for name, architecture in (("guided", "extra-encoder"), ("seq2seq", "seq2seq")):
        network = random_model(subwords, 4, architecture, norm="post")  # type: ignore[arg-type]
        save_pretrained(tmp_path / name, network, subwords, "", about=about)
    (tmp_path / "sources.txt").write_text("\n".join(TEXTS))
    rows = list(run(tmp_path, quick=True, cores=2, runs=1))
    peers = {"guided int8", "our seq2seq", "Hugging Face", "CTranslate2 float32", "CTranslate2 int8"}
    assert {row.peer for row in rows} == peers
    assert all(row.ours > 0 for row in rows)
    ratios = [row for row in rows if row.what.startswith("ratio: ")]
    assert [row.peer for row in ratios] == [
        p for p in ("Hugging Face", "CTranslate2 int8", "our seq2seq") for _ in "12"
    ]
    for row, name in zip(ratios, ["guided", "guided int8"] * 3, strict=True):
        assert row.what.startswith(f"ratio: {name}, beam 5, batch 32, best layout of each (3 sentences, median of 1, ")
        assert row.what.endswith("search score=mean max_depth=4 max_tokens=10)")
        assert row.ratio == pytest.approx(row.ours / (row.peers or 0))
    layouts = ("generate, beam 5, batch 32, 2 threads", "generate, beam 5, batch 32, 2 processes")
    for what in (*layouts, *(f"{layout}: tokens an output" for layout in layouts)):
        assert len([row for row in rows if row.what == what]) == 5
    here, spread = ({r.peer: r.peers for r in rows if r.what == f"{w}: tokens an output"} for w in layouts)
    del here["guided int8"], spread["guided int8"]  # rounded to the batch
    assert here == pytest.approx(spread)  # whoever writes them, the outputs are the same
    tokens = {row.peer: row.peers for row in rows if row.unit == "tokens"}
    assert tokens["Hugging Face"] == pytest.approx(tokens["CTranslate2 float32"], abs=1.5)


AS_T5 = {
    "norm_kind": "rms", "activation": "gated-gelu", "positions": "relative", "head_width": 16, "heads": 3,
    "output_embedding": True,
}  # fmt: skip


@pytest.mark.parametrize("shape", [{"norm": "post"}, AS_T5], ids=["as Marian", "as T5"])
def test_a_guided_model_alone_gets_rivals_of_its_size(tmp_path: Path, shape: dict[str, Any]) -> None:
    subwords = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
    about = {"search": {"max_depth": 4, "max_tokens": 10, "num_structures": 2, "rerank": "joint"}}
    save_pretrained(tmp_path / "model", random_model(subwords, 4, **shape), subwords, "", about=about)
    (tmp_path / "texts").write_text("\n".join(TEXTS))
    rows = list(run(tmp_path / "texts", model=str(tmp_path / "model"), quick=True, runs=1, settings=[(1, 2)]))
    ratios = [row for row in rows if row.what.startswith("ratio: ")]
    assert {"Hugging Face", "our seq2seq"} <= {row.peer for row in ratios}
    assert all(row.what.endswith("search max_depth=4 max_tokens=10)") for row in ratios)
    tokens = [(row.ours, row.peers) for row in rows if row.unit == "tokens" and row.peer == "Hugging Face"]
    assert all(peers <= round(ours) for ours, peers in tokens)


def test_only_a_guided_model_is_measured(tmp_path: Path) -> None:
    subwords = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
    save_pretrained(tmp_path, random_model(subwords, 4, "seq2seq"), subwords, "")
    with pytest.raises(InputError, match="this model is not guided"):
        list(run(model=str(tmp_path)))


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it has no guided, seq2seq, sources"):
        list(run(tmp_path))


def test_a_setting_that_cannot_be_read(syntagma: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    wrong = syntagma("bench", "generate", "--setting", "5", check=1)
    assert wrong.stderr == "syntagma: '5' is no setting; write BEAMxBATCH, such as 5x32\n"


def test_a_process_that_dies_is_said(tmp_path: Path) -> None:
    with pytest.raises(SyntagmaError, match="a process of the bench died"):
        Team(tmp_path / "nothing", TEXTS, 1, tmp_path)
