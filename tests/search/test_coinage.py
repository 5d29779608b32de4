from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_models import TEXTS, random_model
from syntagma.errors import ConfigError
from syntagma.network.config import Architecture
from syntagma.search import Generator, SearchOptions
from syntagma.search.coinage import Coinage
from syntagma.text import Subwords, split
from syntagma.text.lexicon import Lexicon, letter_runs, words_of

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=330)
PIECES = {SUBWORDS.piece(at): at for at in range(SUBWORDS.first_text_id, SUBWORDS.size)}
KNOWN = "I can't have made a mistake, Élodie: a naïve “no” - 3 中."


def generator(architecture: Architecture = "extra-encoder", seed: int = 1, **options: Any) -> Generator:
    """A model with arbitrary preferences and few words."""
    defaults = SearchOptions.from_dict({"max_depth": 3, "coin": False} | options)
    return Generator(random_model(SUBWORDS, seed, architecture), SUBWORDS, defaults, Lexicon.of([KNOWN]))


def coined(text: str, source: str) -> list[bytes]:
    return [run for run in letter_runs(text.encode()) if run not in words_of(KNOWN) | words_of(source)]


@given(st.data(), st.sampled_from((KNOWN, "ÉLODIE made naïve mistake")), st.booleans())
def test_what_is_known_may_be_written_in_any_pieces(data: st.DataObject, text: str, is_source: bool) -> None:
    lexicon = Lexicon.of(["Don't!"] if is_source else [text])
    spelling = Coinage(lexicon, SUBWORDS).beside(*[text] * is_source)
    left, written = b" " + text.encode(), list[int]()
    while left:
        piece = data.draw(st.sampled_from([left[:size] for size in range(1, 9) if left[:size] in PIECES]))
        assert not spelling.coined(written)[PIECES[piece]]
        written.append(PIECES[piece])
        left = left[len(piece) :]
    assert not spelling.coined(written)[SUBWORDS.label_id("NP")]


@pytest.mark.parametrize(
    ("text", "next_piece", "coins"),
    [
        ("a mis", b"t", False), ("a mis", b"s", True), ("a mis", b" ", True), ("a mis", b".", True),
        ("a mistake", b" ", False), ("a mistake", b".", False), ("a mistake", b"s", True), ("a mistake", b"3", False),
        ("a", b"x", True), ("a-", b"q", True), ("a-", b"m", False), ("x", b"y", False), ("x", b"x", True),
    ],
)  # fmt: skip
def test_a_word_goes_on_only_towards_a_known_one(text: str, next_piece: bytes, coins: bool) -> None:
    spelling = Coinage(Lexicon.of([KNOWN]), SUBWORDS).beside("xyz")
    assert spelling.coined(SUBWORDS.encode(text))[PIECES[next_piece]] == coins


@pytest.mark.parametrize("architecture", ["extra-encoder", "seq2seq", "linearised"])
@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4}, {"beam": 3, "sample": True}], ids=str)
def test_an_untrained_model_writes_only_words(architecture: Architecture, options: dict[str, Any]) -> None:
    source = "Zoë ate an apple."
    made_up = 0
    for seed in range(3):
        model = generator(architecture, seed, **options)
        for output in model(source, nbest=3):
            assert not coined(output.text, source)
        made_up += sum(bool(coined(output.text, source)) for output in model(source, nbest=3, coin=True))
    assert made_up


def test_what_the_user_writes_stands() -> None:
    model = generator(beam=2)
    assert "Zork" in model("I made a mistake.", start="<NP> Zork <VP>")[0].text
    assert "zork" in model("I made a mistake.", must=["zork"], beam=4)[0].text.lower()
    growth = model.grow("I made a mistake.").replace(0, "<NP> <VP>").pin(0, 1, "zork")
    assert all("zork" in output.text for output in growth.finish())


def test_a_model_without_a_list_says_so() -> None:
    with pytest.raises(ConfigError, match="this model has no list of the words that it knows; use coin=true"):
        Generator(random_model(SUBWORDS), SUBWORDS)("I ate.", coin=False)
