"""The ids of pretrained tokenizers: lossless, out of reach of control ids, and canonical between levels."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network.backbone.tiny import byte_level, unigram
from strategies import trees
from syntagma.corpus.encoding import as_begun
from syntagma.errors import InputError, LabelError
from syntagma.levels import PART, TOP, Label, levels
from syntagma.network.config import ModelConfig
from syntagma.network.contexts import AnnotatedContext
from syntagma.text.pretrained import Controls, PretrainedVocabulary
from syntagma.text.vocabulary import load_vocabulary
from syntagma.text.words import Word
from syntagma.tree import Tree, prune

LABELS = ("S", "NP", "VP", "PP")
TYPED = [
    "<s>",
    "</s>",
    "<pad>",
    "<unk>",
    "<mask>",
    "madeupword0000",
    "<extra_id_3>",
    "<NP>",
    "<c>",
    " <NP> x",
    "Ġ",
    "▁",
]
plain = st.text("abcdeINTfish'.,!?()<>/_ 12", min_size=1, max_size=6).filter(lambda word: word.split() == [word])


@cache
def vocabulary(kind: str) -> PretrainedVocabulary:
    if kind == "unigram":
        tokenizer, taken = unigram(), [f"<extra_id_{number}>" for number in range(7)]
        pad, end = "<pad>", "</s>"
    else:
        taken = [f"madeupword{number:04d}" for number in range(7)]
        tokenizer = byte_level(["<s>", "<pad>", "</s>", "<unk>", *taken, "<mask>"], bos=True)
        pad, end = "<pad>", "</s>"
    ids = [tokenizer.token_to_id(token) for token in taken]
    labels = dict(zip(("T", *LABELS), ids[2:], strict=True))
    special = [at for at, token in tokenizer.get_added_tokens_decoder().items() if token.special]
    controls = Controls(tokenizer.token_to_id(pad), 0, tokenizer.token_to_id(end), ids[0], ids[1], labels)
    return PretrainedVocabulary.adapt(tokenizer.to_str(), controls, tokenizer.get_vocab_size(), special)


def config(kind: str) -> ModelConfig:
    found = vocabulary(kind)
    return ModelConfig(found.size, part=found.controls.part, labels=tuple(found.controls.labels.values()))


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_bytes_come_back(text: str) -> None:
    found = vocabulary("bytes")
    ids = found.encode(text)
    assert found.decode(ids) == text
    assert not found.controls.ids & set(ids)


@pytest.mark.parametrize("kind", ["bytes", "unigram"])
@pytest.mark.parametrize("text", TYPED)
def test_no_text_reaches_a_control_id(kind: str, text: str) -> None:
    found = vocabulary(kind)
    for typed in (text, f"I saw {text} there", f"a{text}b"):
        ids = found.encode(typed)
        assert not found.controls.ids & set(ids)
        assert not any(found.is_label(at) for at in ids)
        if kind == "bytes" or ("Ġ" not in text and "▁" not in text):
            assert found.decode(ids) == typed


@pytest.mark.parametrize("kind", ["bytes", "unigram"])
def test_spacing_is_kept(kind: str) -> None:
    found = vocabulary(kind)
    tokens = (Word("He"), Word("ca"), Word("n't", ""), Label("NP"), Word(",", ""), PART, Word("mat"), Word(".", ""))
    ids = found.encode_tokens(tokens)
    assert tuple(found.decode_tokens(ids)) == tokens
    assert found.decode(ids) == "He can't, mat."
    assert found.encode("can't")[0] == found.encode_words([Word("x", ""), Word("can't")])[1][0]


@pytest.mark.parametrize("kind", ["bytes", "unigram"])
@given(tree=trees(plain), data=st.data())
def test_an_expanded_context_has_the_ids_of_preparation(kind: str, tree: Tree, data: st.DataObject) -> None:
    found, shape = vocabulary(kind), config(kind)
    pruned = prune(tree, LABELS)
    words = as_begun([Word(word, data.draw(st.sampled_from(["", " "]))) for word in pruned.words()])
    prepared = [tuple(map(found.encode_tokens, level)) for level in levels(pruned, words)]
    context = prepared[0][0]
    for depth, (wanted, infill) in enumerate(prepared, 1):
        assert context == wanted
        if data.draw(st.booleans()):  # the same text in other pieces
            infill = [at for piece in infill for at in _apart(found, piece)]
        grown = AnnotatedContext.plain(context, shape).expand(infill, depth + 1, shape)
        context = found.canonical(grown.ids)
    assert context == found.encode_tokens(words) == found.canonical(context)


def _apart(found: PretrainedVocabulary, at: int) -> list[int]:
    """An id as those of its characters, where there are some."""
    if found.is_label(at) or at in found.controls.ids:
        return [at]
    letters = [one for letter in found._text([at]) for one in found._run(letter)]
    return letters if found._text(letters) == found._text([at]) else [at]


def test_folders_keep_a_vocabulary(tmp_path: Path) -> None:
    for kind in ("bytes", "unigram"):
        found = vocabulary(kind)
        found.save(tmp_path / "tokenizer.json")
        again = load_vocabulary(tmp_path / "tokenizer.json")
        assert again.fingerprint == found.fingerprint
        assert again.encode("I can't </s>") == found.encode("I can't </s>")
        assert (again.labels, again.size) == (LABELS, found.size)


def test_labels_and_words() -> None:
    found = vocabulary("bytes")
    assert found.label_id("T") == found.encode_tokens([TOP])[0]
    with pytest.raises(LabelError, match="'X' is not a label"):
        found.label_id("X")
    words = {at for at in range(found.size) if found.is_word(at)}
    assert not words & found.controls.ids
    assert {*found.encode("fish on"), found.blank} <= words
    assert not words & {*found._run("\n")}
    with pytest.raises(InputError, match="surrogate"):
        found.encode("\ud800")
