"""The Porter stemmer in its original form of 1980, which ROUGE uses.

A word is read as consonants and vowels, [C](VC)^m[V]; m is its *measure*, and most rules take a suffix off only where
what is left has some measure.  Each step tries its suffixes longest first and applies at most one rule.

>>> [stem(word) for word in ("caresses", "ponies", "motoring", "relational", "hopping", "probate")]
['caress', 'poni', 'motor', 'relat', 'hop', 'probat']
"""

from __future__ import annotations

from functools import lru_cache

# suffix -> what replaces it where the measure of the rest is above 0 (steps 2 and 3), or nothing if above 1 (step 4)
_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip


def _longest_first(rules: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(rules.items(), key=lambda rule: -len(rule[0])))


_STEPS_2_TO_4 = (
    (_longest_first(_STEP_2), 0),
    (_longest_first(_STEP_3), 0),
    (_longest_first(dict.fromkeys(_STEP_4, "")), 1),
)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of a word in small letters."""
    word = _tidy(_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    for rules, measure in _STEPS_2_TO_4:
        for suffix, replacement in rules:
            if word.endswith(suffix):
                base = word[: -len(suffix)]
                if _measure(base) > measure and (suffix != "ion" or base.endswith(("s", "t"))):
                    word = base + replacement
                break
    return _final(word)


def _plural(word: str) -> str:
    """Step 1a."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _tidy(word: str) -> str:
    """Step 1b: -eed, -ed and -ing, and what must be mended after them."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            return _mend(base) if _has_vowel(base) else word
    return word


def _mend(base: str) -> str:
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if _doubled(base) and base[-1] not in "lsz":
        return base[:-1]
    return base + "e" if _measure(base) == 1 and _short(base) else base


def _final(word: str) -> str:
    """Step 5: a last -e, and -ll."""
    if word.endswith("e"):
        base = word[:-1]
        measure = _measure(base)
        if measure > 1 or (measure == 1 and not _short(base)):
            word = base
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _shape(word: str) -> str:
    """The word as a string of `c` and `v`; y is a vowel after a consonant.

    >>> _shape("toy"), _shape("syzygy")
    ('cvc', 'cvcvcv')
    """
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    return _shape(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _doubled(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word).endswith("c")


def _short(word: str) -> bool:
    """Whether the word ends consonant, vowel, consonant, the last not w, x or y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"
