"""Memory that runs out on a device: the batch is halved, and nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from search_models import TEXTS, random_model
from syntagma.errors import SyntagmaError
from syntagma.runtime.base import Draw, IdArray, Mask, Step
from syntagma.runtime.torch import TorchRuntime
from syntagma.search import Generator, SearchOptions
from syntagma.text import Subwords, split

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
MANY = [f"{text} {number}" for number in range(3) for text in TEXTS]


class SmallDevice(TorchRuntime):
    """A device with room for so many rows."""

    rows = 1 << 30
    failures = 0

    def _need(self, rows: int) -> None:
        if rows > self.rows:
            self.failures += 1
            raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB")

    def open(self, sources: Sequence[Any], contexts: Any) -> Any:
        self._need(len(sources))
        return super().open(sources, contexts)

    def step(
        self, state: Any, parents: IdArray, tokens: IdArray, mask: Mask | None, k: int, draw: Draw | None = None
    ) -> Step:
        self._need(len(np.asarray(parents)))
        return super().step(state, parents, tokens, mask, k, draw)


def generator(**options: Any) -> Generator:
    settings = SearchOptions.from_dict({"max_depth": 4, "max_tokens": 8, "beam": 3, **options})
    return Generator(SmallDevice(random_model(SUBWORDS, 2, seq2seq_objective=True)), SUBWORDS, settings)


@pytest.mark.parametrize("options", [{}, {"rerank": "seq2seq"}, {"sample": True, "seed": 3}])
@pytest.mark.parametrize("rows", [20, 10, 4])
def test_the_batch_is_halved_and_the_results_are_the_same(rows: int, options: dict[str, Any]) -> None:
    model = generator(**options)
    expected = list(model.stream(MANY))
    assert all(isinstance(found, list) for found in expected)
    model.runtime.rows = rows  # type: ignore[attr-defined]
    found = list(model.stream(MANY))
    assert model.runtime.failures > 0  # type: ignore[attr-defined]
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, list)
        assert isinstance(other, list)
        assert [output.text for output in one] == [output.text for output in other]
        assert [output.score for output in one] == pytest.approx([output.score for output in other], abs=1e-4)


def test_a_text_that_does_not_fit_alone_is_said_and_the_others_go_on() -> None:
    model = generator()
    model.runtime.rows = 0  # type: ignore[attr-defined]
    for found in model.stream(MANY[:3]):
        assert isinstance(found, SyntagmaError)
        assert str(found) == "there is not enough memory to search for this text alone; shorten it, or narrow the beam"
    model.runtime.rows = 4  # type: ignore[attr-defined]
    assert all(isinstance(found, list) for found in model.stream(MANY[:3]))


def test_other_errors_are_not_taken_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = generator()

    def broken(*_: object) -> object:
        raise RuntimeError("a kernel is missing")

    monkeypatch.setattr(model.runtime, "open", broken)
    with pytest.raises(RuntimeError, match="a kernel is missing"):
        list(model.stream(MANY[:3]))
