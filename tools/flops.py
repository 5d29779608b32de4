"""How much a training step computes: multiplications and additions, forward and backward, for each token of a batch.

    python tools/flops.py CORPUS --preset paper-wmt --architecture extra-encoder --vocabulary 40000

CORPUS is a prepared corpus; its lengths decide how much attention costs and how much is padding.  Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json

from torch.utils.flop_counter import FlopCounterMode

from syntagma.corpus import Corpus
from syntagma.network.config import preset
from syntagma.network.network import Network
from syntagma.train.config import TrainConfig
from syntagma.train.data import Data


def main() -> None:
    """Count one batch."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--preset", default="paper-wmt")
    parser.add_argument("--architecture", default="extra-encoder")
    parser.add_argument("--vocabulary", type=int, default=40_000)
    parser.add_argument("--tokens", type=int, default=4000, help="of the batch that is counted")
    given = parser.parse_args()
    corpus = Corpus.open(given.corpus)
    config = TrainConfig.from_dict({"data": given.corpus, "preset": given.preset, "architecture": given.architecture})
    shape = config.network(corpus.subwords)
    network = Network(preset(given.preset, given.vocabulary, given.architecture, labels=shape.labels))
    data = Data(corpus.split("train").examples, "train", network.config, skip_long=True)
    batches = data.batches(given.tokens, 1)
    numbers = next(iter(batches.epoch(0)))
    batch = data.batch(numbers)
    with FlopCounterMode(display=False) as counter:
        network.loss(batch, smoothing=0.1).total.backward()
    costs = data.costs[numbers]
    tokens = len(numbers) * int(costs.max(axis=0).sum())
    lengths = corpus.split("train").examples.lengths()
    found = {
        "preset": given.preset,
        "architecture": given.architecture,
        "parameters": sum(weight.numel() for weight in network.parameters()),
        "tokens_a_pair": round(float(data.costs.sum(axis=1).mean()), 1),
        "levels_a_pair": round(float(lengths.levels.mean()), 1),
        "flop_a_token": round(counter.get_total_flops() / tokens),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
