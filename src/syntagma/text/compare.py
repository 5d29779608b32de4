"""When two texts say the same words."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def bare_words(text: str) -> tuple[str, ...]:
    """The words of a text without case, punctuation and spacing.

    An apostrophe or hyphen between letters belongs to its word, and so does a point or comma between digits; a text
    of nothing but punctuation is itself.

    >>> bare_words("Well, it's a well-known 2.5-fold “gain”!")
    ('well', "it's", 'a', 'well-known', '2.5-fold', 'gain')
    >>> bare_words("?!")
    ('?!',)
    """
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    words = tuple("".join(_kept(folded)).split())
    return words or tuple(folded.split())


def _kept(text: str) -> Iterator[str]:
    """The characters of words, and a space for each other one."""
    for index, character in enumerate(text):
        before, after = text[index - 1 : index], text[index + 1 : index + 2]
        if character.isalnum() or unicodedata.category(character)[0] in "MSC":
            yield character
        elif character in "'-":
            yield character if before.isalnum() and after.isalnum() else " "
        elif character in ".,":
            yield character if before.isdigit() and after.isdigit() else " "
        else:
            yield " "


def same_words(first: str, second: str) -> bool:
    """Whether two texts differ by case, punctuation and spacing at most.

    >>> same_words("Is it cold?", "It is cold."), same_words("it is cold", "It is cold!")
    (False, True)
    """
    return first == second or bare_words(first) == bare_words(second)


def without_repeats(items: Iterable[Item], text: Callable[[Item], str]) -> list[Item]:
    """The items whose words no item before them has, in their order.

    >>> without_repeats(["It is.", "It is!", "Is it?", "it is"], str)
    ['It is.', 'Is it?']
    """
    seen: set[tuple[str, ...]] = set()
    return [item for item in items if _is_new(bare_words(text(item)), seen)]


def _is_new(words: tuple[str, ...], seen: set[tuple[str, ...]]) -> bool:
    new = words not in seen
    seen.add(words)
    return new
