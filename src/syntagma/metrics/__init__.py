"""Every figure of the paper, in sacrebleu's manner: small classes, signatures, statistics that are kept.

>>> from syntagma.metrics import Bleu, Segment, evaluate
>>> [result] = evaluate([Bleu()], [(Segment("he made a big mistake .", refs=("he made a mistake .",)),)])
>>> round(result.scores()[0].value, 2)
37.99

Nothing is imported until it is used: numpy by any metric, torch by `Similarity` only, Java by `Meteor` only.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from syntagma.metrics.base import Candidate, Metric, Score, Segment
    from syntagma.metrics.beam import BeamQuality, DLexBeam, DSynBeam
    from syntagma.metrics.bleu import Bleu, IBleu, SelfBleu
    from syntagma.metrics.bootstrap import Comparison
    from syntagma.metrics.evaluation import SystemStatistics, evaluate
    from syntagma.metrics.inputs import Inputs, read_segments
    from syntagma.metrics.lexical import ChrF, CopyRate, DLex, LengthRatio, lexical_distance
    from syntagma.metrics.meteor import Meteor
    from syntagma.metrics.per_reference import OneReference
    from syntagma.metrics.registry import MetricOptions, select
    from syntagma.metrics.rouge import Rouge
    from syntagma.metrics.similarity import Similarity, SimilarityToSource
    from syntagma.metrics.trees import (
        DSyn,
        DSynRef,
        Interpretability,
        ParsedTemplateMatch,
        TemplateMatch,
        labelled_spans,
    )

__all__ = [
    "BeamQuality",
    "Bleu",
    "Candidate",
    "ChrF",
    "Comparison",
    "CopyRate",
    "DLex",
    "DLexBeam",
    "DSyn",
    "DSynBeam",
    "DSynRef",
    "IBleu",
    "Inputs",
    "Interpretability",
    "LengthRatio",
    "Meteor",
    "Metric",
    "MetricOptions",
    "OneReference",
    "ParsedTemplateMatch",
    "Rouge",
    "Score",
    "Segment",
    "SelfBleu",
    "Similarity",
    "SimilarityToSource",
    "SystemStatistics",
    "TemplateMatch",
    "evaluate",
    "labelled_spans",
    "lexical_distance",
    "read_segments",
    "select",
]

_HOMES = {
    "base": ("Candidate", "Metric", "Score", "Segment"),
    "beam": ("BeamQuality", "DLexBeam", "DSynBeam"),
    "bleu": ("Bleu", "IBleu", "SelfBleu"),
    "bootstrap": ("Comparison",),
    "per_reference": ("OneReference",),
    "evaluation": ("SystemStatistics", "evaluate"),
    "lexical": ("ChrF", "CopyRate", "DLex", "LengthRatio", "lexical_distance"),
    "meteor": ("Meteor",),
    "inputs": ("Inputs", "read_segments"),
    "registry": ("MetricOptions", "select"),
    "rouge": ("Rouge",),
    "similarity": ("Similarity", "SimilarityToSource"),
    "trees": ("DSyn", "DSynRef", "Interpretability", "ParsedTemplateMatch", "TemplateMatch", "labelled_spans"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
