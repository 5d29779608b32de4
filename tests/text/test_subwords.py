from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from strategies import trees
from syntagma.errors import InputError, LabelError, SyntagmaError
from syntagma.levels import PART, TOP, Label, levels
from syntagma.text import Subwords, Word, split
from syntagma.text.subwords import END, PAD, PART_ID, TOP_ID
from syntagma.tree import Tree, prune

TEXTS = [
    "I can't eat an apple.",
    "I ate an apple, then I ate two apples.",
    "<NP> ate </s>",
    "Äpfel und Birnen",
    "⟨NP⟩",
] * 3


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return Subwords.train((split(text).words for text in TEXTS), size=320)


_SHARED = Subwords.train((split(text).words for text in TEXTS), size=320)


@given(st.text())
def test_decode_undoes_encode(text: str) -> None:
    ids = _SHARED.encode(text)
    assert _SHARED.decode(ids) == text
    assert all(at >= _SHARED.first_text_id for at in ids)


@pytest.mark.parametrize(
    "text", ["<NP>", "<c>", "</s>", "⟨NP⟩", "⟨c⟩", "⟨end⟩", "<pad>", "<T>", " <NP>", "<0x41>", "Ġ", "▁"]
)
def test_no_text_reaches_a_control_id(subwords: Subwords, text: str) -> None:
    assert subwords.decode(subwords.encode(text)) == text
    assert min(subwords.encode(text)) >= subwords.first_text_id


def test_pieces_carry_the_space_and_stay_inside_words(subwords: Subwords) -> None:
    words = split("I can't eat an apple.").words
    by_word = [b"".join(subwords.piece(at) for at in ids).decode() for ids in subwords.encode_words(words)]
    assert by_word == [" I", " ca", "n't", " eat", " an", " apple", "."]
    assert subwords.encode("apple")[0] == subwords.encode("an apple")[-1]


def test_unusual_white_space_is_kept(subwords: Subwords) -> None:
    for text in ("", " ", "  a", "a  b", "a\tb\r\n", "\u00a0x \u3000"):
        assert subwords.decode(subwords.encode(text)) == text


def test_labels_and_controls(subwords: Subwords) -> None:
    assert subwords.labels == ("S", "NP", "VP", "PP")
    assert subwords.label_id("T") == TOP_ID
    assert subwords.is_label(subwords.label_id("PP"))
    assert not subwords.is_label(PART_ID)
    assert not subwords.is_label(subwords.first_text_id)
    with pytest.raises(LabelError, match="'ADJP' is not a label of this vocabulary"):
        subwords.label_id("ADJP")
    tokens = [PART, Label("NP"), Word("ate", " "), Word(".", ""), TOP]
    ids = subwords.encode_tokens(tokens)
    assert ids[:2] == [PART_ID, subwords.label_id("NP")]
    assert subwords.decode_tokens([*ids, END, PAD]) == tokens


@given(trees(leaf=st.sampled_from(["I", "<NP>", "äp", "fel", "1"])))
def test_levels_survive_as_ids(tree: Tree) -> None:
    words = [Word(text) for text in tree.words()]
    ids = _SHARED.encode_words(words)
    for level in levels(prune(tree), ids):
        back = _SHARED.decode_tokens(_SHARED.encode_tokens(level.context))
        assert [t for t in back if isinstance(t, Label)] == [t for t in level.context if isinstance(t, Label)]


def test_saved_and_loaded(subwords: Subwords, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "tokenizer.json"
    subwords.save(path)
    again = Subwords.load(path)
    assert again.fingerprint == subwords.fingerprint
    assert again.encode("I can't <NP>") == subwords.encode("I can't <NP>")
    assert Tokenizer.from_file(str(path)).get_vocab_size() == subwords.size
    assert [entry.name for entry in path.parent.iterdir()] == ["tokenizer.json"]


def test_training_is_reproducible(subwords: Subwords) -> None:
    assert Subwords.train((split(text).words for text in TEXTS), size=320).fingerprint == subwords.fingerprint


def test_errors(subwords: Subwords, tmp_path: Path) -> None:
    with pytest.raises(SyntagmaError, match="too small"):
        Subwords.train([], size=100)
    with pytest.raises(InputError, match="surrogate"):
        subwords.encode("a\ud800")
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(InputError, match="not a tokenizer"):
        Subwords.load(tmp_path / "x.json")
    with pytest.raises(InputError, match="cannot be opened"):
        Subwords.load(tmp_path / "none.json")
