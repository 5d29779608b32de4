from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from syntagma.network import output
from syntagma.network.output import fused_linear_cross_entropy


def plainly(hidden: Tensor, weight: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    scores = (hidden @ weight.t()).log_softmax(dim=-1)
    return scores.gather(1, targets[:, None])[:, 0], -scores.mean(dim=-1), scores.argmax(dim=-1) == targets


@given(st.integers(1, 40), st.integers(2, 30), st.integers(1, 200), st.sampled_from([0.0, 0.1]), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_scores_and_gradients_are_those_of_a_softmax_however_many_fit_at_a_time(
    rows: int, tokens: int, room: int, smoothing: float, seed: int
) -> None:
    torch.manual_seed(seed)
    targets = torch.randint(tokens, (rows,))
    weights = torch.rand(rows)  # as a copy head would weigh them
    found, gradients = [], []
    whole = output._ROOM
    output._ROOM = room
    try:
        states = torch.randn(rows, 8)
        embeddings = 3 * torch.randn(tokens, 8)
        for way in (fused_linear_cross_entropy, plainly):
            hidden, weight = states.clone().requires_grad_(), embeddings.clone().requires_grad_()
            scores, behind, best = way(hidden, weight, targets)
            ((1 - smoothing) * scores * weights - smoothing * behind).sum().backward()
            found.append((scores, behind, best))
            gradients.append((hidden.grad, weight.grad))
    finally:
        output._ROOM = whole
    for mine, theirs in zip(*found, strict=True):
        assert torch.allclose(mine.float(), theirs.float(), atol=1e-5)
    for mine, theirs in zip(*gradients, strict=True):
        assert torch.allclose(mine, theirs, atol=1e-5)


def test_without_gradients_no_probabilities_are_kept() -> None:
    hidden, weight, targets = torch.randn(3, 4), torch.randn(5, 4, requires_grad=True), torch.tensor([0, 1, 2])
    with torch.no_grad():
        silent = fused_linear_cross_entropy(hidden, weight, targets)
    assert not silent.log_probabilities.requires_grad
    assert torch.equal(silent.log_probabilities, fused_linear_cross_entropy(hidden, weight, targets).log_probabilities)


def test_half_precision_is_close() -> None:
    torch.manual_seed(1)
    targets, gradients, scores = torch.randint(50, (64,)), [], []
    states, embeddings = torch.randn(64, 16), torch.randn(50, 16)
    for half in (False, True):
        hidden, weight = states.clone().requires_grad_(), embeddings.clone().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            found = fused_linear_cross_entropy(hidden, weight, targets)
        assert found.log_probabilities.dtype is torch.float32
        found.log_probabilities.sum().backward()
        assert hidden.grad is not None
        assert weight.grad is not None
        assert weight.grad.dtype is torch.float32
        scores.append(found.log_probabilities)
        gradients.append(torch.cat([hidden.grad.flatten(), weight.grad.flatten()]))
    assert scores[1].tolist() == pytest.approx(scores[0].tolist(), abs=0.1)
    assert torch.nn.functional.cosine_similarity(*gradients, dim=0).item() > 0.999
