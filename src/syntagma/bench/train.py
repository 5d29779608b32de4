"""`syntagma bench train`: triplets a second, with the source encoded once for all levels and once for each, and in
bf16 against fp32 where the processor computes in it.

All sentences are random ids of the lengths that count: the prototype's (14 source subwords, 6 levels of 9 + 9) and
Tatoeba's (9, and 5.5 levels of 4.3 + 4.9).  A measured step is a whole one: batch, loss, gradients, clipping, AdamW.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from syntagma.bench.report import Measurement, best_of

VOCABULARY, FIRST_WORD = 6864, 10
Precision = Literal["fp32", "bf16"]
Triplets = Sequence[tuple[list[int], list[tuple[list[int], list[int]]]]]


@dataclass(frozen=True)
class Shape:
    """Subwords of a source, end included, its levels, subwords of an infill, and the labels that stay open in it."""

    source: int
    levels: float
    infill: int
    parts: int


PROTOTYPE_SHAPE = Shape(14, 6, 9, 4)
TATOEBA_SHAPE = Shape(9, 5.5, 5, 2)


def run(
    data: Path | None = None, *, quick: bool = False, threads: int = 2, runs: int = 3, sentences: int | None = None
) -> Iterator[Measurement]:
    """Rows for `base` grouped against one triplet at a time, and for `small` at both shapes; all `tiny` if quick.

    bf16 is measured where the processor computes in it, or if quick.
    `data` is not used: what the sentences say does not change how long a step takes.
    """
    import torch

    from syntagma.train.config import TrainConfig
    from syntagma.train.engine import compute_dtype

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield from _grouped("tiny" if quick else "base", sentences or (4 if quick else 32), runs)
        for shape, count, name in (
            (PROTOTYPE_SHAPE, 64, "14 + 6 x (9 + 9) subwords"),
            (TATOEBA_SHAPE, 28, "9 + 5.5 x (4.3 + 4.9) subwords"),
        ):
            preset = "tiny" if quick else "small"
            examples = make_sentences(shape, sentences or (4 if quick else count))
            precisions: list[Precision] = ["fp32"]
            if quick or compute_dtype(TrainConfig("none", precision="auto"), torch.device("cpu")) == torch.bfloat16:
                precisions.append("bf16")
            steps = [make_step(preset, examples, precision) for precision in precisions]
            for step in steps:
                step()
            rates = [_levels(examples) / seconds for seconds in best_of(runs, *steps)]
            what = f"train {preset}, {len(examples)} sentences of {name}, {threads} threads"
            yield Measurement(what, rates[0], "triplets/s")
            if len(rates) > 1:
                yield Measurement(f"{what}, bf16", rates[1], "triplets/s", "in fp32", rates[0], rates[1] / rates[0])
    finally:
        torch.set_num_threads(before)


def _grouped(preset: str, count: int, runs: int) -> Iterator[Measurement]:
    grouped = make_sentences(PROTOTYPE_SHAPE, count)
    apart = [(source, [level]) for source, levels in grouped for level in levels]
    losses = [make_loss(preset, examples)() for examples in (grouped, apart)]
    if abs(losses[0] - losses[1]) > 1e-5 * abs(losses[1]):
        raise RuntimeError(f"the two ways have different losses, {losses[0]} and {losses[1]}")
    steps = make_step(preset, grouped), make_step(preset, apart)
    for step in steps:
        step()
    seconds = best_of(runs, *steps)
    rate, peer_rate = (_levels(grouped) / elapsed for elapsed in seconds)
    what = f"train {preset}, all levels of {count} sentences together"
    yield Measurement(what, rate, "triplets/s", "each level with its source again", peer_rate, rate / peer_rate)
    difference = abs(losses[0] - losses[1]) / abs(losses[1])
    yield Measurement("difference of their losses", difference * 1e6, "millionths")


def _levels(examples: Triplets) -> int:
    return sum(len(levels) for _, levels in examples)


def make_sentences(shape: Shape, count: int, seed: int = 1) -> Triplets:
    """Random sentences of that shape, whose contexts grow from their infills as real ones do."""
    from syntagma.text.subwords import TOP_ID

    draw = random.Random(seed)
    examples = []
    for number in range(count):
        depth = int(shape.levels) + (number % 2 if shape.levels % 1 else 0)
        levels: list[tuple[list[int], list[int]]] = []
        context = [TOP_ID]
        for left in range(depth, 0, -1):
            infill = _infill(context, shape, draw, last=left == 1)
            levels.append((context, infill))
            context = _grow(context, infill)
        source = [draw.randrange(FIRST_WORD, VOCABULARY) for _ in range(shape.source - 2 + number % 3)]
        examples.append((source, levels))
    return examples


def _infill(context: list[int], shape: Shape, draw: random.Random, last: bool) -> list[int]:
    """A part for each open label of the context: words, and labels unless it is the last level."""
    from syntagma.text.subwords import PART_ID, TOP_ID

    parts = sum(token < FIRST_WORD for token in context)
    tokens = [draw.randrange(FIRST_WORD, VOCABULARY) for _ in range(max(parts, shape.infill - parts))]
    if not last:
        for index in draw.sample(range(len(tokens)), min(shape.parts, len(tokens))):
            tokens[index] = draw.randrange(TOP_ID + 1, FIRST_WORD)
    starts = {0, *draw.sample(range(1, len(tokens)), parts - 1)}
    return [item for index, token in enumerate(tokens) for item in ([PART_ID, token] if index in starts else [token])]


def _grow(context: list[int], infill: list[int]) -> list[int]:
    from syntagma.text.subwords import PART_ID

    parts: list[list[int]] = []
    for token in infill:
        if token == PART_ID:
            parts.append([])
        else:
            parts[-1].append(token)
    fresh = iter(parts)
    return [new for token in context for new in (next(fresh) if token < FIRST_WORD else [token])]


def _labels() -> tuple[int, ...]:
    from syntagma.text.subwords import TOP_ID

    return tuple(range(TOP_ID, FIRST_WORD))


def make_loss(preset_name: str, examples: Triplets) -> Callable[[], float]:
    """The loss of some sentences without dropout."""
    import torch

    from syntagma.network.batch import Example, make_batch
    from syntagma.network.config import preset
    from syntagma.network.network import Network

    torch.manual_seed(1)
    network = Network(preset(preset_name, VOCABULARY, labels=_labels())).eval()

    def loss() -> float:
        with torch.no_grad():
            return float(
                network.loss(make_batch([Example(*example) for example in examples], network.config), 0.1).total
            )

    return loss


def make_step(preset_name: str, examples: Triplets, precision: Precision = "fp32") -> Callable[[], object]:
    """A whole training step over some sentences."""
    import torch

    from syntagma.network.batch import Batch, Example, make_batch
    from syntagma.network.config import preset
    from syntagma.network.network import Network
    from syntagma.train.config import TrainConfig
    from syntagma.train.data import Position
    from syntagma.train.engine import Engine
    from syntagma.train.step import Stepper, Taken

    config = TrainConfig("none", preset=preset_name, accelerator="cpu", precision=precision)
    torch.manual_seed(1)
    network = Network(preset(preset_name, VOCABULARY, labels=_labels())).train()
    ready = [Example(*example) for example in examples]

    class Ready:
        """Examples that are at hand, in place of a corpus."""

        def batch(self, numbers: Sequence[int], *_: object) -> Batch:
            """Those examples as tensors."""
            return make_batch([ready[number] for number in numbers], network.config)

    stepper = Stepper(config, Engine(config), network, Ready(), None)
    taken = Taken(Position(0, 0), range(len(ready)))
    return lambda: stepper.step(0, [stepper.load(taken)], 1e-4)
