"""Constituency trees from dependencies: a table of sentences in both styles, and laws."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parse.test_conllu import read
from syntagma.parse.conllu import DependencyTree, Token
from syntagma.parse.dependencies import NOMINAL, Style, to_tree
from syntagma.parse.relations import RELATIONS, lift, relation_of

_TAG = re.compile(r"\((?!TOP |S |NP |VP |PP )[^ ()]+ ([^ ()]+)\)")


def shown(rows: str, style: Style) -> str:
    """The tree without parts of speech."""
    return _TAG.sub(r"\1", str(to_tree(read(rows), style)))


HAT = """
1 He PRON 3 nsubj
2 has AUX 3 aux VerbForm=Fin
3 seen VERB 0 root VerbForm=Part
4 the DET 5 det
5 man NOUN 3 obj
6 with ADP 8 case
7 the DET 8 det
8 hat NOUN 5 nmod
9 . PUNCT 3 punct
"""
HUT = """
1 Er PRON 8 nsubj
2 hat AUX 8 aux VerbForm=Fin
3 den DET 4 det
4 Mann NOUN 8 obj
5 mit ADP 7 case
6 dem DET 7 det
7 Hut NOUN 4 nmod
8 gesehen VERB 0 root VerbForm=Part
9 . PUNCT 8 punct
"""
TO_GO = """
1 I PRON 2 nsubj
2 want VERB 0 root VerbForm=Fin
3 to PART 4 mark
4 go VERB 2 xcomp VerbForm=Inf
5 home ADV 4 advmod
"""
THAT = """
1 She PRON 2 nsubj
2 said VERB 0 root VerbForm=Fin
3 that SCONJ 5 mark
4 he PRON 5 nsubj
5 left VERB 2 ccomp VerbForm=Fin
"""
DASS = """
1 Sie PRON 2 nsubj
2 sagt VERB 0 root VerbForm=Fin
3 , PUNCT 7 punct
4 dass SCONJ 7 mark
5 er PRON 7 nsubj
6 das PRON 7 obj
7 gesehen VERB 2 ccomp VerbForm=Part
8 hat AUX 7 aux VerbForm=Fin
"""
INVERTED = """
1 Heute ADV 2 advmod
2 sah VERB 0 root VerbForm=Fin
3 ich PRON 2 nsubj
4 sie PRON 2 obj
"""
RELATIVE = """
1 The DET 2 det
2 man NOUN 5 nsubj
3 who PRON 4 nsubj PronType=Rel
4 came VERB 2 acl:relcl VerbForm=Fin
5 left VERB 0 root VerbForm=Fin
"""
COPULA = """
1 This PRON 5 nsubj
2 is AUX 5 cop VerbForm=Fin
3 a DET 5 det
4 big ADJ 5 amod
5 house NOUN 0 root
6 in ADP 7 case
7 Rome PROPN 5 nmod
"""
ADJECTIVE = """
1 It PRON 4 nsubj
2 is AUX 4 cop VerbForm=Fin
3 very ADV 4 advmod
4 good ADJ 0 root
5 . PUNCT 4 punct
"""
AND_NOUNS = """
1 Tom PROPN 4 nsubj
2 and CCONJ 3 cc
3 Mary PROPN 1 conj
4 live VERB 0 root VerbForm=Fin
5 in ADP 6 case
6 Rome PROPN 4 obl
7 or CCONJ 8 cc
8 Paris PROPN 6 conj
"""
AND_VERBS = """
1 He PRON 2 nsubj
2 came VERB 0 root VerbForm=Fin
3 and CCONJ 4 cc
4 saw VERB 2 conj VerbForm=Fin
5 us PRON 4 obj
"""
AND_CLAUSES = """
1 He PRON 2 nsubj
2 came VERB 0 root VerbForm=Fin
3 and CCONJ 5 cc
4 she PRON 5 nsubj
5 left VERB 2 conj VerbForm=Fin
6 . PUNCT 2 punct
"""
POSSESSOR = """
1 Tom PROPN 3 nmod:poss
2 's PART 1 case
3 dog NOUN 0 root
"""
PREPOSITIONS = """
1 in ADP 2 case
2 Rome PROPN 0 root
3 and CCONJ 5 cc
4 in ADP 5 case
5 Paris PROPN 2 conj
"""
POSTPOSITION = """
1 Meiner DET 2 det
2 Meinung NOUN 4 obl
3 nach ADP 2 case
4 stimmt VERB 0 root VerbForm=Fin
5 es PRON 4 nsubj
"""
QUESTION = """
1 Does AUX 3 aux VerbForm=Fin
2 he PRON 3 nsubj
3 know VERB 0 root VerbForm=Inf
4 her PRON 3 obj
5 ? PUNCT 3 punct
"""
ZU = """
1 Er PRON 2 nsubj
2 kam VERB 0 root VerbForm=Fin
3 , PUNCT 7 punct
4 um SCONJ 7 mark
5 sie PRON 7 obj
6 zu PART 7 mark
7 sehen VERB 2 advcl VerbForm=Inf
"""


@pytest.mark.parametrize(
    ("rows", "style", "tree"),
    [
        (HAT, "penn", "(TOP (S (NP He) (VP has (VP seen (NP (NP the man) (PP with (NP the hat))))) .))"),
        (HAT, "negra", "(TOP (S (NP He) has (VP seen (NP the man (PP with (NP the hat)))) .))"),
        (HUT, "penn", "(TOP (S (NP Er) (VP hat (VP (NP (NP den Mann) (PP mit (NP dem Hut))) gesehen)) .))"),
        (HUT, "negra", "(TOP (S (NP Er) hat (VP (NP den Mann (PP mit (NP dem Hut))) gesehen) .))"),
        (TO_GO, "penn", "(TOP (S (NP I) (VP want (S (VP to (VP go home))))))"),
        (TO_GO, "negra", "(TOP (S (NP I) want (VP to go home)))"),
        (THAT, "penn", "(TOP (S (NP She) (VP said that (S (NP he) (VP left)))))"),
        (THAT, "negra", "(TOP (S (NP She) said (S that (NP he) left)))"),
        (DASS, "penn", "(TOP (S (NP Sie) (VP sagt , dass (S (NP er) (VP (VP (NP das) gesehen) hat)))))"),
        (DASS, "negra", "(TOP (S (NP Sie) sagt , (S dass (NP er) (VP (NP das) gesehen) hat)))"),
        (INVERTED, "penn", "(TOP (S Heute sah (NP ich) (NP sie)))"),
        (INVERTED, "negra", "(TOP (S Heute sah (NP ich) (NP sie)))"),
        (RELATIVE, "penn", "(TOP (S (NP (NP The man) who (S (VP came))) (VP left)))"),
        (RELATIVE, "negra", "(TOP (S (NP The man (S (NP who) came)) left))"),
        (COPULA, "penn", "(TOP (S (NP This) (VP is (NP (NP a big house) (PP in (NP Rome))))))"),
        (COPULA, "negra", "(TOP (S (NP This) is (NP a big house (PP in (NP Rome)))))"),
        (ADJECTIVE, "penn", "(TOP (S (NP It) (VP is very good) .))"),
        (AND_NOUNS, "penn", "(TOP (S (NP (NP Tom) and (NP Mary)) (VP live (PP in (NP (NP Rome) or (NP Paris))))))"),
        (AND_VERBS, "penn", "(TOP (S (NP He) (VP (VP came) and (VP saw (NP us)))))"),
        (AND_VERBS, "negra", "(TOP (S (S (NP He) came) and (S saw (NP us))))"),
        (AND_CLAUSES, "penn", "(TOP (S (S (NP He) (VP came)) and (S (NP she) (VP left)) .))"),
        (AND_CLAUSES, "negra", "(TOP (S (S (NP He) came) and (S (NP she) left) .))"),
        (POSSESSOR, "penn", "(TOP (NP (NP Tom 's) dog))"),
        (PREPOSITIONS, "penn", "(TOP (PP (PP in (NP Rome)) and (PP in (NP Paris))))"),
        (POSTPOSITION, "negra", "(TOP (S (PP (NP Meiner Meinung) nach) stimmt (NP es)))"),
        (QUESTION, "penn", "(TOP (S Does (NP he) (VP know (NP her)) ?))"),
        (ZU, "negra", "(TOP (S (NP Er) kam , (VP um (NP sie) zu sehen)))"),
    ],
)
def test_trees(rows: str, style: str, tree: str) -> None:
    assert shown(rows, Style(style)) == tree


def test_crossing_arcs_are_lifted() -> None:
    rows = """
1 Was PRON 4 obj PronType=Int
2 hast AUX 3 aux VerbForm=Fin
3 versucht VERB 0 root VerbForm=Part
4 tun VERB 3 xcomp VerbForm=Inf
"""
    assert shown(rows, Style.negra) == "(TOP (S (NP Was) hast (VP versucht (VP tun))))"


def test_relations_are_looked_up_by_subtype_first() -> None:
    assert relation_of("nsubj:pass") == RELATIONS["nsubj"]
    assert relation_of("compound:prt") != RELATIONS["compound"]
    assert relation_of("no-such-relation") == RELATIONS["dep"]


@st.composite
def sentences(draw: st.DrawFn) -> DependencyTree:
    """Any dependency tree: heads come before their dependents in a random order of the words."""
    size = draw(st.integers(1, 9))
    order = draw(st.permutations(range(1, size + 1)))
    heads = {order[0]: 0} | {order[at]: order[draw(st.integers(0, at - 1))] for at in range(1, size)}
    relations = st.sampled_from(sorted(RELATIONS.keys() - {"root"}))
    kinds = st.sampled_from([*sorted(NOMINAL), "VERB", "AUX", "ADJ", "ADV", "ADP", "PART", "PUNCT", "CCONJ"])
    features = st.sampled_from(["_", "VerbForm=Fin", "VerbForm=Inf", "VerbForm=Part", "PronType=Rel"])
    tokens = (
        Token(f"w{at}", draw(kinds), "_", draw(features), heads[at], draw(relations) if heads[at] else "root")
        for at in range(1, size + 1)
    )
    return DependencyTree(tuple(tokens), 1)


@given(sentences(), st.sampled_from(Style))
def test_any_dependency_tree_becomes_a_tree_over_its_words(sentence: DependencyTree, style: Style) -> None:
    tree = to_tree(sentence, style)
    assert tree.words() == sentence.words()
    assert {item[1:] for item in tree.walk if item[0] == "("} <= {
        "TOP", "S", "NP", "VP", "PP", *(token.upos for token in sentence.tokens),
    }  # fmt: skip


@given(sentences())
def test_lifted_heads_are_a_projective_tree(sentence: DependencyTree) -> None:
    heads = [token.head for token in sentence.tokens]
    lifted = lift(heads)
    assert [head == 0 for head in lifted] == [head == 0 for head in heads]
    arcs = [tuple(sorted((head, below))) for below, head in enumerate(lifted, 1) if head]
    assert not any(a < c < b < d for a, b in arcs for c, d in arcs)
    assert lift(lifted) == lifted
