"""The outcome of a search that is over: nothing, and why; or texts, in which order under a hard template."""

from __future__ import annotations

from collections.abc import Sequence

from syntagma.errors import ConfigError, SyntagmaError
from syntagma.search.constraints.copy import CopyConstraint
from syntagma.search.constraints.template import TemplateConstraint
from syntagma.search.request import SearchRequest
from syntagma.search.result import Output
from syntagma.search.steering import exemplar_parser
from syntagma.template import Template, TemplateError
from syntagma.text.words import split


def check_found(request: SearchRequest) -> None:
    """Raise where nothing is in the beam."""
    if request.error is not None:
        raise request.error
    if request.beam:
        return
    if request.outgrown:
        raise SyntagmaError("the text outgrew the model's positions", remedy="lower max_depth or max_tokens")
    if request.lexical.any:
        raise ConfigError(
            "no output meets the constraints on words and labels", remedy="ask for fewer words, or widen the beam"
        )
    asked = request.longest is None  # by the user, not planned
    if asked and any(isinstance(constraint, TemplateConstraint) for constraint in request.fixed_constraints):
        raise TemplateError("no output of this model has the template's shape", remedy="loosen it with '...' or '*'")
    if any(isinstance(constraint, CopyConstraint) and constraint.strict for constraint in request.fixed_constraints):
        raise ConfigError(
            "every output that was found repeats the source",
            remedy="allow copies (forbid_copy=false), or widen the beam",
        )
    raise ConfigError(
        "the constraints leave the model nothing to write",
        remedy="lift one: known_words_only, max_unary_repeats",
    )


def parsed_first(outputs: Sequence[Output], template: Template) -> list[Output]:
    """Outputs whose texts a parser too gives the template's shape, then the others, in their order.

    The tree that a text grew from has that shape in any case; a parser may read the words otherwise.
    """
    if len(outputs) < 2:
        return list(outputs)
    trees = exemplar_parser().parse([split(output.text).texts() for output in outputs])
    agrees = {id(output): template.matches_tree(tree) for output, tree in zip(outputs, trees, strict=True)}
    return sorted(outputs, key=lambda output: not agrees[id(output)])
