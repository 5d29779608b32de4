from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_models import TEXTS, random_model
from syntagma.network.config import Architecture
from syntagma.network.contexts import AnnotatedContext
from syntagma.runtime.torch import TorchRuntime
from syntagma.search import Generator, SearchOptions
from syntagma.search.constraints.base import Allowed
from syntagma.search.constraints.characters import CharacterConstraint, ReadableConstraint, half_character
from syntagma.search.constraints.grammar import END, WORDS, InfillGrammar, InfillState
from syntagma.search.hypothesis import Hypothesis
from syntagma.text import Subwords, split

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)


@given(st.text(max_size=4), st.integers(0, 3))
def test_half_a_character_can_become_a_whole_one(text: str, cut: int) -> None:
    data = text.encode(errors="replace")
    begun = half_character(data[: max(0, len(data) - cut)])
    assert begun is not None
    assert data[: max(0, len(data) - cut)].endswith(begun)
    assert half_character(data) == b""


@pytest.mark.parametrize("data", [b"\xff", b"a\x80", b"\xed\xaf", b"\xf5", b"\xc3\xc3", b"\xe0\x80"])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    assert half_character(data) is None


@pytest.mark.parametrize("architecture", ["extra-encoder", "seq2seq", "linearised"])
@pytest.mark.parametrize("options", [{"beam": 3}, {"beam": 3, "sample": True}], ids=str)
def test_no_text_holds_a_replacement_character(architecture: Architecture, options: dict[str, object]) -> None:
    """Models without training like any bytes; half of their texts would be broken."""
    settings = SearchOptions.from_dict({"max_depth": 4, "max_tokens": 9} | options)
    for seed in range(5):
        generator = Generator(TorchRuntime(random_model(SUBWORDS, seed, architecture)), SUBWORDS, settings)
        for text in ("I \N{GRINNING FACE} you", "Это", TEXTS[0]):
            found = generator(text)
            assert found
            for output in found:
                assert "\N{REPLACEMENT CHARACTER}" not in output.text
                assert output.text.encode().decode() == output.text


def test_a_character_may_have_several_pieces_while_there_are_tokens_for_them() -> None:
    grammar = InfillGrammar(random_model(SUBWORDS).config, SUBWORDS)
    constraint = CharacterConstraint(grammar, SUBWORDS)
    pieces = {SUBWORDS.piece(token): token for token in grammar.words.ids.tolist()}

    def allows(begun: bytes, piece: bytes, tokens_left: int) -> bool:
        allowed = Allowed(WORDS | END, grammar.words, InfillState(0, 1, tokens_left, labels=False))
        constraint.mask(begun, allowed)
        return pieces[piece] in allowed.words.ids

    assert [allows(b"", b"\xc3", left) for left in (9, 1)] == [True, False]
    assert [allows(b"\xc3", b"\xa9", left) for left in (9, 1)] == [True, True]
    assert not allows(b"\xc3", b"a", 1)


def test_many_parts_without_tokens_left_still_end() -> None:
    """Where tokens have run out, a part of one token is a character, so that no infill grows beyond its bounds."""
    settings = SearchOptions(beam=3, max_tokens=40, max_depth=3)
    for seed in range(4):
        generator = Generator(TorchRuntime(random_model(SUBWORDS, seed)), SUBWORDS, settings)
        assert generator(TEXTS[0], start=" ".join(["<NP>"] * 30))


def test_a_text_with_a_replacement_character_is_left_out() -> None:
    class Characters:
        def decode(self, ids: tuple[int, ...]) -> str:
            return "".join(map(chr, ids))

    def context(text: str) -> Hypothesis:
        zeros = [0] * len(text)
        return Hypothesis(AnnotatedContext([*map(ord, text)], zeros, zeros, zeros), 0.0, 2)

    constraint = ReadableConstraint(Characters())  # type: ignore[arg-type]
    assert [constraint.keep(context(text)) for text in ("né", "n\N{REPLACEMENT CHARACTER}")] == [True, False]
