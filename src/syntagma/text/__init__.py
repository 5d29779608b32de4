"""Text: words with their spacing, subwords, and the ids of labels and control tokens."""

from typing import TYPE_CHECKING, Any

from syntagma.text.sentences import sentences
from syntagma.text.words import Sentence, Word, join, split, split_tokens

if TYPE_CHECKING:
    from syntagma.text.subwords import Subwords

__all__ = ["Sentence", "Subwords", "Word", "join", "sentences", "split", "split_tokens"]


def __getattr__(name: str) -> Any:  # whose modules are loaded only when they are used
    if name == "Subwords":
        from syntagma.text.subwords import Subwords

        return Subwords
    raise AttributeError(name)
