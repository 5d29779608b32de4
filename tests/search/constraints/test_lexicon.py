from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_models import TEXTS, random_model
from syntagma.errors import ConfigError
from syntagma.network.config import Architecture
from syntagma.network.contexts import AnnotatedContext
from syntagma.runtime.torch import TorchRuntime
from syntagma.search import Generator, SearchOptions, Steering
from syntagma.search.constraints.base import Allowed
from syntagma.search.constraints.grammar import END, LABELS, WORDS, InfillGrammar, InfillState
from syntagma.search.constraints.lexicon import Begun, LexiconConstraint, LexiconTable
from syntagma.search.hypothesis import Hypothesis
from syntagma.search.task import InfillTask
from syntagma.text import Subwords, split
from syntagma.text.lexicon import Lexicon, letter_runs, words_of

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=330)
PIECES = {SUBWORDS.piece(at): at for at in range(SUBWORDS.first_text_id, SUBWORDS.size)}
KNOWN = "I can't have made a mistake, Élodie: a naïve “no” - 3 中."


def generator(architecture: Architecture = "extra-encoder", seed: int = 1, **options: Any) -> Generator:
    """A model with arbitrary preferences and few words."""
    defaults = SearchOptions.from_dict({"max_depth": 3, "known_words_only": True} | options)
    return Generator(TorchRuntime(random_model(SUBWORDS, seed, architecture)), SUBWORDS, defaults, Lexicon.of([KNOWN]))


def coined(text: str, source: str) -> list[bytes]:
    return [run for run in letter_runs(text.encode()) if run not in words_of(KNOWN) | words_of(source)]


GRAMMAR = InfillGrammar(random_model(SUBWORDS).config, SUBWORDS)


def constraint(known: str, *texts: str) -> LexiconConstraint:
    return LexiconConstraint(LexiconTable(Lexicon.of([known]), SUBWORDS, GRAMMAR), *texts)


def allows(lexicon: LexiconConstraint, begun: Begun, token: int) -> bool:
    return token in lexicon.set_after(begun).ids


@given(st.data(), st.sampled_from((KNOWN, "ÉLODIE made naïve mistake")), st.booleans())
def test_what_is_known_may_be_written_in_any_pieces(data: st.DataObject, text: str, is_source: bool) -> None:
    lexicon = constraint("Don't!" if is_source else text, *[text] * is_source)
    left, begun = b" " + text.encode(), Begun()
    while left:
        piece = data.draw(st.sampled_from([left[:size] for size in range(1, 9) if left[:size] in PIECES]))
        if piece != b" ":  # which is no piece of a word
            assert allows(lexicon, begun, PIECES[piece])
        begun = lexicon.table.advance(begun, PIECES[piece])
        left = left[len(piece) :]
    assert not begun.sign
    assert not begun.run or lexicon.knows(begun.run)


@pytest.mark.parametrize(
    ("text", "next_piece", "coins"),
    [
        ("a mis", b"t", False), ("a mis", b"s", True), ("a mis", b".", True), ("a mistake", b".", False),
        ("a mistake", b"s", True), ("a mistake", b"3", False), ("a", b"x", True), ("a-", b"q", True),
        ("a-", b"m", False), ("x", b"y", False), ("x", b"x", True), ("3 ", b"\xe4", False), ("a", b"\xb8", True),
    ],
)  # fmt: skip
def test_a_word_goes_on_only_towards_a_known_one(text: str, next_piece: bytes, coins: bool) -> None:
    lexicon = constraint(KNOWN, "xyz")
    begun = lexicon.table.end_of(Begun(), text.encode())
    assert allows(lexicon, begun, PIECES[next_piece]) != coins


@pytest.mark.parametrize(
    ("context", "part", "may_end"),
    [
        ("can<NP>", "not", True), ("can<NP>", "no", False), ("can<NP>", "nots", False), ("can<NP>", " a", True),
        ("I can<NP> a", "not", True), ("<NP>not", "can", True), ("<NP>not", "a", False), ("<NP> not", "a", True),
        ("zork<NP>", " a", True),
    ],
)  # fmt: skip
def test_a_part_joins_what_stands_before_and_after_it(context: str, part: str, may_end: bool) -> None:
    """A part that begins, or ends, without a space is one word with its neighbour."""
    lexicon = constraint("I can not, a cannot")
    before, _, after = context.partition("<NP>")
    ids = [*spelled(before), SUBWORDS.label_id("NP"), *spelled(after)]
    request = generator().request(0, "a", Steering(), SearchOptions())
    hypothesis = Hypothesis(AnnotatedContext.plain(ids, GRAMMAR.config), 0.0, 1)
    request.constraints = (lexicon,)
    task = InfillTask(request, hypothesis, parts=1, labels=True, tokens=20)
    state = lexicon.advance(lexicon.begin(task), GRAMMAR.config.part)
    for token in spelled(part):
        state = lexicon.advance(state, token)
    allowed = Allowed(WORDS | LABELS | END, GRAMMAR.words, InfillState(0, 1, 9, labels=True))
    lexicon.mask(state, allowed)
    assert bool(allowed.kinds & END) == may_end


@pytest.mark.parametrize(("second", "may_end"), [("not", True), ("no", False), (" a", True)])
def test_a_part_joins_what_stands_between_it_and_the_part_before(second: str, may_end: bool) -> None:
    lexicon = constraint("I can not, a cannot")
    ids = [SUBWORDS.label_id("NP"), *spelled(" can"), SUBWORDS.label_id("NP"), *spelled(" I")]
    request = generator().request(0, "a", Steering(), SearchOptions())
    request.constraints = (lexicon,)
    hypothesis = Hypothesis(AnnotatedContext.plain(ids, GRAMMAR.config), 0.0, 1)
    state = lexicon.begin(InfillTask(request, hypothesis, parts=2, labels=True, tokens=20))
    for token in (GRAMMAR.config.part, *spelled("a"), GRAMMAR.config.part, *spelled(second)):
        state = lexicon.advance(state, token)
    allowed = Allowed(WORDS | LABELS | END, GRAMMAR.words, InfillState(0, 1, 9, labels=True))
    lexicon.mask(state, allowed)
    assert bool(allowed.kinds & END) == may_end


def spelled(text: str) -> list[int]:
    return [PIECES[text.encode()[at : at + 1]] for at in range(len(text.encode()))]


@pytest.mark.parametrize("architecture", ["extra-encoder", "seq2seq", "linearised"])
@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4}, {"beam": 3, "sample": True}], ids=str)
def test_an_untrained_model_writes_only_words(architecture: Architecture, options: dict[str, Any]) -> None:
    source = "Zoë ate an apple."
    made_up = 0
    for seed in range(3):
        model = generator(architecture, seed, **options)
        for output in model(source, nbest=3):
            assert not coined(output.text, source)
        made_up += sum(bool(coined(output.text, source)) for output in model(source, nbest=3, known_words_only=False))
    assert made_up


def test_what_the_user_writes_stands() -> None:
    model = generator(beam=2)
    assert "Zork" in model("I made a mistake.", start="<NP> Zork <VP>")[0].text
    assert "zork" in model("I made a mistake.", must=["zork"], beam=4)[0].text.lower()
    growth = model.grow("I made a mistake.").replace(0, "<NP> <VP>").pin(0, 1, "zork")
    assert all("zork" in output.text for output in growth.finish())


def test_a_model_without_a_list_says_so() -> None:
    with pytest.raises(
        ConfigError, match="this model has no list of the words that it knows; use known_words_only=false"
    ):
        Generator(TorchRuntime(random_model(SUBWORDS)), SUBWORDS)("I ate.", known_words_only=True)


@given(
    st.sets(st.text("aeinst", min_size=1, max_size=6), max_size=12),
    st.sampled_from((b"", b"a", b"s", b"te", b"na", b"ins", b"est")),
)
def test_pieces_along_words_are_those_that_begin_one(words: set[str], run: bytes) -> None:
    lexicon = Lexicon({word.encode() for word in words})
    table = LexiconTable(Lexicon.of([KNOWN]), SUBWORDS, GRAMMAR)
    starts = {word[len(run) :][:size] for word in lexicon.beginning_with(run) for size in range(1, 7)} - {b""}
    letters = {piece: token for piece, token in PIECES.items() if piece.isalpha() and piece.islower()}
    found = set(table.completing(run, lexicon))
    assert {token for piece, token in letters.items() if piece in starts} <= found
    assert {SUBWORDS.piece(token).lower() for token in found} <= starts
    assert {SUBWORDS.piece(token)[1:].lower() for token in table.first_pieces(lexicon)} <= {
        word.encode()[:size] for word in words for size in range(1, 7)
    }


@given(st.sets(st.text("aeinst", min_size=1, max_size=6), max_size=80), st.sampled_from((b"", b"a", b"st")))
def test_pieces_are_the_same_from_the_words_as_from_the_pieces(words: set[str], run: bytes) -> None:
    """Few words are looked through one by one, of many words it is asked for each piece whether one goes on so."""
    lexicon = Lexicon(map(str.encode, words))
    table = LexiconTable(lexicon, SUBWORDS, GRAMMAR)
    letters = [token for token in GRAMMAR.words.ids.tolist() if SUBWORDS.piece(token).isalpha()]
    expected = [token for token in letters if lexicon.begins(run + SUBWORDS.piece(token).lower())]
    assert sorted(table.completing(run, lexicon)) == expected
