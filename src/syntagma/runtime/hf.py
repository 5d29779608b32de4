"""Pretrained Hugging Face models (those of `backbone`) behind the protocol of `base`, on any device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from syntagma.network.batch import stack_contexts
from syntagma.network.contexts import AnnotatedContext
from syntagma.runtime.base import Draw, IdArray, Mask, Step
from syntagma.runtime.torch import DeviceRuntime, nothing


@dataclass
class HfState:
    """A state of the network, and for each row [N] which opened row it goes back to."""

    inner: Any
    opened: IdArray

    def __len__(self) -> int:
        return len(self.opened)

    def select(self, parents: IdArray, send: Callable[[IdArray], Tensor]) -> HfState:
        """The rows `parents`; where each keeps its source and context, those are not moved."""
        if len(parents) == len(self) and np.array_equal(parents, np.arange(len(self))):
            return self
        opened = self.opened[parents]
        if len(opened) == len(self) and np.array_equal(opened, self.opened):
            self.inner.reorder(send(parents))
            return self
        return HfState(self.inner.select(send(parents)), opened)


class HfRuntime(DeviceRuntime):
    """A network of `backbone/network.py`: it reads one token a row at a time."""

    @torch.inference_mode()
    def open(self, sources: Sequence[Any], contexts: Sequence[AnnotatedContext] | None) -> HfState:
        """A row for each source and its context, before the first token."""
        encoded, places = self._stack(sources)
        stacked = None
        if contexts is not None:
            stacked = stack_contexts([[context] for context in contexts], self.config).to(self.device)
        return HfState(self.network.open(encoded, self._send(places), stacked), np.arange(len(sources)))

    @torch.inference_mode()
    def step(
        self, state: Any, parents: IdArray, tokens: IdArray, mask: Mask | None, k: int, draw: Draw | None = None
    ) -> Step:
        """Feed `tokens` [N, L] to rows that go on from rows `parents` [N] of the state, one column after the other."""
        state = state.select(np.asarray(parents, np.int64), self._send)
        rows, inner = tokens.shape
        if not rows:
            return nothing(state, mask)
        columns = self._send(tokens)
        fed: list[Tensor] = []
        for column in range(inner):
            scores = self.network.step(state.inner, columns[:, column])
            if column + 1 < inner:
                following = columns[:, column + 1 : column + 2]
                likely = scores.logits.gather(1, following) - scores.norm[:, None]
                fed.append(likely.masked_fill(following == self.config.pad, 0.0))
        read = torch.cat(fed, dim=1) if fed else None
        if mask is None:
            empty = nothing(state, mask)
            return empty if read is None else empty._replace(fed=self._fetch(read))
        sent = [self._send(np.ascontiguousarray(array)) for array in self._choice.plan(mask, draw)]
        return self._choice(state, scores, mask, sent, k, draw, read)

    @torch.inference_mode()
    def join(self, states: Sequence[Any]) -> HfState:
        """The rows of all states, one after the other."""
        starts = np.cumsum([0, *(int(state.opened.max(initial=-1)) + 1 for state in states)])
        opened = np.concatenate([state.opened + start for state, start in zip(states, starts, strict=False)])
        return HfState(type(states[0].inner).join([state.inner for state in states]), opened)
