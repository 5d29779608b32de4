"""Relations of Universal Dependencies with the roles they give, and heads without crossing arcs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple


class Role(StrEnum):
    """The role of a dependent in a clause or in a noun phrase."""

    subject = "subject"  # beside the VP
    auxiliary = "auxiliary"  # opens a VP over that of the verb
    marker = "marker"  # introduces a clause
    adverb = "adverb"  # in the VP, or before it
    complement = "complement"  # in the VP
    outer = "outer"  # beside everything: punctuation, insertions
    joiner = "joiner"  # joins what is coordinated
    conjunct = "conjunct"  # the second and later parts of a coordination
    case = "case"  # makes the noun phrase a PP
    inner = "inner"  # within the innermost NP
    after = "after"  # beside the innermost NP, if it stands after the noun
    head = "head"  # the word itself


class Relation(NamedTuple):
    """The roles that a universal relation gives a dependent."""

    in_clause: Role
    in_nominal: Role
    phrase: bool = True  # whether a nominal dependent is an NP or PP of its own


RELATIONS: Final = {
    # he left; that he left is good; there is
    "nsubj": Relation(Role.subject, Role.subject),
    "csubj": Relation(Role.subject, Role.subject),
    "expl": Relation(Role.subject, Role.subject),
    "expl:pv": Relation(Role.complement, Role.after),
    # saw him; gave him; says that; wants to go; left early; came up; left because
    "obj": Relation(Role.complement, Role.after),
    "iobj": Relation(Role.complement, Role.after),
    "obl": Relation(Role.complement, Role.after),
    "ccomp": Relation(Role.complement, Role.after),
    "xcomp": Relation(Role.complement, Role.after),
    "advcl": Relation(Role.complement, Role.after),
    "compound:prt": Relation(Role.complement, Role.inner, phrase=False),
    "advmod": Relation(Role.adverb, Role.inner, phrase=False),
    # has left; is good; because; to
    "aux": Relation(Role.auxiliary, Role.auxiliary, phrase=False),
    "cop": Relation(Role.auxiliary, Role.auxiliary, phrase=False),
    "mark": Relation(Role.marker, Role.case, phrase=False),
    # in the house; the house; old house; two houses; his house; house number; John Smith; of course
    "case": Relation(Role.adverb, Role.case, phrase=False),
    "det": Relation(Role.adverb, Role.inner, phrase=False),
    "amod": Relation(Role.adverb, Role.inner, phrase=False),
    "nummod": Relation(Role.adverb, Role.inner, phrase=False),
    "clf": Relation(Role.adverb, Role.inner, phrase=False),
    "compound": Relation(Role.adverb, Role.inner, phrase=False),
    "flat": Relation(Role.adverb, Role.inner, phrase=False),
    "fixed": Relation(Role.adverb, Role.inner, phrase=False),
    "goeswith": Relation(Role.adverb, Role.inner, phrase=False),
    # the roof of the house; the house that Jack built; Jack, the builder
    "nmod": Relation(Role.complement, Role.after),
    "acl": Relation(Role.complement, Role.after),
    "appos": Relation(Role.complement, Role.after),
    # he and she
    "cc": Relation(Role.joiner, Role.joiner, phrase=False),
    "conj": Relation(Role.conjunct, Role.conjunct),
    # "...", he said; oh; John, come; all that is left
    "punct": Relation(Role.outer, Role.outer, phrase=False),
    "parataxis": Relation(Role.outer, Role.after),
    "discourse": Relation(Role.outer, Role.after, phrase=False),
    "vocative": Relation(Role.outer, Role.after),
    "dislocated": Relation(Role.outer, Role.after),
    "orphan": Relation(Role.complement, Role.after),
    "list": Relation(Role.outer, Role.after),
    "reparandum": Relation(Role.outer, Role.inner),
    "dep": Relation(Role.adverb, Role.inner),
    "root": Relation(Role.complement, Role.after),
}
"""By the name of a relation, with its subtype where that matters.  Examples stand above each group."""


def relation_of(name: str) -> Relation:
    """Look up a relation by its subtype or else by the universal one; another counts as `dep`."""
    return RELATIONS.get(name) or RELATIONS.get(name.partition(":")[0]) or RELATIONS["dep"]


def lift(heads: Sequence[int]) -> list[int]:
    """Heads (words count from 1) without crossing arcs: what crosses another is lifted to its head's head.

    >>> lift([3, 0, 2, 1])  # the arcs from 3 to 1 and from 1 to 4 cross that from the root to 2
    [2, 0, 2, 2]
    """
    heads = list(heads)
    while True:
        crossing = [number for number in range(1, len(heads) + 1) if not _is_projective(heads, number)]
        if not crossing:
            return heads
        shortest = min(crossing, key=lambda number: (abs(number - heads[number - 1]), number))
        heads[shortest - 1] = heads[heads[shortest - 1] - 1]


def _is_projective(heads: Sequence[int], number: int) -> bool:
    """Whether all words between a word and its head come below the head."""
    head = heads[number - 1]
    if not head:
        return True
    for between in range(min(number, head) + 1, max(number, head)):
        above = between
        while above not in (0, head):
            above = heads[above - 1]
        if not above:
            return False
    return True
