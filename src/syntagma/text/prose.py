"""Whether a model for sentences can read a text: letters it knows, and not code or a heading."""

from __future__ import annotations

import re

from syntagma.text.language import LATIN, LETTERS, NAMES, is_foreign_script, script_of

_CODE = re.compile(
    r"[{};]\s*$|^\s*[{}]|\w\(\w*\)|[=!<>+-]=|=>|->|&&|\|\||</?\w+>|^\s*(?:def|class|import|return)\b|\$\("
)
_PICTURES = range(0x1F000, 0x20000)
_SYMBOLS = range(0x2600, 0x27C0)
_HEADING_WORDS = 3
_SHORT = 3


def unreadable(text: str, language: str | None) -> str:
    """Say why a model for sentences of a language should leave a text as it is; empty where it need not.

    >>> unreadable("我没有读过这本书。", "en")
    'the model reads English, and this text is in another script'
    >>> unreadable("I like 寿司 and 😀.", "en")
    'the model has not learnt the signs 寿 司 😀'
    >>> unreadable("def f(x): return x + 1", "en"), unreadable("How To Cook Rice", "en")
    ('this looks like code', 'this looks like a heading')
    >>> unreadable("I have not read this book (yet).", "en"), unreadable("我没有读过这本书。", "zh")
    ('', '')
    """
    if language is not None and is_foreign_script(text, language):
        return f"the model reads {NAMES[language]}, and this text is in another script"
    if language not in LATIN:
        return ""
    if strange := dict.fromkeys(sign for sign in text[:LETTERS] if _is_strange(sign)):
        return f"the model has not learnt the signs {' '.join(strange)}"
    if _CODE.search(text):
        return "this looks like code"
    if _is_heading(text):
        return "this looks like a heading"
    return ""


def _is_strange(sign: str) -> bool:
    return script_of(sign) not in ("", "LATIN") or ord(sign) in _PICTURES or ord(sign) in _SYMBOLS


def _is_heading(text: str) -> bool:
    """Whether all longer words have a capital and nothing ends the sentence."""
    words = [word for word in text.split() if word[0].isalpha()]
    if len(words) < _HEADING_WORDS or text.rstrip()[-1:] in tuple(".!?…\"'”’):;,"):
        return False
    return all(word[0].isupper() for word in words if len(word) > _SHORT)
