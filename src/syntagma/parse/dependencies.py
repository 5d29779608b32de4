"""Dependency trees of Universal Dependencies into constituency trees over S, NP, VP and PP.

A word projects a phrase, which its dependents enter: a noun or pronoun an NP (with a preposition a PP), a predicate a
VP and an S.  `relations.RELATIONS` says for each universal relation what its dependent is in a clause, what it is in a
noun phrase, and whether it may be a phrase of its own.  What has no label here (adjective and adverb phrases, verb
clusters) lies flat in its parent, as does punctuation at a phrase's edge.  Arcs that cross others are lifted to the
head's head before, so every phrase is continuous.

Two styles.  `penn` is that of the Penn Treebank: an NP with something after its noun has an NP inside, the verbs of a
clause open one VP each, a clause's conjunction or relative pronoun stands before its S.

    (S (NP He) (VP has (VP seen (NP (NP the man) (PP with (NP the hat))))) .)

`negra` is that of German treebanks: NPs are flat, the finite verb belongs to the S, conjunctions stand inside.

    (S (NP Er) hat (VP (NP den Mann (PP mit (NP dem Hut))) gesehen) .)

Where the finite verb stands before its subject, neither style has a VP over it: `(S Heute hielt (NP ich) (NP sie) .)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from syntagma.parse.conllu import DependencyTree, Token
from syntagma.parse.relations import Relation, Role, lift, relation_of
from syntagma.tree import ROOT, Tree
from syntagma.tree.node import CLOSE, escape


class Style(StrEnum):
    """The styles of constituency trees."""

    penn = "penn"
    negra = "negra"


NOMINAL: Final = frozenset({"NOUN", "PROPN", "PRON", "NUM", "SYM", "DET", "X"})
VERBAL: Final = frozenset({"VERB", "AUX"})
_OWN_PREDICATE: Final = frozenset({"nsubj", "csubj", "cop", "aux", "expl"})
"""A word with such a dependent is a predicate, whatever its part of speech."""
_EDGE: Final = frozenset({Role.outer, Role.joiner})
_NON_FINITE: Final = ("VerbForm=Inf", "VerbForm=Part", "VerbForm=Ger", "VerbForm=Conv", "VerbForm=Sup")
_NON_FINITE_TAGS: Final = frozenset({"VVINF", "VVIZU", "VVPP", "VAINF", "VAPP", "VMINF", "VMPP"})
"""German parts of speech (STTS), for treebanks without features."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A finished constituent or word as items of a tree's walk."""

    walk: tuple[str, ...]

    @property
    def label(self) -> str:
        return self.walk[0][1:]


@dataclass(frozen=True, slots=True)
class _Item:
    """A dependent, or the word itself, in its place among the others."""

    role: Role
    parts: tuple[_Part, ...]
    number: int
    finite: bool = False


def _wrap(label: str, parts: Sequence[_Part]) -> _Part:
    walk = [f"({label}"]
    for part in parts:
        walk.extend(part.walk)
    return _Part((*walk, CLOSE))


def _parts(items: Sequence[_Item]) -> tuple[_Part, ...]:
    return tuple(part for item in items for part in item.parts)


def _bare(part: _Part) -> _Part:
    """A relative pronoun without its NP, as pruning the Penn Treebank's WHNP leaves it."""
    return _Part(part.walk[1:-1]) if part.label == "NP" else part


def to_tree(sentence: DependencyTree, style: Style = Style.penn) -> Tree:
    """The constituency tree of a dependency tree, with parts of speech and the root `TOP`.

    >>> from syntagma.parse.conllu import read_sentences
    >>> rows = "1 I _ PRON _ _ 2 nsubj _ _", "2 nod _ VERB _ _ 0 root _ _", "3 . _ PUNCT _ _ 2 punct _ _"
    >>> print(*(to_tree(one) for one in read_sentences(row.replace(" ", chr(9)) for row in rows)))
    (TOP (S (NP (PRON I)) (VP (VERB nod)) (PUNCT .)))
    """
    walk = ["(" + ROOT]
    for part in _Conversion(sentence.tokens, style).parts():
        walk.extend(part.walk)
    return Tree.from_walk([*walk, CLOSE])


class _Conversion:
    """One sentence on its way, from the lowest words up."""

    def __init__(self, tokens: Sequence[Token], style: Style) -> None:
        self.tokens = tokens
        self.penn = style is Style.penn
        self.heads = lift([token.head for token in tokens])
        self.dependents: list[list[int]] = [[] for _ in range(len(tokens) + 1)]
        for number, head in enumerate(self.heads, 1):
            self.dependents[head].append(number)
        self.built: dict[int, tuple[_Part, ...]] = {}

    def parts(self) -> tuple[_Part, ...]:
        order = [*self.dependents[0]]
        for number in order:
            order.extend(self.dependents[number])
        for number in reversed(order):
            self.built[number] = self._build(number)
        return self.built[order[0]]

    def token(self, number: int) -> Token:
        return self.tokens[number - 1]

    def _base(self, number: int) -> str:
        return self.token(number).relation.partition(":")[0]

    # -- what a word is

    def _is_clause(self, number: int) -> bool:
        token = self.token(number)
        relation = relation_of(token.relation)
        if self._has(number, _OWN_PREDICATE):
            return True
        return token.upos in VERBAL and relation.phrase and relation.in_clause is not Role.auxiliary

    def _is_nominal(self, number: int) -> bool:
        token = self.token(number)
        if token.upos in ("DET", "NUM") and self._base(number) == "dep":
            return False
        return token.upos in NOMINAL and relation_of(token.relation).phrase

    def _has(self, number: int, relations: frozenset[str]) -> bool:
        return any(self._base(below) in relations for below in self.dependents[number])

    def _is_finite(self, number: int) -> bool:
        """Whether a clause has a finite verb, as far as features say."""
        verbs = [number, *(below for below in self.dependents[number] if self._base(below) in ("aux", "cop"))]
        if any(self.token(verb).has("VerbForm=Fin") for verb in verbs):
            return True
        if self._base(number) == "xcomp" or any(self._is_particle(below) for below in self.dependents[number]):
            return False
        marked = any(self.token(verb).has(form) for verb in verbs for form in _NON_FINITE)
        return not marked and not all(self.token(verb).xpos in _NON_FINITE_TAGS for verb in verbs)

    def _is_particle(self, number: int) -> bool:
        """Whether a word is the particle of an infinitive, as in "to go" and "zu gehen"."""
        return self._base(number) == "mark" and self.token(number).upos == "PART"

    # -- building

    def _build(self, number: int) -> tuple[_Part, ...]:
        clause = self._is_clause(number)
        role: Callable[[Relation], Role] = (
            (lambda known: known.in_clause) if clause else (lambda known: known.in_nominal)
        )
        items = [self._item(below, role) for below in self.dependents[number]]
        leaf = _Part((f"({self.token(number).tag}", escape(self.token(number).form), CLOSE))
        items.append(_Item(Role.head, (leaf,), number, self.token(number).has("VerbForm=Fin")))
        items.sort(key=lambda item: item.number)
        if clause:
            return self._clause(number, items)
        if self._is_nominal(number) or any(item.role is Role.case for item in items):
            return self._with_edges(number, items, self._nominal)
        return _parts(items)

    def _item(self, number: int, role: Callable[[Relation], Role]) -> _Item:
        token = self.token(number)
        kind = role(relation_of(token.relation))
        if kind is Role.case and token.upos == "PART":  # the 's of a possessor
            kind = Role.inner
        if kind is Role.marker and self.penn and self._is_particle(number):  # to go: (VP to (VP go))
            kind = Role.auxiliary
        return _Item(kind, self.built[number], number, token.has("VerbForm=Fin"))

    def _with_edges(
        self, number: int, items: list[_Item], build: Callable[[int, list[_Item]], tuple[_Part, ...]]
    ) -> tuple[_Part, ...]:
        """Build what lies between punctuation and conjunctions at the edges, which stay outside but in the root."""
        start, end = 0, len(items)
        if self.heads[number - 1]:
            while items[start].role in _EDGE:
                start += 1
            while items[end - 1].role is Role.outer:
                end -= 1
        return (*_parts(items[:start]), *build(number, items[start:end]), *_parts(items[end:]))

    # -- noun phrases

    def _nominal(self, number: int, items: list[_Item]) -> tuple[_Part, ...]:
        cases = [place for place, item in enumerate(items) if item.role is Role.case]
        core, tail = _split_coordination(items)
        joined = [part.label for item in tail if item.role is Role.conjunct for part in item.parts]
        nominal = self._is_nominal(number) or self.token(number).upos in NOMINAL
        if not cases:
            parts = self._noun_phrase(core) if nominal else _parts(core)
            return (_wrap("NP", (*parts, *_parts(tail))),) if tail and nominal else (*parts, *_parts(tail))
        if "PP" in joined:
            first = self._prepositional(core, nominal)
            return (_wrap("PP", (first, *_parts(tail))),)
        return (self._prepositional(core, nominal, tail),)

    def _prepositional(self, items: list[_Item], nominal: bool, tail: Sequence[_Item] = ()) -> _Part:
        """A PP: what stands up to the prepositions, the noun phrase, and postpositions with what follows them."""
        head = next(place for place, item in enumerate(items) if item.role is Role.head)
        before = max((place + 1 for place in range(head) if items[place].role is Role.case), default=0)
        behind = min(
            (place for place in range(head + 1, len(items)) if items[place].role is Role.case), default=len(items)
        )
        inside = items[before:behind]
        parts = self._noun_phrase(inside) if nominal else _parts(inside)
        if tail:
            parts = (_wrap("NP", (*parts, *_parts(tail))),) if nominal else (*parts, *_parts(tail))
        return _wrap("PP", (*_parts(items[:before]), *parts, *_parts(items[behind:])))

    def _noun_phrase(self, items: Sequence[_Item]) -> tuple[_Part, ...]:
        head = next(place for place, item in enumerate(items) if item.role is Role.head)
        end = next((place for place in range(head + 1, len(items)) if items[place].role is not Role.inner), len(items))
        if not self.penn or not any(item.role is Role.after for item in items[end:]):
            return (_wrap("NP", _parts(items)),)
        return (_wrap("NP", (_wrap("NP", _parts(items[:end])), *_parts(items[end:]))),)

    # -- clauses

    def _clause(self, number: int, items: list[_Item]) -> tuple[_Part, ...]:
        if self.token(number).upos not in VERBAL:
            items = self._nominal_predicate(number, items)
        return self._with_edges(number, items, self._verbal)

    def _nominal_predicate(self, number: int, items: list[_Item]) -> list[_Item]:
        """The items with those that belong to a predicate's noun phrase, rather than to the clause, made one."""
        noun = []
        for below in self.dependents[number]:
            kind = relation_of(self.token(below).relation).in_nominal
            if self._base(below) in (
                "case",
                "det",
                "amod",
                "nummod",
                "nmod",
                "acl",
                "appos",
                "compound",
                "flat",
                "fixed",
            ):
                noun.append(_Item(kind, self.built[below], below))
        leaf = next(item for item in items if item.role is Role.head)
        within = sorted([*noun, leaf], key=lambda item: item.number)
        between = {item.number for item in items if within[0].number < item.number < within[-1].number}
        if between - {item.number for item in within}:  # something of the clause stands between
            within = [item for item in within if item.number == number]
        if self.token(number).upos in NOMINAL or any(item.role is Role.case for item in within):
            parts = self._nominal(number, within)
        else:
            parts = _parts(within)
        chosen = {item.number for item in within}
        predicate = _Item(Role.head, parts, number, finite=False)
        return sorted([*(item for item in items if item.number not in chosen), predicate], key=lambda item: item.number)

    def _verbal(self, number: int, items: list[_Item]) -> tuple[_Part, ...]:
        core, tail = _split_coordination(items)
        finite, subject = self._is_finite(number), any(item.role is Role.subject for item in core)
        whole = self._whole_label(number, finite, subject)
        if not self.penn:
            return self._negra_clause(core, tail, whole, finite)
        outside = self._introduction(core)
        inner = core[outside:]
        labels = {part.label for item in tail if item.role is Role.conjunct for part in item.parts}
        if tail and "S" in labels:
            parts: tuple[_Part, ...] = (_wrap("S", self._verb_phrase(inner)), *_parts(tail))
        else:
            parts = self._verb_phrase(inner, tail)
        if whole == "S":
            parts = (_wrap("S", parts),)
        return (*map(_bare, _parts(core[:outside])), *parts)

    def _whole_label(self, number: int, finite: bool, subject: bool) -> str:
        """`S`, or `VP` for what is less than a clause."""
        if subject or not self.heads[number - 1]:
            return "S"
        base = self._base(number)
        if not self.penn:
            return "S" if finite else "VP"
        if base == "conj" and self._is_clause(self.heads[number - 1]):
            return "VP"
        participle = self.token(number).has("VerbForm=Part") or self.token(number).has("VerbForm=Ger")
        return "VP" if base == "acl" and participle and not finite else "S"

    def _introduction(self, core: list[_Item]) -> int:
        """How many items stand before the S: a conjunction, or a relative pronoun or question word."""
        place = 0
        if core and self.heads[core[0].number - 1]:
            while place < len(core) - 1 and (core[place].role is Role.marker or self._is_relative(core, place)):
                place += 1
        return place

    def _is_relative(self, core: list[_Item], place: int) -> bool:
        item = core[place]
        token = self.token(item.number)
        single = len(item.parts) == 1 and len(self.dependents[item.number]) == 0
        return place == 0 and item.role is not Role.head and single and any(
            token.has(f"PronType={kind}") for kind in ("Rel", "Int", "Int,Rel", "Dem,Rel")
        )  # fmt: skip

    def _verb_phrase(self, items: list[_Item], tail: Sequence[_Item] = ()) -> tuple[_Part, ...]:
        """The verb phrase of an S: VPs nested, one a verb, over what follows the subject."""
        head = next(place for place, item in enumerate(items) if item.role is Role.head)
        subjects = [place for place, item in enumerate(items) if item.role is Role.subject]
        verbs = [place for place, item in enumerate(items) if item.role in (Role.auxiliary, Role.head)]
        start = max((place + 1 for place in subjects if place < head), default=0)
        end = min((place for place in subjects if place > head), default=len(items))
        if end < len(items) or (not subjects and start == len(items)):  # the verb stands before its subject
            return (*_parts(items), *_parts(tail))
        while end > head + 1 and items[end - 1].role is Role.outer:
            end -= 1
        inside = [place for place in verbs if start <= place < end]
        begin, nested = self._nest(items, start, end, inside)
        phrase = (*nested, *_parts(items[end:]), *_parts(tail))
        return (*_parts(items[:begin]), *((_wrap("VP", phrase),) if tail else phrase))

    def _nest(self, items: list[_Item], start: int, end: int, verbs: list[int]) -> tuple[int, tuple[_Part, ...]]:
        """Where the VP begins within `start` to `end`, and the VP, with those of further verbs inside."""
        head = next(place for place, item in enumerate(items) if item.role is Role.head)
        first = min(verbs)
        while self.penn and start < first and items[start].role in (Role.adverb, Role.outer, Role.joiner):
            start += 1
        others = [place for place in verbs if place != head]
        if not others:
            return start, (_wrap("VP", _parts(items[start:end])),)
        if first != head:  # has (VP seen him)
            if len(verbs) == 2 and not self._is_verb(items[head]):  # is good: one VP
                return start, (_wrap("VP", _parts(items[start:end])),)
            begin, inner = self._nest(items, first + 1, end, [place for place in verbs if place != first])
            return start, (_wrap("VP", (*_parts(items[start:begin]), *inner)),)
        last = max(verbs)  # (VP ihn gesehen) hat
        if len(verbs) == 2 and not self._is_verb(items[head]):
            return start, (_wrap("VP", _parts(items[start:end])),)
        begin, inner = self._nest(items, start, last, [place for place in verbs if place != last])
        return start, (_wrap("VP", (*_parts(items[start:begin]), *inner, *_parts(items[last:end]))),)

    def _is_verb(self, item: _Item) -> bool:
        return self.token(item.number).upos in VERBAL

    def _negra_clause(self, core: list[_Item], tail: Sequence[_Item], whole: str, finite: bool) -> tuple[_Part, ...]:
        """A clause whose finite verb belongs to the S, and others with what they govern to a VP."""
        head = next(place for place, item in enumerate(core) if item.role is Role.head)
        auxiliaries = [place for place, item in enumerate(core) if item.role is Role.auxiliary]
        if whole == "VP" or not auxiliaries or not self._is_verb(core[head]):
            return self._joined(core, tail, whole, _parts(core))
        top = next((place for place in auxiliaries if core[place].finite), auxiliaries[0])
        bound = max(
            (place for place, item in enumerate(core) if place < head and item.role is Role.subject), default=-1
        )
        marker = max(
            (place for place, item in enumerate(core) if place < head and item.role is Role.marker), default=-1
        )
        start, end = max(bound, marker) + 1, len(core)
        if top < head:
            start = max(start, top + 1)
        else:
            end = top
        while end > head + 1 and core[end - 1].role is Role.outer:
            end -= 1
        verbs = [place for place in (*auxiliaries, head) if place != top and start <= place < end]
        begin, phrase = self._nest(core, start, end, verbs)
        together = all(part.label != "S" for item in tail if item.role is Role.conjunct for part in item.parts)
        if tail and together and end == len(core):  # the VPs are coordinated, not the clauses
            phrase = (_wrap("VP", (*phrase, *_parts(tail))),)
            return (_wrap(whole, (*_parts(core[:begin]), *phrase)),)
        return self._joined(core, tail, whole, (*_parts(core[:begin]), *phrase, *_parts(core[end:])))

    @staticmethod
    def _joined(core: list[_Item], tail: Sequence[_Item], label: str, parts: tuple[_Part, ...]) -> tuple[_Part, ...]:
        first = _wrap(label, parts)
        return (_wrap(label, (first, *_parts(tail))),) if tail else (first,)


def _split_coordination(items: list[_Item]) -> tuple[list[_Item], list[_Item]]:
    """The first of what is coordinated, and the rest: conjunctions, commas, further conjuncts and what follows them."""
    head = next(place for place, item in enumerate(items) if item.role is Role.head)
    first = next((place for place in range(head, len(items)) if items[place].role is Role.conjunct), None)
    if first is None:
        return items, []
    while items[first - 1].role in _EDGE and first - 1 > head:
        first -= 1
    return items[:first], items[first:]
