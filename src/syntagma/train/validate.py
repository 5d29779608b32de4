"""Validation: the loss on the dev split, or whatever a `Validator` measures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch

from syntagma.network.interface import Learns
from syntagma.train.data import Data, share
from syntagma.train.engine import Engine


@dataclass(frozen=True)
class Validation:
    """Figures by name, and the score that decides which weights are the best: higher is better."""

    score: float
    figures: dict[str, float]


class Validator(Protocol):
    """Anything that scores a network in evaluation mode.  All processes call it; each may do its share."""

    def __call__(self, network: Learns) -> Validation:
        """The figures of these weights."""


class LossValidator:
    """The negative log-likelihood of a split's infills, a token."""

    def __init__(self, data: Data, budget: int, engine: Engine) -> None:
        self.data = data
        self.engine = engine
        self.batches = list(data.batches(budget, seed=0).epoch(0))

    def __call__(self, network: Learns) -> Validation:
        """The loss and the share of tokens that the network would guess, given all before them."""
        sums = torch.zeros(3, dtype=torch.float64)
        for numbers in self.batches:
            part, counts = share(numbers, self.engine.rank, self.engine.world)
            if counts:
                with self.engine.precision():
                    loss = network.loss(self.data.batch(part).to(self.engine.device))
                sums += torch.tensor([float(loss.nll), float(loss.correct), loss.tokens], dtype=torch.float64)
        nll, correct, tokens = self.engine.all_reduce(sums).tolist()
        mean = nll / tokens
        figures = {"nll": mean, "perplexity": math.exp(min(mean, 50.0)), "accuracy": correct / tokens}
        return Validation(-mean, figures)


class Several:
    """Some validators' figures together; the first one's score decides."""

    def __init__(self, *validators: Validator) -> None:
        self.validators = validators

    def __call__(self, network: Learns) -> Validation:
        """All figures."""
        validations = [validator(network) for validator in self.validators]
        return Validation(
            validations[0].score,
            {name: value for validation in validations for name, value in validation.figures.items()},
        )


def validate(validator: Validator, network: Learns) -> Validation:
    """Run a validator without dropout and gradients, and leave the network training as before."""
    training = network.training
    network.eval()
    try:
        with torch.no_grad():
            return validator(network)
    finally:
        network.train(training)
