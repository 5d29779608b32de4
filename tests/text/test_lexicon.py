from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntagma.errors import InputError
from syntagma.text.lexicon import Lexicon, letter_runs, open_run, words_of

TEXT = st.text(st.sampled_from("aAbéÉßž' -.3“中"), max_size=12)


@given(TEXT)
def test_a_text_has_its_own_words_in_any_case(text: str) -> None:
    lexicon = Lexicon.of([text])
    assert all(lexicon.knows(run) for run in letter_runs(text.encode()))
    assert all(lexicon.knows(run) for run in letter_runs(text.lower().encode()))


@given(TEXT)
def test_what_is_written_so_far_ends_in_the_beginning_of_a_word(text: str) -> None:
    lexicon, written = Lexicon.of([text]), text.encode()
    for end in range(len(written) + 1):
        assert next(lexicon.beginning_with(open_run(written[:end])), b"") or not open_run(written[:end])
    assert open_run(written) in (b"", *letter_runs(written))


@given(st.lists(TEXT, max_size=4))
def test_a_file_keeps_the_words(texts: list[str]) -> None:
    lexicon = Lexicon.of(texts)
    words = set().union(*map(words_of, texts))
    assert set(lexicon.beginning_with(b"")) == words
    assert len(lexicon) == len(words)


def test_saving_and_loading(tmp_path: Path) -> None:
    lexicon = Lexicon.of(["Don't be naïve, Élodie."])
    lexicon.save(tmp_path / "words.txt")
    assert (tmp_path / "words.txt").read_text(encoding="utf-8").split("\n")[:3] == ["be", "do", "don"]
    assert list(Lexicon.load(tmp_path / "words.txt").beginning_with(b"")) == list(lexicon.beginning_with(b""))


def test_a_list_is_read_whatever_its_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(b"\xef\xbb\xbfbe\r\ndo\r\nna\xc3\xafve\r\n")
    assert list(Lexicon.load(path).beginning_with(b"")) == [b"be", b"do", "naïve".encode()]
    path.write_bytes(b"be\ndo\n\xff\n")
    with pytest.raises(InputError, match=r"words.txt, line 3, column 1: the byte 0xff is not UTF-8 text"):
        Lexicon.load(path)


@given(st.sets(st.text("abc", min_size=1, max_size=4)), st.text("abc", max_size=4))
def test_begins_is_whether_a_word_begins_so(words: set[str], start: str) -> None:
    lexicon = Lexicon(map(str.encode, words))
    assert lexicon.begins(start.encode()) == any(word.startswith(start) for word in words)
