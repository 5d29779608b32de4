"""The network of the neural parser: pieces in, a score for every label of every span and every tag of every word out.

The encoder's layers are mixed with learnt weights; a word is its first and last piece; one more layer of
self-attention runs over words.  A fencepost between two words is the first half of the left one's vector and the
second half of the right one's.  A span is the difference of its two fenceposts, through a layer with ReLU to the
labels (Kitaev and Klein, 2018); the projections of the two ends are learnt apart and computed once a fencepost, not
once a span.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from syntagma.parse.chart import span_index
from syntagma.parse.encoder import BertEncoder, BertLayer
from syntagma.parse.pieces import EncodedSentence, pad
from syntagma.parse.shape import EncoderConfig, NetworkConfig


@dataclass(frozen=True, slots=True)
class ParserBatch:
    """Sentences as tensors.

    `pieces`, `shapes` (batch, pieces); `mask` of that shape, or None where nothing is padded; `first`, `last`
    (batch, words + 2) with the two marks; `lengths` in words; `silver` (batch) is 1 where the trees are a parser's.
    """

    pieces: Tensor
    shapes: Tensor
    mask: Tensor | None
    first: Tensor
    last: Tensor
    lengths: list[int]
    silver: Tensor | None = None

    def to(self, device: torch.device) -> ParserBatch:
        """The same batch on a device."""
        mask = None if self.mask is None else self.mask.to(device)
        silver = None if self.silver is None else self.silver.to(device)
        pieces, shapes, first, last = (
            tensor.to(device) for tensor in (self.pieces, self.shapes, self.first, self.last)
        )
        return ParserBatch(pieces, shapes, mask, first, last, self.lengths, silver)


def collate(sentences: list[EncodedSentence], filler: int, silver: list[int] | None = None) -> ParserBatch:
    """The sentences as one batch; `filler` is the id of a padding piece."""
    longest = max(len(sentence.pieces) for sentence in sentences)
    mask = None
    if any(len(sentence.pieces) < longest for sentence in sentences):
        mask = torch.from_numpy(pad([[1] * len(sentence.pieces) for sentence in sentences], 0)).bool()
    return ParserBatch(
        pieces=torch.from_numpy(pad([sentence.pieces for sentence in sentences], filler)),
        shapes=torch.from_numpy(pad([sentence.shapes for sentence in sentences], 0)),
        mask=mask,
        first=torch.from_numpy(pad([sentence.first for sentence in sentences], 0)),
        last=torch.from_numpy(pad([sentence.last for sentence in sentences], 0)),
        lengths=[len(sentence.first) - 2 for sentence in sentences],
        silver=torch.tensor(silver, dtype=torch.float32) if silver is not None and any(silver) else None,
    )


class ParserNetwork(nn.Module):
    """Scores for spans and tags; label 0 is the null label, whose score is always 0."""

    def __init__(
        self, encoder: EncoderConfig, config: NetworkConfig, dropout: float = 0.0, head_dropout: float = 0.0
    ) -> None:
        super().__init__()
        width = encoder.width
        self.config = config
        self.encoder = BertEncoder(encoder, dropout)
        self.silver = nn.Parameter(torch.zeros(width))
        self.mixture = nn.Parameter(torch.zeros(encoder.layers + 1))
        self.word = nn.Linear(2 * width, width)
        self.word_norm = nn.LayerNorm(width)
        self.word_layers = nn.ModuleList(
            BertLayer(width, config.word_heads, config.word_feed_forward, 1e-6, head_dropout)
            for _ in range(config.word_layers)
        )
        self.tags = nn.Sequential(
            nn.Linear(width, width), nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, config.tags)
        )
        self.span_start = nn.Linear(width, config.span_width, bias=False)
        self.span_end = nn.Linear(width, config.span_width)
        self.span_norm = nn.LayerNorm(config.span_width)
        self.labels = nn.Linear(config.span_width, config.labels - 1)
        self.dropout = nn.Dropout(head_dropout)
        with torch.no_grad():  # begin as the plain difference of fenceposts, and from the encoder's last layer
            self.span_start.weight.copy_(-self.span_end.weight)
            self.mixture[-1] = 2.0

    def forward(self, batch: ParserBatch) -> tuple[Tensor, Tensor]:
        """Label scores (batch, spans, labels), the spans as in `chart.span_index`; tag scores (batch, words, tags)."""
        words = self._words(batch)
        tags = self.tags(words[:, 1:-1])
        half = words.shape[2] // 2
        posts = self.dropout(torch.cat([words[:, :-1, :half], words[:, 1:, half:]], dim=2))
        starts, ends = (torch.from_numpy(index).to(words.device) for index in span_index(words.shape[1] - 2))
        hidden = self.span_start(posts)[:, starts]  # the largest tensor by far, so it is changed in place
        hidden += self.span_end(posts)[:, ends]
        hidden = F.relu(self.span_norm(hidden), inplace=True)
        return F.pad(self.labels(hidden), (1, 0)), tags

    def _words(self, batch: ParserBatch) -> Tensor:
        """One vector for each word and the two marks around the sentence, (batch, words + 2, width)."""
        extra = None if batch.silver is None else batch.silver[:, None, None] * self.silver
        outputs = self.encoder(batch.pieces, batch.mask, batch.shapes, extra)
        weights = self.mixture.softmax(0)
        mixed = sum(weight * output for weight, output in zip(weights, outputs, strict=True))
        assert isinstance(mixed, Tensor)
        rows = torch.arange(mixed.shape[0], device=mixed.device)[:, None]
        ends = torch.cat([mixed[rows, batch.first], mixed[rows, batch.last]], dim=2)
        words = self.dropout(self.word_norm(self.word(ends)))
        size = words.shape[1]
        mask = None
        if min(batch.lengths) + 2 < size:
            lengths = torch.tensor(batch.lengths, device=words.device)
            mask = (torch.arange(size, device=words.device) < lengths[:, None] + 2)[:, None, None, :]
        for layer in self.word_layers:
            words = layer(words, mask)
        assert isinstance(words, Tensor)
        return words
