from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import pytest

from syntagma.hub import find_folder
from syntagma.metrics import Rouge, Segment
from syntagma.metrics.porter import stem

Peer = Callable[[list[str], list[list[str]]], list[tuple[float, float, float]]]

# made with py-rouge 1.1
CASES = [
    (
        "the children went running home",
        ["a child goes home to run"],
        (8 / 11, 2 / 9, 0.6037844108173039),
    ),
    (
        "i 'm gonna cannot believe it !",
        ["i am going to not believe it"],
        (3 / 7, 1 / 6, 0.493574459856087),
    ),
    ("mice are accidentally geese", ["a mouse is an accidental goose"], (0.0, 0.0, 0.0)),
    (
        "the agreement was well-known , generally speaking .",
        ["their agreements are generally known well"],
        (8 / 13, 0.0, 0.37463577753270705),
    ),
    ("word " * 120 + "last", ["word " * 100 + "last"], (1.0, 1.0, 1.0)),
    ("", ["a b"], (0.0, 0.0, 0.0)),
    (". , !", ["a b"], (0.0, 0.0, 0.0)),
    ("Hello World 42", ["hello world"], (0.8, 2 / 3, 0.832645395540376)),
    ("one two three four", ["four three two one"], (1.0, 0.0, 0.3149802624737183)),
    (
        "the cat sat on the mat",
        ["a cat sat on a mat", "the cats are sitting"],
        (6 / 11, 1 / 3, 0.6037844108173039),
    ),
]


@pytest.mark.parametrize(("hyp", "refs", "expected"), CASES)
def test_golden(hyp: str, refs: list[str], expected: tuple[float, float, float]) -> None:
    assert Rouge().values(Segment(hyp, tuple(refs))) == pytest.approx(expected, abs=1e-12)


def test_golden_is_what_py_rouge_gives(py_rouge: Peer) -> None:
    found = py_rouge([hyp for hyp, _, _ in CASES], [refs for _, refs, _ in CASES])
    np.testing.assert_allclose(found, [expected for _, _, expected in CASES], atol=1e-12)


def test_equal_to_py_rouge_on_the_pairs_both_ways(pairs: tuple[list[str], list[str]], py_rouge: Peer) -> None:
    src, tgt = pairs
    for hyps, refs in ((src, tgt), (tgt, src)):
        ours = Rouge().statistics([Segment(hyp, (ref,)) for hyp, ref in zip(hyps, refs, strict=True)])[:, :3]
        np.testing.assert_allclose(ours, py_rouge(hyps, [[ref] for ref in refs]), atol=1e-9, rtol=0)


def test_equal_to_py_rouge_with_several_references(pairs: tuple[list[str], list[str]], py_rouge: Peer) -> None:
    src, tgt = (side[:100] for side in pairs)
    refs = [[one, other] for one, other in zip(tgt, reversed(src), strict=True)]
    ours = Rouge().statistics([Segment(hyp, tuple(both)) for hyp, both in zip(src, refs, strict=True)])[:, :3]
    np.testing.assert_allclose(ours, py_rouge(src, refs), atol=1e-9, rtol=0)


EXAMPLES = """
caresses>caress ponies>poni ties>ti cats>cat feed>feed agreed>agre plastered>plaster bled>bled motoring>motor
sing>sing conflated>conflat troubled>troubl sized>size hopping>hop tanned>tan falling>fall hissing>hiss
fizzed>fizz failing>fail filing>file happy>happi sky>sky relational>relat conditional>condit rational>ration
valency>valenc hesitancy>hesit digitizer>digit conformably>conform radically>radic differently>differ
vilely>vile analogously>analog vietnamization>vietnam predication>predic operator>oper feudalism>feudal
decisiveness>decis hopefulness>hope callousness>callous formality>formal sensitivity>sensit
sensibility>sensibl triplicate>triplic formative>form formalize>formal electricity>electr electrical>electr
hopeful>hope goodness>good revival>reviv allowance>allow inference>infer airliner>airlin gyroscopic>gyroscop
adjustable>adjust defensible>defens irritant>irrit replacement>replac adjustment>adjust dependent>depend
adoption>adopt homologou>homolog communism>commun activate>activ angularity>angular homologous>homolog
effective>effect bowdlerize>bowdler probate>probat rate>rate cease>ceas controll>control roll>roll
"""


@pytest.mark.parametrize("example", EXAMPLES.split())
def test_porters_own_examples(example: str) -> None:
    word, expected = example.split(">")
    assert stem(word) == expected


@pytest.mark.skipif(find_spec("nltk") is None, reason="nltk is not installed")
def test_stems_are_nltks() -> None:
    from nltk.stem.porter import PorterStemmer

    peer = PorterStemmer(PorterStemmer.ORIGINAL_ALGORITHM)
    known = find_folder("paraphrase-en", "model", "model") / "words.txt"
    words = [word for word in known.read_text("utf-8").split() if word.isalpha() and word.isascii()][::10]
    assert len(words) > 1000
    assert [(word, stem(word)) for word in words] == [(word, peer.stem(word)) for word in words]
