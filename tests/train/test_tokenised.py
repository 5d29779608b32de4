from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from syntagma.corpus import CorpusOptions, prepare
from syntagma.corpus.options import Input
from syntagma.train import tokenised
from syntagma.train.tokenised import Tokenised


def test_ids_in_mapped_files_are_the_corpus_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"He saw {n} dogs ." if n % 2 else f"The {n} men who left saw her again ." for n in range(30)]
    (tmp_path / "pairs.tsv").write_text("".join(f"{text} x\t{text}\n" for text in texts))
    corpus = prepare(
        CorpusOptions(inputs=(Input(str(tmp_path / "pairs.tsv")),), vocab_size=330), tmp_path / "c", workers=1
    )
    split = corpus.split("train")
    monkeypatch.setattr(tokenised, "_BLOCK", 7)
    made = Tokenised.of(split, corpus.subwords, tmp_path / "ids")
    assert len(made) == len(split)
    for number in (0, 6, 7, len(split) - 1):
        mine, theirs = made[number], split.examples[number]
        assert mine.source_ids.tolist() == theirs.source_ids.tolist()
        assert [level.infill.tolist() for level in mine.levels] == [level.infill.tolist() for level in theirs.levels]
    for mine, theirs in zip(made.lengths(), split.examples.lengths(), strict=True):
        assert mine.tolist() == theirs.tolist()
    assert made._ends["levels"].dtype == np.int64, "a corpus of the size of WMT'14 has more ids than 32 bits count"
    monkeypatch.setattr(tokenised, "write_ids", None)
    again = Tokenised.of(split, corpus.subwords, tmp_path / "ids")
    assert again[3].target_ids.tolist() == made[3].target_ids.tolist()


def test_ids_beyond_what_32_bits_count_are_found(tmp_path: Path) -> None:
    """The last pair's ids stand behind a hole of more than 2**31 others, which takes no room on the disk."""
    far = 2**31 + 5
    for name in ("source", "target", "linear", "levels"):
        with open(tmp_path / f"{name}.ids", "wb") as stream:
            stream.seek(4 * far)
            stream.write(np.array([7, 8, 9], np.int32).tobytes())
        (tmp_path / f"{name}.ends").write_bytes(np.array([far, far + 3], np.int64).tobytes())
    (tmp_path / "sizes.ids").write_bytes(np.array([1, 1, 2, 1], np.int32).tobytes())
    (tmp_path / "sizes.ends").write_bytes(np.array([2, 4], np.int64).tobytes())
    made = Tokenised(tmp_path)
    assert made[1].source_ids.tolist() == made[1].linear_ids.tolist() == [7, 8, 9]
    assert [(level.context.tolist(), level.infill.tolist()) for level in made[1].levels] == [([7, 8], [9])]
    lengths = made._lengths(1, 2)
    assert (lengths.source.tolist(), lengths.contexts.tolist(), lengths.longest_infill.tolist()) == ([3], [2], [1])
