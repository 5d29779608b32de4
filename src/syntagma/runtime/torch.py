"""Our networks in torch, on any device, behind the protocol of `base`.

Only `_send` and `_fetch` cross between host and device: a step sends one packet of numbers (parents, tokens, where rows
sit, what is masked) and fetches one (the best continuations).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from syntagma.network.batch import Contexts, pad_rows, stack_contexts
from syntagma.network.config import ModelConfig
from syntagma.network.contexts import AnnotatedContext, check_lengths
from syntagma.network.network import Encoded, Network, Scores
from syntagma.network.state import DecoderState, Feed
from syntagma.runtime.base import IMPOSSIBLE, Draw, IdArray, Ids, Mask, RuntimeBase, ScoreArray, Step, WordSet
from syntagma.runtime.device import dtype_of

_ROOM = 1 << 22
"""Scores of a text's tokens that are made at a time."""


_BELOW_ONE = np.nextafter(np.float32(1), np.float32(0))


class DeviceRuntime(RuntimeBase):
    """A torch network on a device: that of its weights, where none is named.

    In another precision than fp32 the network is a copy, so that training may go on with its own.
    """

    def __init__(self, network: Any, device: torch.device | None = None, precision: str | None = None) -> None:
        super().__init__(network.config)
        self.device = device if device is not None else device_of(network)
        self.network = prepared(network, self.device, precision)
        self._choice = Choice(self.config, self._send, self._fetch)

    # -- sources

    @torch.inference_mode()
    def encode(self, sources: Sequence[Ids]) -> list[Any]:
        """Each source, given without its end, encoded once."""
        if not sources:
            return []
        rows = self._with_end(sources)
        encoded = self.network.encode(self._send(pad_rows(rows, self.config.pad).numpy()))
        return [encoded.row(number, len(row)) for number, row in enumerate(rows)]

    def _stack(self, sources: Sequence[Any]) -> tuple[Any, IdArray]:
        """The distinct ones of encoded sources as one batch, and the place of each in it."""
        distinct = {id(source): source for source in sources}
        place_of = {key: place for place, key in enumerate(distinct)}
        places = np.array([place_of[id(source)] for source in sources], np.int64)
        return type(sources[0]).stack(list(distinct.values()), self.config.pad), places

    # -- between host and device

    def _send(self, numbers: npt.NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(numbers).to(self.device, non_blocking=True)

    def _fetch(self, values: Tensor) -> npt.NDArray[np.float32]:
        fetched: npt.NDArray[np.float32] = values.float().cpu().numpy()
        return fetched

    def _send_all(self, arrays: Sequence[npt.NDArray[np.int64]]) -> list[Tensor]:
        """All arrays in one transfer, each in its shape."""
        sent = self._send(np.concatenate([array.ravel() for array in arrays]))
        ends = np.cumsum([0, *(array.size for array in arrays)]).tolist()
        return [sent[start:end].view(array.shape) for array, (start, end) in zip(arrays, pairwise(ends), strict=True)]


class TorchRuntime(DeviceRuntime):
    """A `Network` on a device."""

    network: Network

    @torch.inference_mode()
    def open(self, sources: Sequence[Encoded], contexts: Sequence[AnnotatedContext] | None) -> DecoderState:
        """A row for each source and its context, before the first token."""
        encoded, places = self._stack(sources)
        return self.network.open(encoded, places, self._contexts(contexts) if contexts is not None else None)

    def _contexts(self, contexts: Sequence[AnnotatedContext]) -> Contexts:
        stacked = stack_contexts([[context] for context in contexts], self.config)
        fields = ("ids", "level", "place", "label_index", "parent", "depth_added")
        return Contexts(*self._send_all([getattr(stacked, name).numpy() for name in fields]))

    @torch.inference_mode()
    def step(
        self,
        state: Any,
        parents: IdArray,
        tokens: IdArray,
        mask: Mask | None,
        k: int,
        draw: Draw | None = None,
    ) -> Step:
        """Feed `tokens` [N, L] to rows that go on from rows `parents` [N] of the state."""
        rows, inner = tokens.shape
        if not rows:
            return nothing(state.select(np.asarray(parents, np.int64)), mask)
        moved: DecoderState = state.select(np.asarray(parents, np.int64))
        before = moved.lengths
        first = int(before[0]) if (before == before[0]).all() else None
        check_lengths(self.config, infill=int(before.max()) + inner)
        arrays = [parents, *moved.plan(tokens), *self._choice.plan(mask, draw)]
        sent = self._send_all(arrays)
        feed = Feed(*sent[1:7])
        if moved is not state:
            moved.gather(sent[0], int(before.max()))
        hidden = self.network.feed(moved, feed, first, int(before.max()) + inner)
        if mask is None:
            return nothing(moved, mask)._replace(
                fed=self._fetch(torch.cat(list(self._fed(moved, feed, hidden)), dim=1))
            )
        scores = self.network.next_scores(moved, feed, hidden, slice(None))
        last = Scores(scores.logits[inner - 1 :: inner], scores.norm[inner - 1 :: inner])
        fed = None
        if inner > 1:
            likely = scores.log_probabilities().view(rows, inner, -1)[:, :-1]
            fed = likely.gather(2, feed.tokens[:, 1:, None])[:, :, 0]
        return self._choice(moved, last, mask, sent[7:], k, draw, fed)

    def _fed(self, state: DecoderState, feed: Feed, hidden: Tensor) -> Iterator[Tensor]:
        """How likely the tokens after the first were, a few columns [N, C] at a time."""
        rows, inner = feed.tokens.shape
        columns = max(1, _ROOM // (rows * self.config.vocabulary))
        yield hidden.new_zeros(rows, 0, dtype=torch.float32)
        for start in range(0, inner - 1, columns):
            part = slice(start, min(start + columns, inner - 1))
            scores = self.network.next_scores(state, feed, hidden[:, part], part)
            following = feed.tokens[:, part.start + 1 : part.stop + 1].reshape(-1, 1)
            likely = scores.logits.gather(1, following)[:, 0] - scores.norm
            yield likely.view(rows, -1).masked_fill((following == self.config.pad).view(rows, -1), 0.0)

    @torch.inference_mode()
    def join(self, states: Sequence[Any]) -> DecoderState:
        """The rows of all states, one after the other."""
        return DecoderState.join(states)


class Choice:
    """Masks and the best continuations, on the device."""

    def __init__(
        self,
        config: ModelConfig,
        send: Callable[[npt.NDArray[np.int64]], Tensor],
        fetch: Callable[[Tensor], npt.NDArray[np.float32]],
    ) -> None:
        self.config, self._send, self._fetch = config, send, fetch
        self._controls = send(np.array(config.controls, np.int64))
        never = {config.pad, config.start, config.sep, *config.context_marks, *config.controls}
        self._outputs: int = getattr(config, "outputs", None) or config.vocabulary
        every = np.setdiff1d(np.arange(self._outputs), np.array(sorted(never), np.int64))
        self._every = WordSet(every)
        self._rows: WeakKeyDictionary[WordSet, Tensor] = WeakKeyDictionary()

    def plan(self, mask: Mask | None, draw: Draw | None) -> list[IdArray]:
        """The inputs of a step for the device: controls [N, C], which of the word sets each row has [N], denied pairs,
        pairs asked for, and the numbers [N] to draw with, bit for bit."""
        if mask is None:
            return []
        numbers = {id(words): number for number, words in enumerate(self._sets(mask))}
        chosen = np.array([numbers[id(words or self._every)] for words in mask.words], np.int64)
        uniforms = np.zeros(0, np.int64) if draw is None else self._bits(draw.uniforms)
        return [mask.controls.astype(np.int64), chosen, mask.denied, mask.asked, uniforms]

    def _bits(self, uniforms: npt.NDArray[np.float64]) -> IdArray:
        """The bits of numbers to draw with, in the widest type that the device has."""
        if widest(self._controls.device) == torch.float64:
            return uniforms.astype(np.float64).view(np.int64)
        return np.minimum(uniforms, _BELOW_ONE).astype(np.float32).view(np.int32).astype(np.int64)

    def _sets(self, mask: Mask) -> list[WordSet]:
        return list({id(words): words for words in (words or self._every for words in mask.words)}.values())

    def _row(self, words: WordSet) -> Tensor:
        """The mask [V] of a set of words: nothing where a word is in it, else minus infinity."""
        row = self._rows.get(words)
        if row is None:
            row = torch.full((self._outputs,), IMPOSSIBLE, device=self._controls.device)
            row = self._rows[words] = row.index_fill_(0, self._send(words.ids[words.ids < self._outputs]), 0.0)
        return row

    def __call__(
        self,
        state: Any,
        scores: Scores,
        mask: Mask,
        sent: Sequence[Tensor],
        k: int,
        draw: Draw | None,
        fed: Tensor | None,
    ) -> Step:
        """The step's answer: what is allowed of scores, the best of it, and what was asked for."""
        controls, chosen, denied, asked, uniforms = sent
        sets = [self._row(words) for words in self._sets(mask)]
        kept = torch.where(controls.bool(), scores.logits[:, self._controls], IMPOSSIBLE)
        logits = scores.logits + (sets[0] if len(sets) == 1 else torch.stack(sets)[chosen])
        logits[:, self._controls] = kept
        if len(denied):
            logits[denied[:, 0], denied[:, 1]] = IMPOSSIBLE
        answers = logits[asked[:, 0], asked[:, 1]] - scores.norm[asked[:, 0]]
        values, tokens = _draw(logits, draw, uniforms) if draw is not None else top(logits, k)
        values = values - scores.norm[:, None]
        rows, inner = len(logits), 0 if fed is None else fed.shape[1]
        parts = [tokens.float().flatten(), values.flatten(), answers]
        packed = self._fetch(torch.cat(parts if fed is None else [*parts, fed.flatten()]))
        size = values.numel()
        return Step(
            state,
            packed[:size].astype(np.int64).reshape(rows, -1),
            packed[size : 2 * size].reshape(rows, -1),
            packed[2 * size : 2 * size + len(asked)],
            packed[2 * size + len(asked) :].reshape(rows, inner),
        )


def widest(device: torch.device) -> torch.dtype:
    """The widest type of floats on a device; MPS has no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def _draw(logits: Tensor, draw: Draw, bits: Tensor) -> tuple[Tensor, Tensor]:
    """One continuation a row, drawn at a temperature among the likeliest that make up `top_p`: [N, 1] each."""
    wide = widest(logits.device)
    uniforms = (bits if wide == torch.float64 else bits.to(torch.int32)).view(wide)
    likely = torch.log_softmax(logits / draw.temperature, dim=-1)
    ordered, order = likely.sort(dim=-1, descending=True, stable=True)
    chances = ordered.exp()
    inside = chances.cumsum(dim=-1) - chances < draw.top_p
    inside[:, 0] = True
    shares = (chances * inside).to(wide).cumsum(dim=-1)
    wanted = uniforms[:, None] * shares[:, -1:]
    place = torch.minimum((shares <= wanted).sum(dim=-1, keepdim=True), inside.sum(dim=-1, keepdim=True) - 1)
    tokens = order.gather(1, place)
    return logits.gather(1, tokens), tokens


def top(scores: Tensor, count: int, block: int = 64) -> tuple[Tensor, Tensor]:
    """The best of scores [N, V], best first, and where they are: [N, count] each; of equal scores the lower place.

    The best `count` lie in the `count` blocks with the greatest maxima; to find those first is several times faster.
    """
    size = scores.shape[1] // block * block
    if size <= block * count:
        return _top(scores, torch.arange(scores.shape[1], device=scores.device).expand_as(scores), count)
    blocks = scores[:, :size].reshape(len(scores), -1, block)
    maxima = blocks.amax(dim=-1)
    _, chosen = _top(maxima, torch.arange(maxima.shape[1], device=scores.device).expand_as(maxima), count)
    inside = blocks.gather(1, chosen[:, :, None].expand(-1, -1, block)).flatten(1)
    offsets = torch.arange(block, device=scores.device)
    places = (chosen[:, :, None] * block + offsets).flatten(1)
    rest = torch.arange(size, scores.shape[1], device=scores.device).expand(len(scores), -1)
    return _top(torch.cat([inside, scores[:, size:]], dim=1), torch.cat([places, rest], dim=1), count)


def _top(scores: Tensor, places: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The best of scores [N, M] that stand at `places` [N, M]: keys that no two share order scores, then places."""
    bits = scores.float().contiguous().view(torch.int32)
    ordered = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).long()
    keys = (ordered << 31) + (0x7FFFFFFF - places)
    best = keys.topk(min(count, keys.shape[1]), dim=-1).indices
    return scores.gather(1, best), places.gather(1, best)


def nothing(state: Any, mask: Mask | None) -> Step:
    """A step without candidates."""
    rows = len(state)
    none: ScoreArray = np.zeros((rows, 0), np.float32)
    asked = np.zeros(0 if mask is None else len(mask.asked), np.float32)
    return Step(state, np.zeros((rows, 0), np.int64), none, asked, none)


def device_of(network: torch.nn.Module) -> torch.device:
    """Where a network's weights are."""
    return next((weight.device for weight in network.parameters()), torch.device("cpu"))


def prepared(network: Any, device: torch.device, precision: str | None) -> Any:
    """A network ready for inference there; a copy where its weights change."""
    dtype = dtype_of(precision)
    if dtype != torch.float32:
        network = copy.deepcopy(network).to(dtype)
    if device_of(network) != device:
        network = network.to(device)
    return network.eval()
