"""Templates: the shape of a tree without its words, matching, and what a shape allows next."""

from syntagma.template.guide import Allowed, Guide
from syntagma.template.shape import Template
from syntagma.template.syntax import ANY, Node, TemplateError

__all__ = ["ANY", "Allowed", "Guide", "Node", "Template", "TemplateError"]
