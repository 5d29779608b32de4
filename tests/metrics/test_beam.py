from __future__ import annotations

import pytest

from syntagma.errors import ConfigError
from syntagma.metrics import BeamQuality, Bleu, Candidate, DLexBeam, DSyn, DSynBeam, Segment, SelfBleu, lexical_distance
from syntagma.tree import Tree

A, B, C = "a b c d e", "a b c d f", "x b c d e"
TREES = [
    Tree.read("(TOP (S (NP a) (VP b)))"),
    Tree.read("(TOP (S (NP a) (PP b)))"),
    Tree.read("(TOP (NP (DT a) (NN b)))"),
]


def segment(*texts: str, ref: str = A, src: str = C) -> Segment:
    return Segment(
        texts[0], (ref,), src, nbest=tuple(Candidate(text, tree) for text, tree in zip(texts, TREES, strict=False))
    )


def test_mutual_distances_are_means_over_pairs_then_segments() -> None:
    three = [lexical_distance(A, B), lexical_distance(A, C), lexical_distance(B, C)]
    one = lexical_distance(A, "q")
    found = DLexBeam().corpus([segment(A, B, C), segment(A, "q"), segment(A)])[0].value
    assert found == pytest.approx(100 * (sum(three) / 3 + one) / 2)  # a list of one has no pair


def test_mutual_syntactic_distance() -> None:
    d_syn = DSyn()
    pairs = [d_syn.distance(TREES[0], TREES[1]), d_syn.distance(TREES[0], TREES[2]), d_syn.distance(TREES[1], TREES[2])]
    assert DSynBeam().corpus([segment(A, B, C)])[0].value == pytest.approx(100 * sum(pairs) / 3)
    assert "trees:induced" in DSynBeam().signature()


def test_quality_is_the_mean_over_ranks() -> None:
    segments = [segment(A, B, C), segment(B, A, ref=B, src=A), segment(C, B, A, ref=C)]
    ranks = [[s._replace(hyp=s.nbest[rank].text) for s in segments if len(s.nbest) > rank] for rank in range(3)]
    bleu = sum(Bleu().corpus(rank)[0].value for rank in ranks) / 3
    self_bleu = sum(SelfBleu().corpus(rank)[0].value for rank in ranks) / 3
    found = BeamQuality(beam=5).corpus(segments)  # two ranks that no list has do not count
    assert [score.value for score in found] == pytest.approx([bleu, 0.7 * bleu - 0.3 * self_bleu])
    assert [score.name for score in found] == ["beam_bleu", "beam_ibleu"]


def test_a_list_longer_than_the_beam() -> None:
    with pytest.raises(ConfigError, match="--beam 3"):
        BeamQuality(beam=2).corpus([segment(A, B, C)])
