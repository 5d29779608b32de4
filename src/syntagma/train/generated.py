"""Validation by what a model writes: BLEU and iBLEU of the outputs for the first pairs of the dev split."""

from __future__ import annotations

from itertools import islice
from typing import Literal

from syntagma.corpus.store import Split
from syntagma.metrics import Bleu, IBleu, Metric, Segment, SelfBleu
from syntagma.network.interface import Learns
from syntagma.runtime.folder import torch_runtime
from syntagma.search import Generator, SearchOptions
from syntagma.text import split
from syntagma.text.vocabulary import Vocabulary
from syntagma.train.validate import Validation

Figure = Literal["bleu", "ibleu"]


class TextValidator:
    """Greedy outputs scored against the references, words apart as in the paper's figures."""

    def __init__(
        self,
        pairs: Split,
        vocabulary: Vocabulary,
        count: int,
        figure: Figure = "bleu",
        options: SearchOptions | None = None,
    ) -> None:
        chosen = list(islice(iter(pairs), count))
        self.sources = [pair.source for pair in chosen]
        self.references = [_words(pair.target) for pair in chosen]
        self.vocabulary = vocabulary
        self.figure = figure
        self.options = options or SearchOptions(beam=1)

    def __call__(self, network: Learns) -> Validation:
        """BLEU, self-BLEU and iBLEU in per cent, and how long the outputs are beside the references."""
        generator = Generator(torch_runtime(network), self.vocabulary, self.options)
        results = generator.stream(self.sources, batch=64)
        outputs = [_words(result[0].text) if isinstance(result, list) and result else "" for result in results]
        segments = [
            Segment(output, (reference,), _words(source))
            for output, reference, source in zip(outputs, self.references, self.sources, strict=True)
        ]
        metrics: tuple[Metric, ...] = (Bleu(), SelfBleu(), IBleu())
        figures = {score.name: score.value for metric in metrics for score in metric.corpus(segments)}
        written, wanted = (sum(len(text.split()) for text in texts) for texts in (outputs, self.references))
        figures["length_ratio"] = 100.0 * written / max(wanted, 1)
        return Validation(figures[self.figure], figures)


def _words(text: str) -> str:
    return " ".join(split(text).texts())
