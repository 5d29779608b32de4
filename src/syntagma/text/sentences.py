"""Text into sentences, byte for byte.

A sentence ends at a full stop, question or exclamation mark that stands alone as a word (`Mr.` keeps its dot), where
the next word could begin one.  What stands in quotes or brackets is never cut, and where a quotation ends only another
begins a sentence for certain: `"Stop!" Tom said.` is one.  Dots that trail off end nothing.

>>> sentences('Mr. Li left. Did he? "Yes." "No!"  Tom said nothing.')
['Mr. Li left.', ' Did he?', ' "Yes."', ' "No!"  Tom said nothing.']
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from syntagma.text.words import Word, join, split

_ENDS = frozenset({".", "。", "！", "？"})
_OPENING, _CLOSING = frozenset("“„«‹([{「『（《"), frozenset("”»›)]}」』）》")
_QUOTES = frozenset('"“”„«»‹›「」『』') | {"``", "''"}


def sentences(text: str) -> list[str]:
    """The sentences of a text, each with the white space before it; together they are the text."""
    whole = split(text)
    ends = [*_ends(whole.words), len(whole.words)]
    cut = [join(whole.words[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    cut[-1] += whole.tail
    return cut


def _ends(words: Sequence[Word]) -> Iterator[int]:
    """After how many words a sentence ends and another begins."""
    start, depth, quoted, ended = 0, 0, False, False
    for index, word in enumerate(words[:-1]):
        depth = max(0, depth + (word.text in _OPENING) - (word.text in _CLOSING))
        quoted = quoted != (word.text == '"')
        closes = word.text in _CLOSING or word.text in _QUOTES
        ended = _is_end(word.text) or (ended and closes)
        if ended and not depth and not quoted and _begins(words[index + 1], after_quote=word.text in _QUOTES):
            if any(character.isalpha() for word in words[start : index + 1] for character in word.text):
                yield index + 1
                start = index + 1
            ended = False


def _is_end(word: str) -> bool:
    return word in _ENDS or (word.strip("!?") == "" and word != "")


def _begins(word: Word, after_quote: bool) -> bool:
    """Whether a word could begin a sentence after one that has ended."""
    if not word.space:
        return word.text[0] > "\u2e7f" and word.text not in _CLOSING  # scripts that have no spaces
    if word.text in _QUOTES or word.text in _OPENING:
        return True
    return not after_quote and (word.text[0].isupper() or word.text[0].isdigit() or word.text[0] in "¿¡")
