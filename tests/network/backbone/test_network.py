"""Pretrained networks: steps equal the whole, whatever the batch, and every search ends well-formed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from network.backbone.tiny import KINDS
from pretended_device import Placed, pretended_device
from syntagma.errors import SyntagmaError
from syntagma.levels import PART, TOP, Label
from syntagma.network.backbone.network import Backbone, Causal
from syntagma.network.backbone.storage import make_backbone
from syntagma.network.batch import Example, make_batch, pad_rows, stack_contexts
from syntagma.network.contexts import AnnotatedContext
from syntagma.runtime.hf import HfRuntime
from syntagma.search import Generator, SearchOptions
from syntagma.text.pretrained import PretrainedVocabulary
from syntagma.text.words import Word

LABELS = ("S", "NP", "VP", "PP")
TEXTS = ["I saw the fish", "you liked an apple on the mat", "the dog", "I saw <NP>, right?"]


def load(folder: Path, architecture: str = "concat") -> tuple[Backbone, PretrainedVocabulary]:
    network, vocabulary, _ = make_backbone(str(folder), LABELS, architecture)  # type: ignore[arg-type]
    return network.eval(), vocabulary


def generator_of(network: Any, vocabulary: PretrainedVocabulary, options: SearchOptions) -> Generator:
    return Generator(HfRuntime(network), vocabulary, options)


def examples(vocabulary: PretrainedVocabulary) -> list[Example]:
    ids = vocabulary.encode_tokens
    first = [
        (ids([TOP]), ids([PART, Label("S")])),
        (ids([Label("S")]), ids([PART, Word("I"), Label("VP"), Word(".", "")])),
    ]
    second = [
        (
            ids([Label("NP"), Word("ate"), Label("NP")]),
            ids([PART, Word("I"), PART, Word("fish"), Word("on"), Label("PP")]),
        )
    ]
    return [Example(vocabulary.encode(text), part) for text, part in zip(TEXTS, (first, second), strict=False)]


@pytest.mark.parametrize("kind", KINDS)
def test_steps_equal_the_whole(bases: dict[str, Path], kind: str) -> None:
    network, vocabulary = load(bases[kind])
    config, some = network.config, examples(vocabulary)
    batch = make_batch(some, config)
    with torch.inference_mode():
        whole = network.token_scores(batch)
        alone = [
            network.token_scores(make_batch([Example(one.source, [level])], config))[0]
            for one in some
            for level in one.levels
        ]
        encoded = network.encode(pad_rows([[*one.source, config.end] for one in some], config.pad))
        rows = [encoded.row(number, len(one.source) + 1) for number, one in enumerate(some)]
        stacked = type(encoded).stack(rows, config.pad)
        contexts = [[AnnotatedContext.plain(context, config)] for one in some for context, _ in one.levels]
        # the third row is opened two steps after the others, and then they change places
        state = network.open(stacked, torch.tensor([0, 0]), stack_contexts(contexts[:2], config))
        late = network.open(stacked, torch.tensor([1]), stack_contexts(contexts[2:], config))
        found = torch.zeros_like(whole)

        def feed(order: list[int], at: list[int]) -> None:
            scores = network.step(state, torch.stack([batch.inputs[r, t] for r, t in zip(order, at, strict=True)]))
            for number, (r, t) in enumerate(zip(order, at, strict=True)):
                found[r, t] = scores.log_probabilities()[number, batch.targets[r, t]]

        feed([0, 1], [0, 0])
        feed([0, 1], [1, 1])
        state = type(state).join([state, late])
        feed([0, 1, 2], [2, 2, 0])
        state.reorder(torch.tensor([0, 1, 2]))
        state = state.select(torch.tensor([2, 1]))
        last = batch.inputs.shape[1]
        for step in range(1, last):
            if step + 2 < last:
                feed([2, 1], [step, step + 2])
            else:
                state = state.select(torch.tensor([0])) if len(state) == 2 else state
                feed([2], [step])
    for row, one in enumerate(alone):
        size = int((batch.level[row] > 0).sum())
        torch.testing.assert_close(whole[row, :size], one[:size], atol=1e-4, rtol=0)
        torch.testing.assert_close(found[row, :size], whole[row, :size], atol=1e-4, rtol=0)


@pytest.mark.parametrize("architecture", ["concat", "seq2seq", "linearised"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_untrained_search_is_well_formed_and_knows_no_batch(
    bases: dict[str, Path], kind: str, architecture: str
) -> None:
    generator = generator_of(*load(bases[kind], architecture), SearchOptions(max_depth=4, max_tokens=10))
    for beam in (1, 3):
        options = generator.defaults.changed({"beam": beam})
        together, apart = (list(generator.stream(TEXTS, options=options, batch=size)) for size in (8, 1))
        for many, one in zip(together, apart, strict=True):
            assert not isinstance(many, SyntagmaError)
            assert not isinstance(one, SyntagmaError)
            assert [output.text for output in many] == [output.text for output in one]
            assert [output.score for output in many] == pytest.approx([output.score for output in one], abs=1e-4)
            if architecture == "concat":
                assert all(output.tree is not None and output.levels[-1] for output in many)


@pytest.mark.parametrize("kind", KINDS)
def test_control(bases: dict[str, Path], kind: str) -> None:
    generator = generator_of(*load(bases[kind]), SearchOptions(max_depth=4, max_tokens=12))
    found = generator(TEXTS[0], template="(S (NP) (VP (NP)))", control="hard", beam=3)
    for output in found:
        assert output.tree is not None
        labels = [item for item in output.tree.walk if item.startswith("(") or item == ")"]
        assert labels == ["(TOP", "(S", "(NP", ")", "(VP", "(NP", ")", ")", ")", ")"]
    started = generator(TEXTS[0], start="<NP> , right ?", beam=2)[0]
    assert started.text.endswith(", right?")
    assert generator(TEXTS[0], must=["fish"], beam=3)[0].text.lower().count("fish")
    grown = generator.grow(TEXTS[1], beam=1).step().replace(0, "<NP> <VP> .").pin(0, 1, "he").finish()
    assert grown[0].text.startswith("he")


def test_a_causal_model_reads_a_source_once(bases: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    network, vocabulary = load(bases["gpt2"])
    read = []
    inner = Causal._read

    def counted(self: Causal, state: object, ids: torch.Tensor, fresh: torch.Tensor) -> object:
        read.append(ids.shape)
        return inner(self, state, ids, fresh)  # type: ignore[arg-type]

    monkeypatch.setattr(Causal, "_read", counted)
    generator = generator_of(network, vocabulary, SearchOptions(max_depth=4, max_tokens=8))
    found = generator(TEXTS[1], beam=3, template="(S (NP) (VP (NP)))", control="hard")
    depth = max(len(output.trace) for output in found)
    assert depth > 2
    size = len(vocabulary.encode(TEXTS[1])) + 1
    assert read[0] == (1, size)
    assert len(read) == 1 + depth  # the source, and then a context a level
    assert sum(rows for rows, _ in read[1:]) > depth


class PlacedBackbone(Placed, HfRuntime):
    """A backbone on the pretended device."""


@pytest.mark.parametrize("kind", KINDS)
def test_everything_stays_on_the_device(bases: dict[str, Path], kind: str) -> None:
    network, vocabulary = load(bases[kind])
    options = SearchOptions(beam=2, max_depth=3, max_tokens=6)
    expected = list(Generator(HfRuntime(network), vocabulary, options).stream(TEXTS[:2]))
    with pretended_device() as mode:
        placed = Generator(PlacedBackbone(network, mode), vocabulary, options)
        found = list(placed.stream(TEXTS[:2]))
    assert all(isinstance(one, list) for one in expected)
    assert [str(one) for one in found] == [str(one) for one in expected]
