"""The paper's studies beside its tables, on dev: one line of figures for each setting.

*trees*: how far induced trees agree with the parser's.  *alpha*: quality and diversity of the beam over the
accumulation weight.  *reward* and *control*: the reference's shape as a template, favoured more and more, or
guaranteed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from syntagma.errors import ConfigError, SyntagmaError
from syntagma.experiment.tasks import Pairs
from syntagma.metrics.base import Candidate, Segment
from syntagma.metrics.evaluation import evaluate
from syntagma.metrics.parsing import TreeMaker, describe, load
from syntagma.metrics.registry import MetricOptions, select
from syntagma.search import Generator
from syntagma.search.options import SearchOptions
from syntagma.search.request import SearchRequest
from syntagma.search.result import Output
from syntagma.search.steering import Steering
from syntagma.template import Template, TemplateError
from syntagma.text import split
from syntagma.tree import Tree

Figures = dict[str, Any]
ALPHAS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95)
REWARDS = (0.0, 0.08, 0.16, 0.32, 0.64, 1.28)
TEMPLATE_DEPTH = 3
"""How deep a reference's shape counts as a template, the sentence itself at 1."""

_BEAM = ("bleu", "self_bleu", "ibleu", "d_syn", "beam_bleu", "beam_ibleu", "d_lex_beam", "d_syn_beam", "length_ratio")
_CONTROL = ("bleu", "ibleu", "d_syn_ref", "template_match", "template_match_parsed", "length_ratio")
_TREES = ("tree_precision", "tree_recall", "tree_f1", "length_ratio")


class Study:
    """A model, the dev pairs, and the parser that judges."""

    def __init__(self, generator: Generator, pairs: Pairs, tokenize: str, *, batch: int = 32) -> None:
        if not generator.config.guided:
            raise ConfigError("this model grows no trees", remedy="give a guided model")
        self.generator = generator
        self.pairs = pairs
        self.tokenize = tokenize
        self.batch = batch
        self.parser = load("parser-en")

    def trees(self) -> Iterator[Figures]:
        """Induced trees against the parser's, greedy and at the model's beam."""
        for beam in (1, self.generator.defaults.beam):
            options = self.generator.defaults.changed({"beam": beam})
            yield {"study": "trees", "beam": beam} | self._score(self._outputs(options), _TREES)

    def alpha(self) -> Iterator[Figures]:
        """The beam over the accumulation weight."""
        for alpha in ALPHAS:
            options = self.generator.defaults.changed({"alpha": alpha})
            yield {"study": "alpha", "alpha": alpha} | self._score(self._outputs(options), _BEAM)

    def reward(self) -> Iterator[Figures]:
        """The reference's shape favoured more and more."""
        templates = self._templates()
        for reward in REWARDS:
            options = self.generator.defaults.changed({"reward": reward})
            found = self._outputs(options, templates, "soft")
            yield {"study": "reward", "reward": reward} | self._score(found, _CONTROL, templates)

    def control(self) -> Iterator[Figures]:
        """Without a template, with the reference's favoured, with it guaranteed."""
        templates = self._templates()
        for control in ("none", "soft", "hard"):
            given = templates if control != "none" else [None] * len(templates)
            found = self._outputs(self.generator.defaults, given, control)
            yield {"study": "control", "control": control} | self._score(found, _CONTROL, templates)

    def _templates(self) -> list[Template | None]:
        """The shapes of the references."""
        trees = self.parser.parse([split(target).texts() for _, target in self.pairs])
        labels = self.generator.vocabulary.labels
        return [self._template(tree, labels) for tree in trees]

    @staticmethod
    def _template(tree: Tree, labels: Sequence[str]) -> Template | None:
        try:
            return Template.from_tree(tree, TEMPLATE_DEPTH, labels)
        except TemplateError:  # a text without any constituent that guides
            return None

    def _outputs(
        self, options: SearchOptions, templates: Sequence[Template | None] | None = None, control: str = "soft"
    ) -> list[list[Output]]:
        """For each source its hypotheses, under its own template; none where the template leaves none."""
        given = templates or [None] * len(self.pairs)
        steered = [Steering(template, "hard" if control == "hard" else "soft") for template in given]

        def requests() -> Iterator[SearchRequest]:
            for number, ((source, _), steering) in enumerate(zip(self.pairs, steered, strict=True)):
                yield self.generator.request(number, source, steering, options)

        found: list[list[Output]] = [[] for _ in self.pairs]
        for request in self.generator.scheduler(self.batch).run(requests()):
            outputs = self.generator.outputs(request, steered[request.number])
            if isinstance(outputs, SyntagmaError) and not isinstance(outputs, TemplateError):
                raise outputs
            found[request.number] = outputs if isinstance(outputs, list) else []
        return found

    def _score(
        self, found: list[list[Output]], names: Sequence[str], templates: Sequence[Template | None] | None = None
    ) -> Figures:
        """The figures of the outputs, with their 95% intervals."""
        segments = []
        for number, ((source, target), outputs) in enumerate(zip(self.pairs, found, strict=True)):
            best = outputs[0] if outputs else None
            template = templates[number] if templates else None
            segments.append(
                Segment(
                    best.text if best else "",
                    (target,),
                    source,
                    induced=best.tree if best else None,
                    template=str(template) if template else "",
                    nbest=tuple(Candidate(one.text, one.tree) for one in outputs),
                )
            )
        fields = {"hyp", "refs", "src", "induced", "template", "nbest", "nbest_trees"}
        parsed = {"hyp_tree", "src_tree", "ref_trees"}
        made = f"parsed by {describe(self.parser, 'parser-en')}"
        options = replace(MetricOptions(tokenize=self.tokenize, beam=self.generator.defaults.beam), trees=made)
        metrics = select(names, fields | parsed, options)
        maker = TreeMaker(self.parser, parsed & {field for metric in metrics for field in metric.needs})
        (result,) = evaluate(metrics, ((segment,) for segment in segments), maker)
        scores = result.scores(1000)
        return {
            **{score.name: round(score.value, 2) for score in scores},
            "intervals": {score.name: score.interval for score in scores if score.interval is not None},
            "segments": len(segments),
            "without_output": sum(not outputs for outputs in found),
        }


STUDIES: dict[str, Callable[[Study], Iterator[Figures]]] = {
    "trees": Study.trees,
    "alpha": Study.alpha,
    "reward": Study.reward,
    "control": Study.control,
}
