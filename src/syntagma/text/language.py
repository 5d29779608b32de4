"""A cheap guess at the language of a text: by its script, and among languages in Latin script by small words.

It knows German, English, French, Romanian and Chinese (`de en fr ro zh`), and names others by their script alone where
that says enough.  It is for warnings and defaults; two or three sentences suffice.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

LETTERS: Final = 2000
"""A guess looks at so many signs at most."""
_SCRIPTS: Final = {"CJK": "zh", "HIRAGANA": "ja", "KATAKANA": "ja", "HANGUL": "ko", "GREEK": "el", "HEBREW": "he",
                   "THAI": "th", "ARMENIAN": "hy", "GEORGIAN": "ka"}  # fmt: skip
"""Scripts, by the first word of their letters' Unicode names, that tell the language."""
_STOP_WORDS: Final = {
    "de": "der die das und ist nicht ein eine ich du er sie es wir ihr zu den dem des mit auf für von im am sich auch "
    "hat habe war wie aber noch nur wenn kann mir mich dich dir was wird sind haben einen einem einer bei nach aus vom "
    "zum zur über sein kein keine dass daß oder schon mehr als um an so in will man seit",
    "en": "the of and to a in is you that it he was for on are with as i his they be at one have this from or had by "
    "not but what all were we when your can said there an she which do their if will how them then would no my has me "
    "him don't it's i'm her been who did get",
    "fr": "le la les de des du et est un une en que qui dans pour pas sur ne se ce il elle je tu nous vous ils au aux "
    "avec plus par mais ou où son sa ses mon ma mes suis sont été c'est n'est j'ai qu'il d'un d'une l'a cette ça à y a "
    "fait être avoir tout très bien",
    "ro": "și şi de la în a pe cu că este sunt nu un o din care mai pentru se am ai are au fost să ce el ea lui ei eu "
    "tu noi voi prin după despre dar sau fi ca cum când acest această foarte mi-a s-a l-a într-o într-un asta ale al "
    "le te mă îmi m-am trebuie",
}
LATIN: Final = tuple(_STOP_WORDS)
"""The languages in Latin script that are known here."""
NAMES: Final = {"de": "German", "en": "English", "fr": "French", "ro": "Romanian", "zh": "Chinese", "ja": "Japanese"}
_SIGNS: Final = {"de": "äöüß", "fr": "éèêàçùœîâôûë", "ro": "ăâîșțşţ", "en": ""}
"""Letters that a language uses and English does not; each counts a little."""
_SIGN_WEIGHT: Final = 0.5
_SIGNS_A_WORD: Final = 4
"""A Chinese sign says as much as so many Latin letters, so that a few foreign names do not outweigh it."""
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def _profiles() -> dict[str, dict[str, float]]:
    """The weight of each word for each language: less where several languages have the word."""
    sets = {language: set(words.split()) for language, words in _STOP_WORDS.items()}
    shared = Counter(word for words in sets.values() for word in words)
    return {language: {word: 1.0 / shared[word] for word in words} for language, words in sets.items()}


_PROFILES: Final = _profiles()


def guess_language(texts: str | Iterable[str], among: Iterable[str] = ()) -> str | None:
    """The code of the language, of those named if any are; None where it cannot tell.

    >>> guess_language("Ich habe das Buch nicht gelesen."), guess_language("I have not read the book.")
    ('de', 'en')
    >>> guess_language("我没有读过这本书。"), guess_language("42 %")
    ('zh', None)
    """
    text = texts if isinstance(texts, str) else " ".join(texts)
    text = unicodedata.normalize("NFC", text[:LETTERS])
    allowed = set(among)
    scripts = Counter(script for script in map(script_of, text) if script)
    if not scripts:
        return None
    scripts["CJK"] *= _SIGNS_A_WORD
    script, _ = scripts.most_common(1)[0]
    if script == "CJK" and scripts["HIRAGANA"] + scripts["KATAKANA"] > scripts["CJK"] / (10 * _SIGNS_A_WORD):
        script = "HIRAGANA"
    language = _SCRIPTS.get(script) if script != "LATIN" else _guess_latin(text.lower(), allowed)
    return language if not allowed or language in allowed else None


def _guess_latin(text: str, allowed: set[str]) -> str | None:
    words = [word.replace("’", "'") for word in _WORD.findall(text)]
    scores = {
        language: sum(weights.get(word, 0.0) for word in words)
        + _SIGN_WEIGHT * sum(sign in _SIGNS[language] for sign in text)
        for language, weights in _PROFILES.items()
        if not allowed or language in allowed
    }
    ranked = sorted(scores.items(), key=lambda item: -item[1])
    if not ranked or ranked[0][1] == 0 or (len(ranked) > 1 and ranked[0][1] < 1.25 * ranked[1][1]):
        return None
    return ranked[0][0]


@lru_cache(maxsize=1 << 16)
def script_of(character: str) -> str:
    """The script of a letter as the first word of its Unicode name, such as LATIN; empty for what is no letter."""
    if not character.isalpha():
        return ""
    return unicodedata.name(character, "").partition(" ")[0]


def is_foreign_script(text: str, language: str) -> bool:
    """Whether a text is in another script than its language: most letters, or for Chinese, which quotes names, all.

    >>> [is_foreign_script(text, "en") for text in ("我没有读过这本书。", "Beijing is 北京.", "42")]
    [True, False, False]
    >>> [is_foreign_script(text, "zh") for text in ("I have not read it.", "他用 Microsoft PowerPoint。", "42")]
    [True, False, False]
    """
    scripts = [script for script in map(script_of, text[:LETTERS]) if script]
    if language == "zh":
        return bool(scripts) and "CJK" not in scripts
    return language in LATIN and 2 * sum(script != "LATIN" for script in scripts) > len(scripts)
