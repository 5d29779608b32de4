"""A guided model that writes its texts in one go, as a sequence-to-sequence model does: the baseline in its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from syntagma.errors import ConfigError
from syntagma.network.contexts import AnnotatedContext
from syntagma.runtime.base import Capabilities, Draw, IdArray, Ids, Mask, Runtime, State, Step


class WholeTextRuntime:
    """Another runtime, which to a search is that of a sequence-to-sequence model.

    Every row is opened with the context that stands for a whole text, an end and nothing else.
    """

    def __init__(self, runtime: Runtime) -> None:
        if not (runtime.config.guided and runtime.capabilities.scores_texts):
            remedy = "leave seq2seq=true out, or use a guided model trained with seq2seq_objective=true"
            raise ConfigError("this model has not learnt to write whole texts beside its levels", remedy=remedy)
        self._runtime = runtime
        self._context = AnnotatedContext.plain([runtime.config.end], runtime.config)
        self.config = replace(runtime.config, architecture="seq2seq", seq2seq_objective=False)
        self.capabilities = Capabilities(guided=False, scores_texts=True, controls_template=False)

    def encode(self, sources: Sequence[Ids]) -> list[Any]:
        """Each source encoded once."""
        return self._runtime.encode(sources)

    def open(self, sources: Sequence[Any], contexts: Sequence[AnnotatedContext] | None) -> State:
        """A row for each source."""
        return self._runtime.open(sources, [self._context] * len(sources))

    def step(
        self, state: Any, parents: IdArray, tokens: IdArray, mask: Mask | None, k: int, draw: Draw | None = None
    ) -> Step:
        """Feed tokens, as the runtime beneath does."""
        return self._runtime.step(state, parents, tokens, mask, k, draw)

    def join(self, states: Sequence[Any]) -> State:
        """The rows of all states."""
        return self._runtime.join(states)
