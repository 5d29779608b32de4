"""The output layer: what is written from the vocabulary, and what is copied from the source.

Training needs of the vocabulary's scores only how likely each target is, and the gradient of that.
`fused_linear_cross_entropy` makes both a few hundred rows at a time, so that the scores of all tokens stay in the
processor's cache, and keeps nothing but the probabilities that the gradient is made from.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from syntagma.network.layers import FORBIDDEN
from syntagma.network.state import SharedKV

_ROOM = 1 << 21
"""Scores that a processor has at hand at a time; 256 rows of 8,000 tokens take 8 MB."""


class TokenScores(NamedTuple):
    """Of targets [N]: their log-probabilities, their smooth loss, and which of them are the likeliest tokens.

    The smooth loss is the mean of all tokens' negative log-probabilities, which label smoothing minimises.
    """

    log_probabilities: Tensor
    smooth_loss: Tensor
    best: Tensor


def fused_linear_cross_entropy(
    hidden: Tensor, weight: Tensor, targets: Tensor, bias: Tensor | None = None
) -> TokenScores:
    """How likely states [N, W] are to write `targets` [N], with the vocabulary's embeddings [V, W] and biases [V].

    >>> states, embeddings, targets = torch.eye(2), torch.tensor([[1.0, 0], [0, 1], [0, 0]]), torch.tensor([0, 2])
    >>> scores = fused_linear_cross_entropy(states, embeddings, targets)
    >>> expected = F.log_softmax(states @ embeddings.T, dim=-1)
    >>> torch.allclose(scores.log_probabilities, expected[[0, 1], targets])
    True
    >>> torch.allclose(scores.smooth_loss, -expected.mean(dim=-1))
    True
    >>> scores.best.tolist()
    [True, False]
    """
    learn = torch.is_grad_enabled()
    return TokenScores(*_LinearCrossEntropy.apply(hidden, weight, targets, bias, learn))  # type: ignore[no-untyped-call]


class _LinearCrossEntropy(torch.autograd.Function):
    """That with its gradient, in the precision that is asked for; sums are always in single precision."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, bias: Tensor | None, learn: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        kind = hidden.device.type
        precision = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype
        states, embeddings = hidden.to(precision), weight.to(precision)
        chances = states.new_empty(len(states) if learn else 0, len(embeddings))
        scores, smooth = (hidden.new_empty(len(states), dtype=torch.float32) for _ in range(2))
        best = targets.new_empty(len(states), dtype=torch.bool)
        for rows in _chunks(states, embeddings):
            logits = torch.mm(states[rows], embeddings.t()).float()
            if bias is not None:
                logits += bias
            highest = logits.amax(dim=-1)
            shares = logits.softmax(dim=-1)
            norm = highest - shares.amax(dim=-1).log()
            wanted = logits.gather(1, targets[rows, None])[:, 0]
            scores[rows], smooth[rows], best[rows] = wanted - norm, norm - logits.mean(dim=-1), wanted == highest
            if learn:
                chances[rows] = shares
        ctx.save_for_backward(states, embeddings, targets, chances)
        ctx.precisions = hidden.dtype, weight.dtype
        ctx.biased = bias is not None
        ctx.mark_non_differentiable(best)
        return scores, smooth, best

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, Tensor | None, None]:
        states, embeddings, targets, chances = ctx.saved_tensors
        of_scores, of_smooth = gradients[:2]
        back, of_logits = torch.empty_like(states), torch.empty_like(chances)
        of_bias = states.new_zeros(len(embeddings), dtype=torch.float32) if ctx.biased else None
        smoothed = bool(of_smooth.any())
        share = (of_smooth - of_scores)[:, None].to(chances.dtype)
        for rows in _chunks(states, embeddings):
            part = torch.mul(chances[rows], share[rows], out=of_logits[rows])
            part.scatter_add_(1, targets[rows, None], of_scores[rows, None].to(chances.dtype))
            if smoothed:
                part -= (of_smooth[rows, None] / len(embeddings)).to(chances.dtype)
            back[rows] = torch.mm(part, embeddings)
            if of_bias is not None:
                of_bias += part.sum(dim=0, dtype=torch.float32)
        changes = torch.mm(of_logits.t(), states)  # in one go: adding it up touches all of the vocabulary each time
        return back.to(ctx.precisions[0]), changes.to(ctx.precisions[1]), None, of_bias, None


def _chunks(states: Tensor, embeddings: Tensor) -> list[slice]:
    """The rows of states, on a processor as many at a time as there is room for their scores."""
    size = max(1, _ROOM // len(embeddings) if states.device.type == "cpu" else len(states))
    return [slice(start, start + size) for start in range(0, len(states), size)]


class CopyHead(nn.Module):
    """A pointer into the source: the output is a mixture of the vocabulary and of the source's own tokens."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.gate = nn.Linear(width, 1)
        self.follow = nn.Parameter(torch.tensor([2.0]))
        """The gain of a place whose token comes right after the token that was written last: words of several pieces
        are copied piece by piece."""

    def pointer(self, hidden: Tensor, keys: Tensor, padding: Tensor, follows: Tensor) -> Tensor:
        """Log-probabilities over the source [B, T, S] of states [B, T, W], whose sources have keys [B, S, W].

        `padding` [B, S] is what is no source; `follows` [B, T, S] is `following` of each state's last token.
        """
        scores = torch.bmm(self.query(hidden), keys.transpose(1, 2)).float() * keys.shape[-1] ** -0.5
        return F.log_softmax((scores + self.follow * follows).masked_fill(padding[:, None], FORBIDDEN), dim=-1)

    def shared_pointer(
        self, hidden: Tensor, shared: SharedKV, seats: Tensor, keys: Tensor, padding: Tensor, follows: Tensor
    ) -> Tensor:
        """The same for states [N, L, W] of rows that share keys [P, S, W] and padding [P, S]: [N * L, S]."""
        packed = shared.pack(self.query(hidden), seats)
        scores = torch.einsum("prw,psw->prs", packed, keys).float() * keys.shape[-1] ** -0.5
        scores = scores.masked_fill(padding[:, None], FORBIDDEN)
        rows = shared.unpack(scores, seats, hidden.shape[1]).flatten(0, 1)
        return F.log_softmax(rows + self.follow * follows, dim=-1)

    def mixed(self, hidden: Tensor, pointer: Tensor, matches: Tensor, written: Tensor) -> Tensor:
        """Log-probability [N] of targets that score `written` [N] and stand in the source at `matches` [N, S]."""
        copied = torch.logsumexp(pointer.masked_fill(~matches, FORBIDDEN), dim=-1)
        gate = self.gate(hidden)[:, 0]
        return torch.logaddexp(F.logsigmoid(-gate) + written, F.logsigmoid(gate) + copied)

    def mix(self, hidden: Tensor, pointer: Tensor, ids: Tensor, logits: Tensor, norm: Tensor) -> Tensor:
        """Put the pointer's share into the logits [N, V] of what stands in the source, ids [N, S]; their new norm [N].

        Only those few logits change, because writing with a share of w is a norm that is less by log w.  What stands
        in the source and cannot be written, ids from V on, gains nothing.
        """
        gate = self.gate(hidden)[:, 0].to(logits.dtype)
        norm = norm - F.logsigmoid(-gate)
        writable = ids < logits.shape[1]
        ids = ids.clamp(max=logits.shape[1] - 1)
        # A token may stand in the source twice.
        copied = torch.zeros_like(logits).scatter_add_(1, ids, pointer.exp() * writable)
        share = copied.gather(1, ids).log() + (F.logsigmoid(gate) + norm)[:, None]
        logits.scatter_(1, ids, torch.logaddexp(logits.gather(1, ids), share))
        return norm


def following(ids: Tensor, last: Tensor) -> Tensor:
    """Where in sources [..., S] the token before is the one that was written last [...]: 1.0 there, else 0.0.

    >>> following(torch.tensor([[7, 8, 9, 7]]), torch.tensor([8])).tolist()
    [[0.0, 0.0, 1.0, 0.0]]
    """
    return F.pad((ids[..., :-1] == last[..., None]).float(), (1, 0))
