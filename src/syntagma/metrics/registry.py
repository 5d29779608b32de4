"""All metrics in the order of the table, and the choice of those that an evaluation computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from syntagma.errors import ConfigError, SyntagmaError
from syntagma.metrics.base import Metric
from syntagma.metrics.beam import BeamQuality, DLexBeam, DSynBeam
from syntagma.metrics.bleu import Bleu, IBleu, SelfBleu
from syntagma.metrics.edits import EditFollowed
from syntagma.metrics.lexical import ChrF, CopyRate, DLex, LengthRatio
from syntagma.metrics.meteor import Meteor
from syntagma.metrics.parsing import PARSED_FIELDS
from syntagma.metrics.rouge import Rouge
from syntagma.metrics.sari import Sari
from syntagma.metrics.similarity import SentenceEncoder, Similarity, SimilarityToSource
from syntagma.metrics.trees import DEPTH, DSyn, DSynRef, Interpretability, ParsedTemplateMatch, TemplateMatch


@dataclass(frozen=True, slots=True)
class MetricOptions:
    """The choices that metrics leave open; `trees` and `beam_trees` say in signatures where trees come from."""

    r: float = 0.7
    tokenize: str = "none"
    lowercase: bool = False
    depth: int | None = DEPTH
    beam: int = 5
    trees: str = "given"
    beam_trees: str = "induced"
    device: str = "cpu"
    """Where texts are encoded for similarity."""
    precision: str | None = None


@dataclass(frozen=True, slots=True)
class _Entry:
    kind: type[Metric]
    make: Callable[[MetricOptions], Metric]
    usual: bool = True  # computed unless others are asked for

    @property
    def names(self) -> tuple[str, ...]:
        return self.kind.names


def _encoder(options: MetricOptions) -> SentenceEncoder:
    return SentenceEncoder.load(options.device, options.precision)


def _entries() -> list[_Entry]:
    return [
        _Entry(Bleu, lambda o: Bleu(o.tokenize, o.lowercase)),
        _Entry(SelfBleu, lambda o: SelfBleu(o.tokenize, o.lowercase)),
        _Entry(IBleu, lambda o: IBleu(o.r, o.tokenize, o.lowercase)),
        _Entry(Meteor, lambda o: Meteor()),
        _Entry(Rouge, lambda o: Rouge()),
        _Entry(DLex, lambda o: DLex()),
        _Entry(DSyn, lambda o: DSyn(o.depth, o.trees)),
        _Entry(DSynRef, lambda o: DSynRef(o.depth, o.trees)),
        _Entry(ChrF, lambda o: ChrF()),
        _Entry(LengthRatio, lambda o: LengthRatio()),
        _Entry(CopyRate, lambda o: CopyRate()),
        _Entry(Sari, lambda o: Sari(), usual=False),
        _Entry(Similarity, lambda o: Similarity(_encoder(o)), usual=False),
        _Entry(SimilarityToSource, lambda o: SimilarityToSource(_encoder(o)), usual=False),
        _Entry(BeamQuality, lambda o: BeamQuality(o.beam, o.r, o.tokenize, o.lowercase)),
        _Entry(DLexBeam, lambda o: DLexBeam()),
        _Entry(DSynBeam, lambda o: DSynBeam(o.depth, o.beam_trees)),
        _Entry(Interpretability, lambda o: Interpretability(trees=o.trees)),
        _Entry(TemplateMatch, lambda o: TemplateMatch()),
        _Entry(ParsedTemplateMatch, lambda o: ParsedTemplateMatch(o.trees)),
        _Entry(EditFollowed, lambda o: EditFollowed(o.trees)),
    ]


_GROUPS = {"rouge": Rouge, "beam_quality": BeamQuality, "tree_spans": Interpretability}
_OPTION_FOR = {
    "refs": "--ref", "src": "--src", "hyp_tree": "hyp_trees= or --parser", "src_tree": "src_trees= or --parser",
    "ref_trees": "ref_trees= or --parser", "induced": "induced_trees= or --nbest", "template": "templates=",
    "nbest": "--nbest", "nbest_trees": "trees in --nbest or --parser", "edit": "a recipe whose rows follow edits",
}  # fmt: skip


def known_names() -> list[str]:
    """All names that `select` takes."""
    return [*(name for entry in _entries() for name in entry.names), *_GROUPS]


def wanted(names: Iterable[str] | None) -> list[tuple[type[Metric], bool]]:
    """The kinds of metric meant by `names`, in the table's order, each with whether it was asked for by name.

    None means the usual ones and "all" every one.
    """
    asked = list(names or ())
    unknown = [name for name in asked if name not in {*known_names(), "all"}]
    if unknown:
        raise ConfigError(f"there is no metric {unknown[0]!r}", remedy=f"use one of {', '.join(known_names())}, all")
    groups = {_GROUPS[name] for name in asked if name in _GROUPS}
    chosen = []
    for entry in _entries():
        by_name = entry.kind in groups or any(name in asked for name in entry.names)
        if by_name or "all" in asked or (not asked and entry.usual):
            chosen.append((entry.kind, by_name))
    return chosen


def to_parse(names: Iterable[str] | None, fields: set[str]) -> set[str]:
    """The tree fields that a parser has to fill for the wanted metrics, given that segments have `fields`.

    References are only parsed for a metric that was asked for by name: it costs as much as all else together.
    """
    names = list(names or ())
    possible = fields | {trees for trees, texts in PARSED_FIELDS.items() if texts in fields}
    kinds = [kind for kind, by_name in wanted(names) if by_name or "all" in names or kind is not DSynRef]
    return {field for kind in kinds if kind.needs <= possible for field in kind.needs} - fields


def select(
    names: Iterable[str] | None,
    fields: set[str],
    options: MetricOptions,
    note: Callable[[str], None] = lambda text: None,
) -> list[Metric]:
    """The metrics to compute from segments that have `fields`.

    One that was asked for by name and lacks a field is an error; else it is left out in silence.  One whose optional
    package is missing is left out, and `note` is told how to get it.
    """
    makers = {entry.kind: entry.make for entry in _entries()}
    metrics: list[Metric] = []
    for kind, by_name in wanted(names):
        missing = sorted(kind.needs - fields)
        if missing and by_name:
            raise ConfigError(
                f"{kind.names[0]} needs {_OPTION_FOR[missing[0]]}", remedy="give it, or leave the metric out"
            )
        if missing:
            continue
        try:
            metrics.append(makers[kind](options))
        except ConfigError:
            raise
        except SyntagmaError as error:
            note(f"{', '.join(kind.names)} left out: {error}")
    return metrics
