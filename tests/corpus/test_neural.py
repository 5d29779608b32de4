"""The bundled parser, where it is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from syntagma.corpus import CorpusOptions, Input, prepare
from syntagma.hub import bundled
from syntagma.parse.base import DEFAULT

pytestmark = [
    pytest.mark.skipif(DEFAULT not in bundled("network"), reason="the bundled parser is not there"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def test_targets_are_parsed(tmp_path: Path) -> None:
    from syntagma.parse import load_parser

    rows = [
        "I ate it.\tI ate an apple.",
        "No.\tThe old man didn't see the dog in the garden.",
        "He's in.\tHe is (still) in.",
    ]
    (tmp_path / "a.tsv").write_text("\n".join(rows) + "\n")
    options = CorpusOptions(inputs=(Input(str(tmp_path / "a.tsv")),), both_ways=True, vocab_size=400)
    corpus = prepare(options, tmp_path / "out", workers=1)
    parser = load_parser("neural")
    assert corpus.facts["parser"] == {"name": parser.name, "version": parser.version}
    assert len(corpus) == 6
    for pair in corpus:
        assert pair.full == parser.parse([[word.text for word in pair.words]])[0]
