"""The losses of the parser.

The margin loss asks that the gold tree score better than every other tree by the number of its wrong spans; the tree
that breaks this most is found by decoding the chart with one point added to every label that is not the gold one.  The
span loss is the cross-entropy of every span's label by itself: a denser signal, which the first epochs need.  The tag
loss is the cross-entropy of every word's part of speech.  The teacher loss is the cross-entropy with what another
parser thinks of every span and every word.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from syntagma.parse.chart import decode, span_number, to_chart

IGNORED = -100


def close_roots(scores: Tensor, lengths: list[int], size: int) -> None:
    """Rule the null label out, in place, for each whole sentence, so that its root has one child."""
    rows = torch.arange(len(lengths), device=scores.device)
    roots = torch.tensor([span_number(0, length, size) for length in lengths], device=scores.device)
    scores[rows, roots, 0] = -1e9


def margin_loss(scores: Tensor, gold: Tensor, lengths: list[int], open_root: bool = False) -> Tensor:
    """The sum over sentences of the most violated margin.

    `scores` (batch, spans, labels) with the null label's 0 first; `gold` (batch, spans) holds label ids, `IGNORED` at
    padding.  Without `open_root` the whole sentence always has a label.
    """
    size = max(lengths)
    wanted = gold.clamp(min=0)
    with torch.no_grad():
        augmented = scores.detach() + 1.0
        augmented.scatter_add_(2, wanted[:, :, None], torch.full_like(wanted[:, :, None], -1, dtype=scores.dtype))
        if not open_root:
            close_roots(augmented, lengths, size)
        best, label = augmented.max(dim=2)
        trees = decode(to_chart(best.cpu().numpy(), size), lengths)
        rows = [row for row, spans in enumerate(trees) for _ in spans]
        numbers = [span_number(start, end, size) for spans in trees for start, end in spans]
    row, number = (torch.tensor(indices, device=scores.device) for indices in (rows, numbers))
    chosen = label[row, number]
    cost = (chosen != wanted[row, number]).float()
    predicted = torch.zeros(len(lengths), device=scores.device).index_add(0, row, scores[row, number, chosen] + cost)
    reference = scores.gather(2, wanted[:, :, None]).squeeze(2).sum(dim=1)
    return F.relu(predicted - reference).sum()


def span_loss(scores: Tensor, gold: Tensor, smoothing: float = 0.0) -> Tensor:
    """The sum over spans of the cross-entropy of the label; shapes as in `margin_loss`."""
    return F.cross_entropy(
        scores.flatten(0, 1), gold.flatten(), ignore_index=IGNORED, reduction="sum", label_smoothing=smoothing
    )


def tag_loss(scores: Tensor, gold: Tensor, smoothing: float = 0.0) -> Tensor:
    """The sum over words of the cross-entropy of the tag; `scores` (batch, words, tags), `gold` (batch, words)."""
    return F.cross_entropy(
        scores.flatten(0, 1), gold.flatten(), ignore_index=IGNORED, reduction="sum", label_smoothing=smoothing
    )


def teacher_loss(scores: Tensor, teacher: Tensor, gold: Tensor) -> Tensor:
    """The sum over spans (or words) of the cross-entropy with a teacher's distribution; `gold` only marks padding."""
    counted = (gold != IGNORED).flatten()
    return F.cross_entropy(scores.flatten(0, 1)[counted], teacher.flatten(0, 1)[counted].softmax(1), reduction="sum")
