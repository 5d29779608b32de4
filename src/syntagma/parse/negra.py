"""Gold trees with the labels of NEGRA, the German treebank, as trees over S, NP, VP and PP, to score parsers on.

Coordinations take the label of what they join (`CS CNP CVP CPP`); names and foreign words (`PN CH`) are NPs unless they
stand in one.  All else (`AP AVP VZ CAP DL NM`) lies flat in its parent.  Constituents with the only child of the same
label are one.  Tokens tagged `--` are mark-up such as `<p>` and are left out.
"""

from __future__ import annotations

from typing import Final

from syntagma.tree import Tree

LABELS: Final = {"S": "S", "CS": "S", "NP": "NP", "CNP": "NP", "VP": "VP", "CVP": "VP", "PP": "PP", "CPP": "PP"}
NAMES: Final = frozenset({"PN", "CH"})
MARK_UP: Final = "--"


def from_negra(tree: Tree) -> Tree | None:
    """The tree with parts of speech, over S, NP, VP and PP; None where only mark-up was in it.

    >>> gold = Tree.read("(TOP (CNP (-- <p>) (NP (PN (NE Tom))) (KON und) (PN (NE Eva) (NE Li))))")
    >>> print(from_negra(gold))
    (TOP (NP (NP (NE Tom)) (KON und) (NP (NE Eva) (NE Li))))
    """
    root = _convert(tree)
    return Tree(tree.label, root) if root else None


def _convert(tree: Tree) -> list[Tree]:
    """Convert the children of a constituent."""
    parts: list[Tree] = []
    for child in tree.children:
        if not isinstance(child, Tree) or child.label == MARK_UP:
            continue
        if not any(isinstance(below, Tree) for below in child.children):
            parts.append(child)
            continue
        label = LABELS.get(child.label) or ("NP" if child.label in NAMES and tree.label != "NP" else "")
        inner = _convert(child)
        if label and inner and not (len(inner) == 1 and inner[0].label == label):
            inner = [Tree(label, inner)]
        parts += inner
    return parts
