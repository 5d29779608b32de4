"""Networks as ONNX graphs, run by ONNX Runtime: numpy in and out, no torch.

Caches stay ONNX Runtime's own values from step to step, a graph takes each row's from its parent.  They grow on the
right: a row that has written less than another has columns on the left that it does not see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from syntagma.network.config import ModelConfig
from syntagma.network.contexts import AnnotatedContext, check_lengths
from syntagma.network.relative import distance_buckets
from syntagma.runtime.base import BoolArray, Draw, IdArray, Ids, Mask, RuntimeBase, ScoreArray, Step
from syntagma.runtime.candidates import Selector
from syntagma.runtime.positions import position_table
from syntagma.runtime.session import Graphs, Value
from syntagma.runtime.shared import FORBIDDEN, EncodedSource, SharedStack, Stack, join_padded, pad_ids

_ENCODED_TOKENS = 1536
_SCORES_AT_ONCE = 1 << 22


@dataclass
class OnnxState:
    """The sources and contexts of every row, and the keys and values [N, H, T, D] of its tokens, by name.

    `seen` [N, T] says which columns of the cache are a row's own, `lengths` [N] how many that are, `parts` [N] how many
    parts it has opened.
    """

    sources: SharedStack
    contexts: SharedStack | None
    caches: dict[str, Value]
    seen: BoolArray
    lengths: IdArray
    parts: IdArray

    def __len__(self) -> int:
        return len(self.lengths)

    def follow(self, parents: IdArray) -> OnnxState:
        """Rows that go on from `parents` [N], but for the caches, which are still those of all rows."""
        return OnnxState(
            self.sources.select(parents),
            None if self.contexts is None else self.contexts.select(parents),
            self.caches,
            self.seen[parents],
            self.lengths[parents],
            self.parts[parents],
        )


class OnnxRuntime(RuntimeBase):
    """A network in the graphs of a model folder; `checksums` are those of its graphs by name."""

    def __init__(self, folder: Path, config: ModelConfig, checksums: Mapping[str, str], threads: int = 1) -> None:
        super().__init__(config)
        self._graphs = Graphs(folder, checksums, threads)
        self._graphs.open_ahead("encoder", "context", "decoder")
        self._selector = Selector(config)
        table = position_table(config)
        self._constants = {} if table is None else {"positions": self._graphs.value(table)}
        self._caches = [f"{kind}{n}" for n in range(config.decoder_layers) for kind in ("keys", "values")]
        self._context_caches = [f"{kind}{n}" for n in config.context_attentions for kind in ("keys", "values")]

    @property
    def seconds(self) -> float:
        """How long its graphs have run."""
        return self._graphs.seconds

    # -- sources and contexts

    def encode(self, sources: Sequence[Ids]) -> list[EncodedSource]:
        """Each source, given without its end, encoded once."""
        rows = [np.array(row, np.int64) for row in self._with_end(sources)]
        if self.config.architecture == "concat":  # which reads each source with its context, when that is known
            return [EncodedSource(row, {}) for row in rows]
        return self._encode(rows)

    def _encode(self, rows: Sequence[IdArray]) -> list[EncodedSource]:
        names = [*self._caches, *(["copy_keys"] if self.config.copy else [])]
        encoded: dict[int, EncodedSource] = {}
        for batch in _batches([len(row) for row in rows]):
            ids = pad_ids([rows[number] for number in batch], self.config.pad)
            values = self._run("encoder", {"ids": ids, **self._between(ids.shape[1])}, names)
            arrays = {name: value.numpy() for name, value in values.items()}
            for place, number in enumerate(batch):
                size = len(rows[number])
                own = {name: array[place][..., :size, :] for name, array in arrays.items()}
                encoded[number] = EncodedSource(rows[number], own)
        return [encoded[number] for number in range(len(rows))]

    def _between(self, size: int) -> dict[str, IdArray]:
        """How far the tokens of a sequence are apart, where an encoder's graph must know it."""
        if self.config.positions != "relative":
            return {}
        places = np.arange(size)
        return {"distances": distance_buckets(places[None, :] - places[:, None], both_sides=True)[None]}

    def open(self, sources: Sequence[EncodedSource], contexts: Sequence[AnnotatedContext] | None) -> OnnxState:
        """A row for each source and its context, before the first token."""
        config = self.config
        if config.architecture == "concat":
            assert contexts is not None
            sources = self._encode_together(sources, contexts)
        shared = None
        if config.attends_to_context and sources:
            assert contexts is not None
            shared = self._encode_contexts(contexts)
        count = len(sources)
        empty = np.zeros((count, config.heads, 0, config.head_size), np.float32)
        return OnnxState(
            SharedStack.of_sources(sources),
            shared,
            {name: self._graphs.value(empty) for name in self._caches},
            np.zeros((count, 0), np.bool_),
            np.zeros(count, np.int64),
            np.zeros(count, np.int64),
        )

    def _encode_together(
        self, sources: Sequence[EncodedSource], contexts: Sequence[AnnotatedContext]
    ) -> list[EncodedSource]:
        """Encode for a concat network: each source, a separator, its context."""
        rows = []
        for source, context in zip(sources, contexts, strict=True):
            rows.append(np.array([*source.ids, self.config.sep, *context.with_marks(self.config).ids], np.int64))
            check_lengths(self.config, source=len(rows[-1]))
        return self._encode(rows)

    def _encode_contexts(self, contexts: Sequence[AnnotatedContext]) -> SharedStack:
        """Contexts for a row each; equal ones are read once, as those of several plans often are."""
        unique = list({id(context): context for context in contexts}.values())
        numbers = {id(context): number for number, context in enumerate(unique)}
        read: dict[tuple[tuple[int, ...], ...], int] = {}
        copies = [read.setdefault(tuple(map(tuple, context)), len(read)) for context in unique]
        marked = [unique[copies.index(number)].with_marks(self.config) for number in range(len(read))]
        for context in marked:
            check_lengths(self.config, context=len(context.ids))
        columns = {"ids": pad_ids([context.ids for context in marked], self.config.pad)}
        if self.config.label_index:
            columns["label_index"] = pad_ids([context.label_index for context in marked])
        if self.config.history:
            columns["parent"] = pad_ids([context.parent for context in marked])
            columns["depth_added"] = pad_ids([context.depth_added for context in marked])
        sizes = np.array([len(context.ids) for context in marked])
        padding = np.arange(columns["ids"].shape[1]) >= sizes[:, None]
        columns |= self._between(columns["ids"].shape[1])
        values = self._run("context", {**columns, "padding": padding}, self._context_caches)
        arrays = {name: value.numpy() for name, value in values.items()}
        if len(read) < len(unique):
            arrays, padding = {name: array[copies] for name, array in arrays.items()}, padding[copies]
        stack = Stack(arrays, padding, tuple(unique))
        return SharedStack(stack, np.array([numbers[id(context)] for context in contexts], np.int64))

    # -- steps

    def step(
        self,
        state: OnnxState,
        parents: IdArray,
        tokens: IdArray,
        mask: Mask | None,
        k: int,
        draw: Draw | None = None,
    ) -> Step:
        """Feed `tokens` [N, L] to rows that go on from rows `parents` [N] of the state."""
        count, size = tokens.shape
        if not count:
            none = np.zeros((0, k), np.float32)
            return Step(self.open([], []), none.astype(np.int64), none, _NOTHING, np.zeros((0, size - 1), np.float32))
        if mask is None and size > 1:
            return self._score(state, parents, tokens)
        moved = state.follow(parents)
        outputs, valid = self._feed(moved, parents, tokens)
        fed = _zero_unless(valid, outputs["fed"].numpy())
        if mask is None:
            return Step(moved, np.zeros((count, 0), np.int64), np.zeros((count, 0), np.float32), _NOTHING, fed)
        scores = outputs["scores"].numpy()
        if not scores.flags.writeable:
            scores = scores.copy()
        if not valid[:, -1].all():
            scores[~valid[:, -1]] = -np.inf
        norm = outputs["norm"].numpy() if self.config.copy else None
        return Step(moved, *self._selector.select(scores, norm, mask, k, draw), fed)

    def _score(self, state: OnnxState, parents: IdArray, tokens: IdArray) -> Step:
        """A step without candidates, a few rows at a time: whole texts need a score for each token of each place."""
        count, size = tokens.shape
        most = max(1, _SCORES_AT_ONCE // (self._selector.size * size))
        moved, fed = [], []
        for start in range(0, count, most):
            part = slice(start, start + most)
            moved.append(state.follow(parents[part]))
            outputs, valid = self._feed(moved[-1], parents[part], tokens[part])
            fed.append(_zero_unless(valid, outputs["fed"].numpy()))
        none = np.zeros((count, 0), np.float32)
        return Step(self.join(moved), none.astype(np.int64), none, _NOTHING, np.concatenate(fed))

    def _feed(self, state: OnnxState, parents: IdArray, tokens: IdArray) -> tuple[dict[str, Value], BoolArray]:
        """Feed tokens to a state that follows `parents`; what the graph gives, and which tokens are no padding."""
        config = self.config
        size = tokens.shape[1]
        valid = np.logical_and.accumulate(tokens != config.pad, axis=1)
        places = state.lengths[:, None] + np.arange(size)
        check_lengths(config, infill=int(places.max(where=valid, initial=-1)) + 1)
        parts = state.parts[:, None] + np.cumsum(tokens == config.part, axis=1)
        inputs: dict[str, ScoreArray | IdArray] = {
            "tokens": np.ascontiguousarray(tokens, np.int64),
            "parents": np.ascontiguousarray(parents, np.int64),
            "self_mask": _self_mask(state.seen, size),
        }
        if config.positions == "relative":
            written = np.concatenate([np.cumsum(state.seen, axis=1) - 1, places], axis=1)
            inputs["distances"] = distance_buckets(written[:, None] - places[:, :, None], both_sides=False)
        else:
            inputs["places"] = np.minimum(places, config.max_positions - 1)
        if config.label_index:
            inputs["slots"] = np.minimum(parts, config.max_open_labels - 1)
        values = {f"past_{name}": value for name, value in state.caches.items()}
        values |= self._shared_values("source", state.sources)
        if state.contexts is not None:
            values |= self._shared_values("context", state.contexts)
        wanted = [*self._caches, "fed", "scores", *(["norm"] if config.copy else [])]
        outputs = self._run("decoder", inputs, wanted, values)
        state.caches = {name: outputs[name] for name in self._caches}
        state.seen = np.concatenate([state.seen, valid], axis=1)
        state.lengths = state.lengths + np.count_nonzero(valid, axis=1)
        state.parts = parts[:, -1]
        return outputs, valid

    def _shared_values(self, name: str, shared: SharedStack) -> dict[str, Value]:
        """The decoder's inputs from sources or contexts, made once for each stack."""
        stack, make = shared.stack, self._graphs.value
        if not stack.values:
            caches = self._caches if name == "source" else self._context_caches
            stack.values.update({f"{name}_{cache}": make(stack.arrays[cache]) for cache in caches})
            stack.values[f"{name}_mask"] = make(stack.mask)
            if name == "source" and self.config.copy:
                stack.values.update(source_ids=make(stack.ids), copy_keys=make(stack.arrays["copy_keys"]))
        if not shared.values:
            layout, seats = shared.seats
            shared.values.update({f"{name}_layout": make(layout), f"{name}_seats": make(seats)})
        return stack.values | shared.values

    def _run(
        self,
        graph: str,
        inputs: Mapping[str, ScoreArray | IdArray | BoolArray],
        outputs: Sequence[str],
        values: Mapping[str, Value] | None = None,
    ) -> dict[str, Value]:
        given = {name: self._graphs.value(array) for name, array in inputs.items()}
        return self._graphs.run(graph, {**given, **(values or {}), **self._constants}, outputs)

    def join(self, states: Sequence[OnnxState]) -> OnnxState:
        """The rows of all states, one after the other."""
        states = [state for state in states if len(state)] or list(states[:1])
        if len(states) == 1:
            return states[0]
        contexts = [state.contexts for state in states if state.contexts is not None]
        used = [np.flatnonzero(state.seen.any(axis=0)) for state in states]
        firsts = [int(columns[0]) if len(columns) else 0 for columns in used]  # columns before are nobody's any more
        longest = max(state.seen.shape[1] - first for first, state in zip(firsts, states, strict=True))
        caches = {}
        for name in self._caches:
            arrays = [state.caches[name].numpy()[:, :, first:] for first, state in zip(firsts, states, strict=True)]
            caches[name] = self._graphs.value(join_padded(arrays, longest, -2, left=True))
        seen = [state.seen[:, first:] for first, state in zip(firsts, states, strict=True)]
        return OnnxState(
            SharedStack.join_sources([state.sources for state in states]),
            SharedStack.join(contexts) if contexts else None,
            caches,
            join_padded(seen, longest, -1, False, left=True),
            np.concatenate([state.lengths for state in states]),
            np.concatenate([state.parts for state in states]),
        )


_NOTHING: ScoreArray = np.zeros(0, np.float32)


def _self_mask(seen: BoolArray, size: int) -> ScoreArray:
    """The mask of L new tokens over the cache [N, T] and over the new tokens up to each: [N, 1, L, T + L]."""
    count, past = seen.shape
    mask = np.empty((count, 1, size, past + size), np.float32)
    mask[..., :past] = np.where(seen, np.float32(0), FORBIDDEN)[:, None, None]
    mask[..., past:] = np.where(np.tri(size, dtype=np.bool_), np.float32(0), FORBIDDEN)
    return mask


def _zero_unless(valid: BoolArray, fed: ScoreArray) -> ScoreArray:
    """The scores of fed tokens [N, L - 1], 0 at padding."""
    return np.where(valid[:, 1:], fed, np.float32(0))


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Numbers of sequences in batches of like length, the longest first."""
    batches: list[list[int]] = []
    for number in sorted(range(len(lengths)), key=lambda number: (-lengths[number], number)):
        if not batches or lengths[batches[-1][0]] * (len(batches[-1]) + 1) > _ENCODED_TOKENS:
            batches.append([])
        batches[-1].append(number)
    return batches
