"""Filters that reject candidate paraphrases: a table of small functions, each with a name.

A filter looks at a sentence and a text that may say the same in other words, and tells what is wrong, or None.  They
are asked in the order of the table, the cheap ones first, and the first that objects gives the reason.  They know
English: `skip` leaves out those that another language does not fit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Final

from syntagma.corpus.filters import Reason, refuse_lengths, script_share
from syntagma.text import split

# -- words


@dataclass(frozen=True)
class KnownWords:
    """Words of the input: those that it writes in lower case, and those that are names."""

    common: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()


class WordCounts:
    """In how many sentences each word stands in lower case, and with a capital inside the sentence."""

    def __init__(self) -> None:
        self._lower: Counter[str] = Counter()
        self._capital: Counter[str] = Counter()

    def add(self, sentence: str) -> None:
        """Count the words of a sentence."""
        words = _WORD.findall(sentence)
        self._lower.update({word for word in words if word.islower()})
        self._capital.update(_names_inside(sentence, words))

    def known(self, sentences: int, more: Iterable[str] = ()) -> KnownWords:
        """The words that stand in so many sentences at least, and more."""
        common = {word for word, count in self._lower.items() if count >= sentences}
        names = {word for word, count in self._capital.items() if count >= max(2, sentences, self._lower[word.lower()])}
        return KnownWords(frozenset(common.union(more)), frozenset(names))


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_CONTRACTIONS = {
    "won't": "will not", "can't": "can not", "cannot": "can not", "shan't": "shall not", "ain't": "is not",
    "let's": "let us", "i'm": "i am", "gonna": "going to", "wanna": "want to", "gotta": "have got to",
}  # fmt: skip
_ENDINGS = (("n't", " not"), ("'re", " are"), ("'ve", " have"), ("'ll", " will"), ("'d", " would"), ("'s", " is"))


@lru_cache(maxsize=1 << 12)
def plain_words(text: str) -> tuple[str, ...]:
    """The words in lower case, contractions written out (`'s` always as `is`), without punctuation.

    >>> plain_words("I'm sure the moon's out; he won't go.")
    ('i', 'am', 'sure', 'the', 'moon', 'is', 'out', 'he', 'will', 'not', 'go')
    """
    words: list[str] = []
    for word in re.findall(r"[^\W_]+(?:['’.,][^\W_]+)*", text.lower()):
        word = word.replace("’", "'")
        if word in _CONTRACTIONS:
            words += _CONTRACTIONS[word].split()
            continue
        for ending, spelled in _ENDINGS:
            if word.endswith(ending):
                word = word.removesuffix(ending) + spelled
                break
        words += word.split()
    return tuple(words)


def overlap(source: str, paraphrase: str) -> float:
    """The Jaccard index of the words of two texts.

    >>> overlap("He didn't go home.", "He did not go away.")
    0.6666666666666666
    """
    source_words, paraphrase_words = set(plain_words(source)), set(plain_words(paraphrase))
    return (
        len(source_words & paraphrase_words) / len(source_words | paraphrase_words)
        if source_words | paraphrase_words
        else 1.0
    )


# -- filters


@dataclass(frozen=True)
class Limits:
    """The thresholds of the filters."""

    min_words: int = 3
    max_words: int = 40
    max_ratio: float | None = 2.0
    script: str = "Latin"
    script_share: float = 0.95
    max_overlap: float = 0.85
    min_similarity: float = 0.8
    known: KnownWords = field(default=KnownWords(), repr=False)
    check_words: bool = True
    """Whether words that are not known are refused."""


@dataclass(frozen=True)
class PairToJudge:
    """A sentence, what may be a paraphrase of it, and the cosine of the two where it was measured."""

    source: str
    paraphrase: str
    cosine: float | None = None


def refuse_script(pair: PairToJudge, limits: Limits) -> str | None:
    """Letters of another script than the language's."""
    share = script_share(pair.paraphrase, limits.script)
    return None if share >= limits.script_share else f"{share:.2f} of its letters are {limits.script}"


def refuse_length(pair: PairToJudge, limits: Limits) -> str | None:
    """Too short, too long, or too uneven."""
    refused = refuse_lengths(limits, pair.source, pair.paraphrase, split)
    return refused[1] if refused else None


def refuse_open_end(pair: PairToJudge, limits: Limits) -> str | None:
    """No full stop, question or exclamation mark at the end."""
    return None if _END.search(pair.paraphrase) else f"it ends in {pair.paraphrase[-10:]!r}"


def refuse_quotes(pair: PairToJudge, limits: Limits) -> str | None:
    """A quotation or a bracket that opens and does not close, or the other way round."""
    text = pair.paraphrase
    if text.count('"') % 2:
        return "it has an odd number of quotes"
    for opening, closing in ("“”", "«»", "()", "[]"):
        if text.count(opening) != text.count(closing):
            return f"{opening} and {closing} do not match"
    return None


def refuse_copy(pair: PairToJudge, limits: Limits) -> str | None:
    """The same words in the same order; contractions and punctuation, `this`, `that` and `it` make no difference."""
    source_words, paraphrase_words = (
        [_DEMONSTRATIVES.get(word, word) for word in plain_words(text)] for text in _sides(pair)
    )
    return "only contractions, punctuation or demonstratives differ" if source_words == paraphrase_words else None


def refuse_overlap(pair: PairToJudge, limits: Limits) -> str | None:
    """Hardly a word differs."""
    share = overlap(pair.source, pair.paraphrase)
    return None if share <= limits.max_overlap else f"{share:.2f} of the words are the same"


def refuse_loop(pair: PairToJudge, limits: Limits) -> str | None:
    """Repeated words: one twice in a row or joined by `and`, or three together twice, where the source does not."""
    new = _repeated(plain_words(pair.paraphrase)) - _repeated(plain_words(pair.source))
    return f"it repeats {' '.join(min(new))!r}" if new else None


def refuse_numbers(pair: PairToJudge, limits: Limits) -> str | None:
    """Other numbers, in digits or words."""
    source_numbers, paraphrase_numbers = numbers(pair.source), numbers(pair.paraphrase)
    return (
        None
        if source_numbers == paraphrase_numbers
        else f"{_listed(source_numbers)} against {_listed(paraphrase_numbers)}"
    )


def refuse_names(pair: PairToJudge, limits: Limits) -> str | None:
    """A capitalised word on one side only."""
    for text, other_side in ((pair.source, pair.paraphrase), (pair.paraphrase, pair.source)):
        missing = names(text, limits.known) - {form for word in _WORD.findall(other_side) for form in _forms(word)}
        if missing:
            return f"{min(missing)!r} is on one side only"
    return None


def refuse_question(pair: PairToJudge, limits: Limits) -> str | None:
    """A question on one side only."""
    asks = [_QUESTION.search(text) is not None for text in (pair.source, pair.paraphrase)]
    return None if asks[0] == asks[1] else "one side is a question"


def refuse_negation(pair: PairToJudge, limits: Limits) -> str | None:
    """One side denies what the other says; a word such as `hardly` or `unable` may stand for a denial."""
    words = [set(plain_words(text)) for text in (pair.source, pair.paraphrase)]
    denies = [bool(some & _NEGATIONS) for some in words]
    if denies[0] == denies[1]:
        return None
    denying, other = sorted(words, key=lambda some: not some & _NEGATIONS)
    softened = other & _SOFTENERS or any(map(_NEGATIVE_PREFIX.match, other - denying))
    return None if softened else "one side denies it"


def refuse_pronouns(pair: PairToJudge, limits: Limits) -> str | None:
    """Other persons: `he` here and `she` there."""
    source_persons, paraphrase_persons = (
        {_PERSONS[word] for word in plain_words(text) if word in _PERSONS} for text in _sides(pair)
    )
    return (
        None
        if source_persons == paraphrase_persons
        else f"{_listed(source_persons)} against {_listed(paraphrase_persons)}"
    )


def refuse_unknown_words(pair: PairToJudge, limits: Limits) -> str | None:
    """A word in lower case that neither the source has nor the input knows."""
    if not limits.check_words:
        return None
    own = {form for word in _WORD.findall(pair.source.lower()) for form in _forms(word)}
    for word in filter(str.islower, _WORD.findall(pair.paraphrase)):
        if not any(form in own or form in limits.known.common for form in _forms(word)):
            return f"{word!r} is not known"
    return None


def refuse_article(pair: PairToJudge, limits: Limits) -> str | None:
    """`a` before a vowel."""
    match = _BAD_ARTICLE.search(pair.paraphrase)
    return f"it has {match.group()!r}" if match and not _BAD_ARTICLE.search(pair.source) else None


def refuse_similarity(pair: PairToJudge, limits: Limits) -> str | None:
    """A meaning that is too far away; nothing where it was not measured."""
    if pair.cosine is None or pair.cosine >= limits.min_similarity:
        return None
    return f"the cosine is {pair.cosine:.3f}"


Refuse = Callable[[PairToJudge, Limits], "str | None"]

FILTERS: Final[dict[str, Refuse]] = {
    "script": refuse_script,
    "length": refuse_length,
    "open-end": refuse_open_end,
    "quotes": refuse_quotes,
    "copy": refuse_copy,
    "overlap": refuse_overlap,
    "loop": refuse_loop,
    "numbers": refuse_numbers,
    "names": refuse_names,
    "question": refuse_question,
    "negation": refuse_negation,
    "pronouns": refuse_pronouns,
    "unknown-word": refuse_unknown_words,
    "article": refuse_article,
    "similarity": refuse_similarity,
}
"""All filters, in the order in which they are asked."""
ALONE: Final = ("script", "length", "open-end", "quotes")
"""Those that judge a sentence by itself, before anything is translated."""
SIMILARITY: Final = "similarity"


def first_reason(pair: PairToJudge, limits: Limits, names: Sequence[str]) -> Reason | None:
    """The first of the named filters that objects, and to what."""
    for name in names:
        detail = FILTERS[name](pair, limits)
        if detail is not None:
            return name, detail
    return None


# -- what the filters look for

_END = re.compile(r"[.?!…][\"'”’)\]]*$")
_QUESTION = re.compile(r"\?[\"'”’)\]!?]*$")
_BAD_ARTICLE = re.compile(r"\b[Aa] (?=[aeio])(?!one|once|eu|ew|oui)[a-z]+")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_CARDINALS = re.findall(
    r"\S+",
    "zero . two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty",
)
NUMBER_WORDS: Final = {word: str(value) for value, word in enumerate(_CARDINALS) if word != "."} | {
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90",
    "hundred": "100", "thousand": "1000", "million": "million", "billion": "billion", "dozen": "12", "half": "half",
    "twice": "twice", "first": "1st", "third": "3rd", "fourth": "4th", "fifth": "5th",
}  # fmt: skip
"""`one` and `second` are left out: they are more than numbers."""
_NEGATIONS = frozenset(re.findall(r"\w+", "not no never none nobody nothing nowhere neither nor cannot without"))
_SOFTENERS = frozenset(
    re.findall(
        r"\w+",
        "hardly barely scarcely rarely seldom few little unable fail fails failed lack lacks lacked lacking refuse "
        "refuses refused deny denies denied forbidden impossible stop stopped avoid avoided absent except only least",
    )
)
_DEMONSTRATIVES = {"that": "this", "it": "this", "these": "this", "those": "this"}
_NEGATIVE_PREFIX = re.compile(r"(un|dis|imp)\w{4}")
_PERSONS = {
    word: group.split()[0]
    for group in (
        "I i me my mine myself", "we us our ours ourselves", "you your yours yourself yourselves", "he him his himself",
        "she her hers herself",
    )
    for word in group.lower().split()
}  # fmt: skip


def numbers(text: str) -> Counter[str]:
    """The numbers of a text, in digits whatever they are written in.

    >>> sorted(numbers("Three of 1,000 men, and twenty-two more.").elements())
    ['1000', '2', '20', '3']
    """
    digits = [match.replace(",", "") for match in _NUMBER.findall(text)]
    return Counter([*digits, *(NUMBER_WORDS[word] for word in _words_apart(text) if word in NUMBER_WORDS)])


def _words_apart(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.lower())


def names(text: str, known: KnownWords) -> set[str]:
    """The names in a text: words with a capital inside it, and at its beginning those that the input knows as names.

    >>> sorted(names("Anna told Tom that I'd left Paris.", KnownWords(names=frozenset({"Anna"}))))
    ['Anna', 'Paris', 'Tom']
    """
    words = _WORD.findall(text)
    first = {word for word in words[:1] if word in known.names}
    return {_forms(word)[-1] for word in first | _names_inside(text, words)}


def _names_inside(text: str, words: Sequence[str]) -> set[str]:
    """Words with a capital that no sentence and no quotation begins with, but for `I`."""
    beginnings = {match.group(1) for match in _BEGINNING.finditer(text)}
    return {word for word in words[1:] if word[0].isupper() and word not in beginnings and word.split("'")[0] != "I"}


_BEGINNING = re.compile(r"(?:^|[.?!:…\"“„«(]\s*|[-–—]\s+)([^\W\d_]+(?:['’][^\W\d_]+)*)")


def _forms(word: str) -> tuple[str, str]:
    """A word, and what it is without 's and other contractions."""
    return word, re.split(r"['’]", word)[0]


def _repeated(words: Sequence[str]) -> set[tuple[str, ...]]:
    """Find repeated words: one at once or after `and`, or three words together anywhere."""
    repeats: set[tuple[str, ...]] = {(word,) for word, following in pairwise(words) if word == following}
    repeats |= {
        (word, "and", word) for word, joint, other in zip(words, words[1:], words[2:], strict=False)
        if joint in ("and", "or") and word == other
    }  # fmt: skip
    threes = Counter(zip(words, words[1:], words[2:], strict=False))
    return repeats | {three for three, count in threes.items() if count > 1}


def _sides(pair: PairToJudge) -> tuple[str, str]:
    return pair.source, pair.paraphrase


def _listed(items: Iterable[str]) -> str:
    return " ".join(sorted(items)) or "none"
