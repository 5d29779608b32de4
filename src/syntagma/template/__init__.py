"""Templates: the shape of a tree without its words, matching, and what a shape allows next."""

from syntagma.template.guide import Guide, NextLabels
from syntagma.template.shape import Template
from syntagma.template.syntax import ANY, TemplateError, TemplateNode

__all__ = ["ANY", "Guide", "NextLabels", "Template", "TemplateError", "TemplateNode"]
