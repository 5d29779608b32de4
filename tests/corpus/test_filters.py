from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntagma.corpus.chunks import align
from syntagma.corpus.filters import (
    Selection,
    measure,
    normalise,
    refuse_lengths,
    refuse_script,
    refuse_swaps,
    script_share,
)
from syntagma.corpus.hashing import KeySet, either_way_key, mix, pair_key
from syntagma.corpus.noise import with_noise
from syntagma.corpus.options import CorpusOptions, Input
from syntagma.corpus.readers import InputRow
from syntagma.errors import ConfigError
from syntagma.text import join, split
from syntagma.tree import KEPT_LABELS, Tree

HERE = (Input("a.tsv"),)


@given(st.text())
def test_normalised_targets_have_single_spaces(text: str) -> None:
    plain = normalise(text)
    assert normalise(plain) == plain
    words = split(plain).words
    assert join(words) == plain
    assert all(word.space in ("", " ") for word in words)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("  a \t b\u00a0c\u3000 ", "a b c"),
        ("-LRB- x -rrb- -LSB- -RCB-", "( x ) [ }"),
        ("a-LRB-b -LRB-", "a-LRB-b ("),
        ("a -lrb- b", "a ( b"),
        ("b-c B-side", "b-c B-side"),
    ],
)
def test_normalise(text: str, plain: str) -> None:
    assert normalise(text) == plain


@pytest.mark.parametrize(
    ("options", "source", "target", "reason"),
    [
        ({}, "a b", "c", None),
        ({"min_words": 2}, "a b", "c", "too-short"),
        ({"max_words": 2}, "a b c", "c", "too-long"),
        ({"max_words": 3}, "aaaaaa bbbbbb cccccc", "c", None),
        ({"max_words": 2}, "aaaaaa bbbbbb cccccc", "c", "too-long"),
        ({"max_words": 3}, "c", "aaaaaa bbbbbb cccccc", None),
        ({"max_words": 2}, "c", "aaaaaa bbbbbb cccccc", "too-long"),
        ({"min_words": 2}, "aa bb", "aa bb", None),
        ({"min_words": 3}, "aa bb cc", "aa bb", "too-short"),
        ({"min_words": 2, "max_words": 2}, "don't", "a b", None),  # two words without a space
        ({"max_words": 6}, "他写了一封信", "He wrote it", None),
        ({"max_words": 4}, "他写了一封信", "He wrote it", "too-long"),
        ({"max_words": 2}, "他写了", "信", "too-long"),
        ({"max_ratio": 2.0}, "a b c d e", "c d", "length-ratio"),
        ({"max_ratio": 2.5}, "a b c d e", "c d", None),
        ({"max_ratio": 2.0}, "他写了一封信。", "He wrote a letter.", None),
    ],
)
def test_lengths(options: dict[str, float], source: str, target: str, reason: str | None) -> None:
    found = refuse_lengths(CorpusOptions(inputs=HERE, **options), source, target, split)  # type: ignore[arg-type]
    assert (found[0] if found else None) == reason


def test_swaps() -> None:
    options = CorpusOptions(inputs=HERE, no_swap=("he,him,his/she,her,hers", "yes/no"))
    assert refuse_swaps(options, "HE saw it.", "It was seen by her.") == ("swap", "the source has he, the target her")
    assert refuse_swaps(options, "He saw him.", "He saw her.") == (
        "swap",
        "the source has he and him, the target he and her",
    )
    assert refuse_swaps(options, "He saw Tom.", "Tom was seen.") is None  # nothing was exchanged
    assert refuse_swaps(options, "His dog's here.", "He has a dog here.") is None
    assert refuse_swaps(options, "Sheer luck, hers.", "That was hers.") is None
    assert refuse_swaps(options, "Yes!", "No!") is not None
    for wrong in ("he,him", "he/", "/"):
        with pytest.raises(ConfigError, match="has no two groups; write words such as"):
            CorpusOptions(inputs=HERE, no_swap=(wrong,))


def test_scripts() -> None:
    assert script_share("Straße 12!", "Latin") == 1
    assert script_share("他写了a", "Han") == 0.75
    assert script_share("カタカナ ひらがな 漢字", "Han+Hiragana+Katakana") == 1
    assert script_share("123 …", "Han") == 1
    options = CorpusOptions(inputs=HERE, source_script="Han", target_script="latin", script_share=0.6)
    assert refuse_script(options, "他写了", "He wrote") is None
    assert refuse_script(options, "He", "He") == ("script", "0.00 of the source's letters are Han")
    assert refuse_script(options, "他写了", "привет") is not None
    assert measure([]) == 0
    assert measure(["Äpfel", "é", "и", "x"]) == 4


def test_selection_by_column_and_by_share() -> None:
    options = CorpusOptions(inputs=HERE, where=("5=lex,that",), keep_fraction=("5=that:0.1",))
    selection = Selection.of(options)
    keys = [pair_key(str(number), "x") for number in range(4000)]
    assert all(selection.refuse(InputRow("f", 1, "train", others={"5": "lex"}), key) is None for key in keys[:50])
    assert selection.refuse(InputRow("f", 1, "train", others={"5": "none"}), 3) == ("where", "5 is 'none'")
    kept = [key for key in keys if selection.refuse(InputRow("f", 1, "train", others={"5": "that"}), key) is None]
    assert 320 < len(kept) < 480
    other = Selection.of(CorpusOptions(inputs=HERE, keep_fraction=("5=that:0.1",), seed=2))
    assert kept != [key for key in keys if other.refuse(InputRow("f", 1, "train", others={"5": "that"}), key) is None]


@pytest.mark.parametrize("item", ["kind", "=x", "kind=that", "kind=that:2", "kind=that:x"])
def test_unreadable_fraction(item: str) -> None:
    with pytest.raises(ConfigError, match="cannot be read; write it as COLUMN=VALUE:SHARE"):
        Selection.of(CorpusOptions(inputs=HERE, keep_fraction=(item,)))


@given(st.lists(st.lists(st.integers(0, 60), max_size=40), max_size=12))
def test_key_set_is_a_set(batches: list[list[int]]) -> None:
    keys, plain = KeySet(), set[int]()
    for batch in batches:
        expected = []
        for key in batch:
            expected.append(key not in plain)
            plain.add(key)
        assert keys.add(np.array(batch, np.uint64)).tolist() == expected
    assert len(keys) == len(plain)
    assert keys.has(np.arange(61, dtype=np.uint64)).tolist() == [key in plain for key in range(61)]


def test_key_set_grows_in_few_runs() -> None:
    keys = KeySet()
    everything = mix(np.arange(200_000, dtype=np.uint64), 1)
    for start in range(0, len(everything), 1000):
        assert keys.add(everything[start : start + 1000]).all()
    assert len(keys) == len(everything)
    assert len(keys._runs) < 10
    assert not keys.add(everything).any()


def test_keys() -> None:
    assert either_way_key("a", "b") == either_way_key("b", "a")
    assert pair_key("a", "b") != pair_key("b", "a")
    assert pair_key("a b", "c") != pair_key("a", "b c")


TREE = Tree.read("(S (NP (PRP I)) (VP (VBP see) (SBAR (S (NP (PRP it)) (VP (VBZ go) (PP (IN to) (NP (NN bed))))))))")


def test_noise_replaces_its_ratio_of_kept_labels() -> None:
    changed = total = 0
    for key in range(400):
        noisy = with_noise(TREE, KEPT_LABELS, 0.2, 1, key)
        assert noisy.words() == TREE.words()
        assert with_noise(TREE, KEPT_LABELS, 0.2, 1, key) == noisy
        for before, after in zip(TREE.walk, noisy.walk, strict=True):
            kept = before[0] == "(" and before[1:] in KEPT_LABELS
            assert kept or before == after
            total += kept
            changed += before != after
    assert 0.17 < changed / total < 0.23
    assert with_noise(TREE, KEPT_LABELS, 0.0, 1, 1) == TREE
    full = with_noise(TREE, KEPT_LABELS, 1.0, 1, 1)
    assert all(a != b for a, b in zip(TREE.walk, full.walk, strict=True) if a[1:] in KEPT_LABELS)
    assert with_noise(TREE, KEPT_LABELS, 0.5, 1, 1) != with_noise(TREE, KEPT_LABELS, 0.5, 2, 1)


def test_align() -> None:
    assert join(align(["``", "No", "''", ",", "he", "sa", "id", "."], '"No", he said.')) == '"No", he said.'  # type: ignore[arg-type]
    assert align(["a", "c"], "a b") == "'c' where the target has 'b'"
    assert align(["a"], "a b") == "nothing where the target has ' b'"
    assert align(["a", "b"], "a") == "'b' where the target has ''"


@given(st.text(alphabet="ab '\"(.", max_size=30))
def test_align_finds_the_words_of_a_text(text: str) -> None:
    plain = normalise(text)
    assert align(split(plain).texts(), plain) == split(plain).words
