"""A prepared corpus as batches for a network: checked first, then the same for every run with the same seed.

A step takes one or more batches in the order that (seed, epoch) decides; where there are several processes, each takes
its share of every batch.  What is in a batch does not depend on their number.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from syntagma.corpus.batches import Batches
from syntagma.corpus.store import Corpus, Counts, EncodedPair, Lengths
from syntagma.errors import ConfigError, Place, SyntagmaError
from syntagma.network.batch import Batch, Contexts, Example, make_batch, seq2seq_level
from syntagma.network.config import ModelConfig

Item = TypeVar("Item")
Made = TypeVar("Made")


class DataError(SyntagmaError):
    """A corpus that a model cannot be trained on."""


class Position(NamedTuple):
    """The next batch to take."""

    epoch: int
    batch: int


class Examples(Protocol):
    """The interface of a split's examples: `syntagma.corpus.store.EncodedPairs`."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> EncodedPair: ...
    def lengths(self) -> Lengths:
        """The lengths of all examples."""


@dataclass(frozen=True)
class Levels:
    """Which levels an epoch trains on: some of each example, those with many words sooner than those with few.

    All examples keep the same share of their tokens, as nearly as their levels allow: rows of a batch, which are about
    equally long with all their levels, are so without some, and what is saved is time, not filled up with padding.
    """

    floor: float
    seed: int
    controls: frozenset[int]
    """Labels and `<c>`: what is no word."""

    def keep(self, epoch: int, number: int, example: Example) -> list[bool]:
        """For each level of an example, whether it is kept; one is at least."""
        if self.floor >= 1:
            return [True] * len(example.levels)
        draw = np.random.Generator(np.random.PCG64([self.seed, epoch, number]))
        words = np.array([_word_share(infill, self.controls) for _, infill in example.levels])
        sizes = np.array([len(infill) + 1 for _, infill in example.levels])
        weights = self.floor + (1 - self.floor) * words
        left = (1 + self.floor) / 2 * float(sizes.sum())
        # In the order of these keys they are drawn without replacement by weight, those of words alone first.
        keys = np.where(weights < 1, draw.random(len(words)) ** (1 / np.maximum(weights, 1e-9)), 1.0)
        kept = [False] * len(words)
        for index in np.argsort(-keys, kind="stable"):
            if sizes[index] <= 2 * left or not any(kept):  # the last one, where at least half of it fits
                kept[index] = True
                left -= sizes[index]
        return kept


def _word_share(infill: Sequence[int], controls: frozenset[int]) -> float:
    return sum(token not in controls for token in infill) / max(1, len(infill))


class Data:
    """One split of a corpus for one network."""

    def __init__(
        self,
        examples: Examples,
        name: str,
        config: ModelConfig,
        *,
        place: str = "",
        skip_long: bool = False,
        seq2seq_only: bool = False,
    ) -> None:
        self.examples = examples
        self.config = config
        self.seq2seq_only = seq2seq_only
        if seq2seq_only and not config.seq2seq_objective:
            what = "whole texts alone are learnt by a guided model that has seq2seq_objective"
            raise ConfigError(what, remedy="give seq2seq_objective=true as well, or leave seq2seq_only out")
        if not len(examples):
            remedy = f"prepare it with a {name} split" if name != "train" else "prepare it with more pairs"
            raise DataError(f"its split {name!r} is empty", Place(place), remedy)
        lengths = _without_levels(examples.lengths()) if seq2seq_only else examples.lengths()
        longest = _longest(lengths, config)
        fits = longest <= config.max_positions
        self.skipped = int((~fits).sum())
        if self.skipped and not skip_long:
            number = int(np.argmin(fits))
            what = f"example {number} of split {name!r} has {longest[number]} tokens in one sequence"
            more = f", and {self.skipped - 1} others are too long as well" if self.skipped > 1 else ""
            raise DataError(
                f"{what}, more than the model's {config.max_positions} positions{more}",
                Place(place),
                "train with a larger max_positions, or leave such examples out with skip_long=true",
            )
        self.numbers = np.flatnonzero(fits)
        if not len(self.numbers):
            raise DataError(f"every example of split {name!r} is too long", Place(place), "give a larger max_positions")
        self.costs = _costs(lengths, config)[self.numbers]

    def __len__(self) -> int:
        return len(self.numbers)

    def batches(self, budget: int, seed: int, most: int | None = None) -> Batches:
        """The batches; the numbers in them count the examples that are not skipped."""
        return Batches(self.costs, budget, seed, most)

    def example(self, number: int) -> Example:
        """One example in the form that the architecture learns from."""
        stored = self.examples[int(self.numbers[number])]
        source = stored.source_ids.tolist()
        if self.config.guided:
            kept = () if self.seq2seq_only else stored.levels
            levels = [(level.context.tolist(), level.infill.tolist()) for level in kept]
            whole = [seq2seq_level(stored.target_ids.tolist(), self.config)] if self.config.seq2seq_objective else []
            return Example(source, [*levels, *whole])
        target = stored.target_ids if self.config.architecture == "seq2seq" else stored.linear_ids
        return Example(source, [((), target.tolist())])

    def batch(self, numbers: Sequence[int], levels: Levels | None = None, epoch: int = 0) -> Batch:
        """Some examples as tensors, with the levels that this epoch keeps."""
        examples = [self.example(number) for number in numbers]
        if levels is None or levels.floor >= 1 or not self.config.guided:
            return make_batch(examples, self.config)
        kept = [levels.keep(epoch, number, example) for number, example in zip(numbers, examples, strict=True)]
        if self.config.architecture == "concat":
            chosen = [
                Example(example.source, [level for level, keep in zip(example.levels, flags, strict=True) if keep])
                for example, flags in zip(examples, kept, strict=True)
            ]
            return make_batch(chosen, self.config)
        return keep_levels(make_batch(examples, self.config), kept, self.config.pad)


def keep_levels(batch: Batch, kept: Sequence[Sequence[bool]], pad: int) -> Batch:
    """The batch without the levels that are not kept; the others keep their numbers and histories."""
    table = torch.zeros(len(kept), max(map(len, kept)) + 1, dtype=torch.bool)
    for row, flags in enumerate(kept):
        table[row, 1 : len(flags) + 1] = torch.tensor(flags)
    inputs, targets, level, place, slot = _compact(
        table, batch.level, (batch.inputs, batch.targets, batch.level, batch.place, batch.slot), (pad, pad, 0, 0, 0)
    )
    contexts = batch.contexts
    if contexts is not None:
        columns = (
            contexts.ids,
            contexts.level,
            contexts.place,
            contexts.label_index,
            contexts.parent,
            contexts.depth_added,
        )
        contexts = Contexts(*_compact(table, contexts.level, columns, (pad, 0, 0, 0, 0, 0)))
    return Batch(batch.source, contexts, inputs, targets, level, place, slot)


def _compact(table: Tensor, level: Tensor, columns: Sequence[Tensor], fill: Sequence[int]) -> list[Tensor]:
    """Columns [B, L] without the tokens whose level is not in the table [B, levels + 1], moved up and filled."""
    keep = table.gather(1, level)
    order = torch.argsort(keep.int(), dim=1, descending=True, stable=True)[:, : int(keep.sum(dim=1).max())]
    stays = keep.gather(1, order)
    return [column.gather(1, order).masked_fill_(~stays, value) for column, value in zip(columns, fill, strict=True)]


def share(numbers: Sequence[int], rank: int, world: int) -> tuple[Sequence[int], bool]:
    """The part of a batch that a process takes; where none is left it takes one example, which then does not count.

    >>> share([7, 8, 9], 1, 2), share([7], 1, 2)
    (([8], True), ([7], False))
    """
    part = numbers[rank::world]
    return (part, True) if part else (numbers[:1], False)


def walk(batches: Batches, start: Position) -> Iterator[tuple[Position, Position, list[int]]]:
    """Batches from a position on, epoch after epoch, each with its own position and the next."""
    size = len(batches)
    for (epoch, number), numbers in batches.forever(start.epoch, start.batch):
        after = Position(epoch, number + 1) if number + 1 < size else Position(epoch + 1, 0)
        yield Position(epoch, number), after, numbers


def ahead(make: Callable[[Item], Made], items: Iterable[Item], depth: int = 2) -> Generator[Made, None, None]:
    """`make` of each item in turn, by a thread that is at most `depth` items ahead; what it raises comes in its turn.

    >>> list(ahead(str.upper, ["a", "b", "c", "d"]))
    ['A', 'B', 'C', 'D']
    """
    worker = ThreadPoolExecutor(1, "batches")
    waiting: deque[Future[Made]] = deque()
    try:
        for item in items:
            waiting.append(worker.submit(make, item))
            if len(waiting) > depth:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        worker.shutdown(cancel_futures=True)


def _without_levels(lengths: Lengths) -> Lengths:
    none = np.zeros_like(lengths.levels)
    return lengths._replace(levels=none, contexts=none, infills=none, longest_context=none, longest_infill=none)


def _longest(lengths: Lengths, config: ModelConfig) -> npt.NDArray[np.int64]:
    """The positions that each example needs."""
    source = lengths.source + 1
    if not config.guided:
        target = lengths.target if config.architecture == "seq2seq" else lengths.linear
        return np.maximum(source, target + 1)
    context = lengths.longest_context + len(config.context_marks)
    if config.architecture == "concat":
        source = source + 1 + context
    return np.maximum(np.maximum(source, context), _longest_infill(lengths, config) + 1)


def _longest_infill(lengths: Lengths, config: ModelConfig) -> Counts:
    return np.maximum(lengths.longest_infill, lengths.target) if config.seq2seq_objective else lengths.longest_infill


def _costs(lengths: Lengths, config: ModelConfig) -> npt.NDArray[np.int64]:
    """The tokens that each example adds to a batch: source, contexts and infills (n, 3)."""
    source = lengths.source + 1
    if not config.guided:
        target = lengths.target if config.architecture == "seq2seq" else lengths.linear
        return np.stack([source, np.zeros_like(source), target + 1], axis=1)
    levels = lengths.levels + config.seq2seq_objective
    contexts = lengths.contexts + config.seq2seq_objective + len(config.context_marks) * levels
    infills = lengths.infills + levels + (lengths.target if config.seq2seq_objective else 0)
    if config.architecture == "concat":  # a row is a level there, with the source again
        contexts = levels * (lengths.longest_context + len(config.context_marks) + 1)
        source, infills = source * levels, levels * (_longest_infill(lengths, config) + 1)
    return np.stack([source, contexts, infills], axis=1)


def check_vocabulary(corpus: Corpus, config: ModelConfig, fingerprint: str | None = None) -> None:
    """Raise where a corpus was not made with the model's tokenizer and labels."""
    place = Place(str(corpus.folder))
    labels = tuple(corpus.subwords.label_id(name) for name in ("T", *corpus.labels))
    if labels != config.labels:
        what = f"its labels ({' '.join(corpus.labels)}) are not those of the model"
        raise ConfigError(what, place, "prepare it with the labels of the model, or train a new one")
    if corpus.subwords.size != config.vocabulary or (fingerprint is not None and fingerprint != corpus.fingerprint):
        remedy = "prepare it with tokenizer=FILE, the model's tokenizer.json, or train a new model"
        raise ConfigError("it was made with another tokenizer than the model", place, remedy)
