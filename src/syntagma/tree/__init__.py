"""Constituency trees: values, brackets in and out, transformations, drawing."""

from syntagma.tree.brackets import ROOT, read_tree, read_trees, write_pretty, write_tree
from syntagma.tree.draw import draw, draw_indented, svg
from syntagma.tree.edit import edit_distance, normalised_edit_distance, tree_size
from syntagma.tree.node import Child, Span, Tree, check_label
from syntagma.tree.transform import (
    KEPT_LABELS,
    clean,
    collapse_unary,
    delexicalise,
    expand_unary,
    prune,
    relabel,
    strip_tags,
    strip_traces,
    with_words,
)

__all__ = [
    "KEPT_LABELS",
    "ROOT",
    "Child",
    "Span",
    "Tree",
    "check_label",
    "clean",
    "collapse_unary",
    "delexicalise",
    "draw",
    "draw_indented",
    "edit_distance",
    "expand_unary",
    "normalised_edit_distance",
    "prune",
    "read_tree",
    "read_trees",
    "relabel",
    "strip_tags",
    "strip_traces",
    "svg",
    "tree_size",
    "with_words",
    "write_pretty",
    "write_tree",
]
