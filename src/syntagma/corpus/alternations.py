"""Other structures for English sentences, by rules over their trees.

An adverbial clause or a time moves to the front or to the end, active becomes passive and passive active, *gave him a
book* becomes *gave a book to him*, *it is hard to swim* becomes *swimming is hard*, *he said it was cold* becomes *it
was cold, he said*, *turn off the light* becomes *turn the light off*.  The words stay, the structure changes: pairs
from which a paraphraser learns to restructure, to go with pairs from which it learns other words.

>>> from syntagma.tree import Tree
>>> tree = "(TOP (S (NP (PRP We)) (VP (VBD slept) (SBAR (IN because) (S (NP (PRP it)) (VP (VBD rained))))) (. .)))"
>>> alternations("We slept because it rained.", Tree.read(tree))
[('front', 'Because it rained, we slept.')]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from syntagma.corpus.verbs import gerund, participle_of, past_of
from syntagma.text.words import Word, join, split
from syntagma.tree import Tree


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TIMES = _words(
    """yesterday today tomorrow tonight morning afternoon evening night day days week weeks month months year years
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
    october november december noon midnight weekend summer winter spring autumn fall century decade decades moment
    minute minutes hour hours breakfast lunch dinner christmas"""
)
_TIME_PREPOSITIONS = _words("in on at during after before since by for over until")
_CONJUNCTIONS = _words("when whenever while because although though before after until unless once since if even")
_TAKES_A_CLAUSE = _words(
    """know knew known knows ask asked asks wonder wondered wonders see saw tell told tells say said says check decide
    decided remember remembered doubt care mind determine sure certain clear matter find found think thought forget
    forgot forgotten idea question guess reason explain explained understand learn learned show showed depend depends
    hear heard"""
)
"""Words after which *if she comes* and *when she comes* are no adverbial clauses."""
_NOT_PASSIVE = _words(
    """had has have liked wanted loved knew needed cost resembled lacked meant became was were got let saw thought hated
    fit suited said felt enjoyed entered reached spent committed"""
)
_NO_AGENT = _words("% percent accident mistake hand car train bus mail phone far surprise")
_DATIVE = _words(
    "give gave given gives send sent show showed shown offer offered lend lent hand handed teach taught sell sold"
)
_SAID = _words("said says reported announced believes thinks claims claimed warned")
_OBJECT_CASE = {"i": "me", "he": "him", "she": "her", "we": "us", "they": "them"}
_SUBJECT_CASE = {"me": "I", "him": "he", "us": "we", "them": "they"}
_THIRD_PERSON = frozenset(("he", "she", "it", "they"))
_POSSESSIVE = _words("my your his her its our their himself herself itself myself themselves")
_PROPER = ("NNP", "NNPS")


@dataclass
class Phrase:
    """A constituent and the words it covers, in lower case."""

    label: str
    start: int
    end: int = 0
    words: tuple[str, ...] = ()
    children: list[Phrase] = field(default_factory=list)

    def is_time(self) -> bool:
        """Whether it says when: `last week`, `in 1912`, `on Monday morning`."""
        first, last = self.words[0], self.words[-1]
        if len(self.words) > 7:
            return False
        if self.label == "NP":
            return last == "ago" or (first in ("last", "next", "this", "every", *_TIMES) and last in _TIMES)
        if self.label == "ADVP":
            return last in ("yesterday", "today", "tomorrow", "tonight", "ago", "recently", "later", "sometimes")
        if self.label != "PP" or first not in _TIME_PREPOSITIONS:
            return False
        if first == "for" and self.words[1:3] not in (("the", "last"), ("the", "past")):
            return False
        return not _TIMES.isdisjoint(self.words[1:]) or re.fullmatch(r"(1[5-9]|20)\d\d", last) is not None

    def is_adverbial_clause(self) -> bool:
        """Whether it is a clause such as `because it rained`."""
        return self.label == "SBAR" and len(self.words) > 2 and self.words[0] in _CONJUNCTIONS

    @property
    def determined(self) -> bool:
        """Whether it names something definite enough to be moved about."""
        return any(child.label in ("DT", "PRP$", "CD", "NNP", "NNS") for child in self.preterminals())

    def preterminals(self) -> Iterator[Phrase]:
        """Its words with their parts of speech."""
        waiting = [self]
        while waiting:
            phrase = waiting.pop()
            if not phrase.children:
                yield phrase
            waiting.extend(reversed(phrase.children))


Piece = Phrase | str
"""Of a new sentence: words of the old one, or a new word."""


def alternations(text: str, tree: Tree) -> list[tuple[str, str]]:
    """The sentences that the rules make of one, each with its rule; `tree` has all labels and parts of speech."""
    words = split(text.strip()).words
    parts = _clause(tree, [word.text for word in words])
    if parts is None:
        return []
    tags = [leaf.label for part in parts for leaf in part.preterminals()]
    sentences = [(name, _write(pieces, words, tags)) for name, rule in RULES.items() for pieces in rule(parts)]
    return [(name, sentence) for name, sentence in sentences if sentence != text]


def _clause(tree: Tree, words: Sequence[str]) -> list[Phrase] | None:
    """The parts of a declarative sentence, the full stop last; None for any other text."""
    root: Phrase | None = None
    opened: list[Phrase] = []
    for span in tree.spans():
        phrase = Phrase(span.label, span.start, span.end, tuple(word.lower() for word in words[span.start : span.end]))
        del opened[span.depth - 1 :]
        if opened:
            opened[-1].children.append(phrase)
        else:
            root = phrase
        opened.append(phrase)
    if root is None or root.end != len(words):
        return None
    while len(root.children) == 1:
        root = root.children[0]
    if root.label != "S" or len(root.children) < 3 or root.children[-1].words != (".",):
        return None
    return root.children


def _write(pieces: Iterable[Piece], words: Sequence[Word], tags: Sequence[str]) -> str:
    """The text of pieces, spaced as the sentence was; the first word is capital, the former first no longer is."""
    written: list[Word] = []
    for piece in pieces:
        if isinstance(piece, str):
            written.append(Word(piece, "" if piece in ",." else " "))
            continue
        for place in range(piece.start, piece.end):
            word, space = words[place]
            if place == 0:
                name = tags[0] in _PROPER or word == "I" or (len(word) > 1 and word.isupper())
                word, space = word if name else word[:1].lower() + word[1:], " "
            written.append(Word(word, space))
    first = written[0].text
    return join([Word(first[:1].upper() + first[1:], ""), *written[1:]])


def _verb_phrase(parts: Sequence[Phrase]) -> Phrase | None:
    """The innermost verb phrase, past auxiliaries: in `may have seen it` that of `seen it`."""
    if len(parts) < 2 or parts[-2].label != "VP":
        return None
    phrase = parts[-2]
    while (last := phrase.children[-1]).label == "VP" and not any(child.label == "CC" for child in phrase.children):
        phrase = last
    return phrase


def _before(parts: Sequence[Phrase], phrase: Phrase) -> Phrase:
    """All words of the clause before a phrase."""
    return Phrase("", parts[0].start, phrase.start)


def _is_simple(parts: Sequence[Phrase]) -> bool:
    return not any(part.label in ("CC", ":", "S") for part in parts)


def _front(parts: Sequence[Phrase]) -> Iterator[list[Piece]]:
    """An adjunct at the front: We slept because it rained. -> Because it rained, we slept."""
    verb = _verb_phrase(parts)
    if verb is None or parts[0].label != "NP" or not _is_simple(parts) or len(verb.children) < 2:
        return
    adjunct, before = verb.children[-1], verb.children[-2]
    if adjunct.is_adverbial_clause():
        heads = [child for child in verb.children[:-1] if child.label.startswith("VB") or child.label in ("ADJP", "NP")]
        if any({head.words[0], head.words[-1]} & _TAKES_A_CLAUSE for head in heads):
            return
        if adjunct.words[0] == "since" and parts[0].words == ("it",):
            return
    elif not adjunct.is_time() or before.words[0] in ("is", "was", "were", "are", "'s", "be", "been"):
        return
    end = adjunct.start - (before.words == (",",))
    clause = Phrase("", 0, end)
    commas = sum(word == "," for part in parts for word in part.words) - (before.words == (",",))
    if end > 1 and not commas and adjunct.end == parts[-2].end:
        yield [adjunct, ",", clause, parts[-1]]


def _back(parts: Sequence[Phrase]) -> Iterator[list[Piece]]:
    """An adjunct at the end: Because it rained, we slept. -> We slept because it rained."""
    adjunct, main = parts[0], [part for part in parts[1:-1] if part.words != (",",)]
    verb = _verb_phrase(parts)
    if verb is None or not _is_simple(parts) or len(main) < 2 or main[0].label != "NP":
        return
    clause = adjunct.is_adverbial_clause()
    if not clause and not adjunct.is_time():
        return
    subject = main[0].words
    if clause and len(subject) == 1 and subject[0] in _THIRD_PERSON and adjunct.words[1] not in _THIRD_PERSON:
        return  # the pronoun would come before what it stands for
    if any(child.label in ("SBAR", "S") for child in verb.children):
        return
    comma = [","] if adjunct.words[0] in ("although", "though") else []
    yield [*main, *comma, adjunct, parts[-1]]


def _passive(parts: Sequence[Phrase]) -> Iterator[list[Piece]]:
    """The passive: The storm damaged the roof. -> The roof was damaged by the storm."""
    if len(parts) != 3 or parts[0].label != "NP" or parts[1].label != "VP" or len(parts[1].children) < 2:
        return
    subject, (verb, what, *tail) = parts[0], parts[1].children
    form = participle_of(verb.words[0])
    if verb.label != "VBD" or what.label != "NP" or form is None or verb.words[0] in _NOT_PASSIVE or what.is_time():
        return
    if any(part.label not in ("PP", "ADVP") and not part.is_time() for part in tail):
        return
    if tail and tail[0].words[0] in ("from", "of", "for"):
        return
    first = next(what.preterminals())
    if first.label not in ("DT", "PRP$", "NNP", "CD") or what.words[0] == "that" or what.words == ("a", "little"):
        return
    if _POSSESSIVE & set(what.words) or len(what.words) > 10 or len(subject.words) > 8:
        return
    if next(subject.preterminals()).label in ("PRP", "EX", "WP") or subject.words[0] in (
        "this",
        "that",
        "no",
        "nobody",
    ):
        return
    yield [what, "were" if _is_plural(what) else "was", form, "by", subject, *tail, parts[-1]]


def _is_plural(phrase: Phrase) -> bool:
    return "and" in phrase.words or list(phrase.preterminals())[-1].label in ("NNS", "NNPS")


def _active(parts: Sequence[Phrase]) -> Iterator[list[Piece]]:
    """The active: The roof was damaged by the storm. -> The storm damaged the roof."""
    if len(parts) != 3 or parts[0].label != "NP" or parts[1].label != "VP" or len(parts[1].children) != 2:
        return
    patient, (auxiliary, inner) = parts[0], parts[1].children
    if auxiliary.words[0] not in ("was", "were") or inner.label != "VP" or inner.children[0].label != "VBN":
        return
    by = [child for child in inner.children if child.label == "PP" and child.words[0] == "by"]
    tail = [child for child in inner.children[1:] if child not in by]
    form = past_of(inner.children[0].words[0])
    if (
        len(by) != 1
        or len(by[0].children) != 2
        or form is None
        or any(part.label not in ("PP", "ADVP") for part in tail)
    ):
        return
    agent = by[0].children[1]
    odd = any(word in _NO_AGENT or word in _TIMES or word in _POSSESSIVE or word[0].isdigit() for word in agent.words)
    if agent.label != "NP" or odd or agent.words == ("her",):
        return
    doer = _SUBJECT_CASE.get(agent.words[0], agent) if len(agent.words) == 1 else agent
    done_to = _OBJECT_CASE.get(patient.words[0], patient) if len(patient.words) == 1 else patient
    yield [doer, form, done_to, *tail, parts[-1]]


def _dative(parts: Sequence[Phrase]) -> Iterator[list[Piece]]:
    """The other order of two objects: She gave her brother the key. <-> She gave the key to her brother."""
    verb = _verb_phrase(parts)
    if verb is None or len(verb.children) < 3 or verb.children[0].words[0] not in _DATIVE:
        return
    head, first, second, *tail = verb.children
    start: list[Piece] = [_before(parts, verb), head]
    if first.label == second.label == "NP" and not second.is_time() and second.determined:
        yield [*start, second, "to", first, *tail, parts[-1]]
    elif (
        first.label == "NP"
        and first.determined
        and second.label == "PP"
        and second.words[0] == "to"
        and len(second.words) < 6
    ):
        yield [*start, Phrase("", second.start + 1, second.end), first, *tail, parts[-1]]


def _gerund_subject(parts: Sequence[Phrase]) -> Iterator[list[Piece]]:
    """A gerund as subject: It is hard to learn Finnish. -> Learning Finnish is hard."""
    if len(parts) != 3 or parts[0].words != ("it",) or parts[1].label != "VP":
        return
    verb, *complements = parts[1].children
    negation = [part for part in complements if part.words in (("not",), ("n't",))]
    complements = [part for part in complements if part not in negation]
    if complements and len(complements) == 1 and complements[0].label == "ADJP":
        complements = complements[0].children
    if len(complements) < 2 or verb.words[0] not in ("is", "'s", "was") or complements[-1].label != "S":
        return
    quality, action = complements[:-1], complements[-1]
    leaves = list(action.preterminals())
    if action.words[0] != "to" or len(leaves) < 3 or leaves[1].label != "VB":
        return
    if any(
        word in ("for", "of", "too", "enough", "going", "about", "likely", "able")
        for part in quality
        for word in part.words
    ):
        return
    be = "was" if verb.words[0] == "was" else "is"
    rest_of_action = Phrase("", action.start + 2, action.end)
    yield [gerund(leaves[1].words[0]), rest_of_action, be, *["not"] * len(negation), *quality, parts[-1]]


def _particle(parts: Sequence[Phrase]) -> Iterator[list[Piece]]:
    """The other place of a particle: Turn off the light. <-> Turn the light off."""
    verb = _verb_phrase(parts)
    if verb is None or len(verb.children) < 3 or verb.children[0].words[0] in ("end", "ends", "ended"):
        return
    head, first, second, *tail = verb.children
    noun = first if first.label == "NP" else second
    if {first.label, second.label} != {"PRT", "NP"} or len(noun.words) > 3 or next(noun.preterminals()).label == "PRP":
        return
    yield [_before(parts, verb), head, second, first, *tail, parts[-1]]


def _said(parts: Sequence[Phrase]) -> Iterator[list[Piece]]:
    """The speaker at the end: Police said the road was closed. -> The road was closed, police said."""
    if len(parts) != 3 or parts[0].label != "NP" or parts[1].label != "VP" or len(parts[1].children) != 2:
        return
    verb, clause = parts[1].children
    if verb.words[0] not in _SAID or clause.label != "SBAR":
        return
    start = clause.start + (clause.words[0] == "that")
    content = clause.words[start - clause.start :]
    if start == clause.start and clause.children[0].label != "S":
        return
    if len(content) > 3 and content[0] not in ("he", "she", "they"):
        yield [Phrase("", start, clause.end), ",", parts[0], verb, parts[-1]]


RULES: dict[str, Callable[[Sequence[Phrase]], Iterator[list[Piece]]]] = {
    "front": _front,
    "back": _back,
    "passive": _passive,
    "active": _active,
    "dative": _dative,
    "gerund": _gerund_subject,
    "particle": _particle,
    "said": _said,
}
"""Each rule: the parts of a clause -> the pieces of other sentences."""
