from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntagma.text import sentences

PIECES = st.sampled_from(
    ["Tom", "left", ".", "!", "?", '"', "(", ")", "“", "”", " ", "  ", "\n", "Mr.", "5", "…", "。", "我"]
)


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_sentences_are_the_text(text: str) -> None:
    found = sentences(text)
    assert "".join(found) == text
    assert all(piece.strip() for piece in found[1:])


@pytest.mark.parametrize(
    "cut",
    [
        ["I like it.", " Do you?", " Yes!"],
        ["Mr. Li met Dr. No at 5 p.m. and left.", " It was late."],
        ["He paid $5.50.", " 20 people saw it."],
        ['"Stop! Come here," he said.', " He ran."],
        ['"Stop!" Tom said.'],
        ['"Is it done?"', ' "No, not yet."'],
        ["(He left.)", " She stayed."],
        ["He said “Go. Now.” twice.", " She went."],
        ["Well... I think so."],
        ["1. Read this.", " 2. Go."],
        ["Wait! no."],
        ["Ich bin z.B. müde.", " Und du?"],
        ["你好。", "我很好！", "你呢？"],
        ["What?!", " No way!!"],
        ['An odd " quote. Nobody knows. Where it ends.'],
    ],
)
def test_where_sentences_end(cut: list[str]) -> None:
    assert sentences("".join(cut)) == cut
