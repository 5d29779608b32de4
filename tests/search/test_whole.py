"""`seq2seq=true`: a guided model's weights writing their texts in one go."""

from __future__ import annotations

import pytest
import torch

from search_models import TEXTS, random_generator, random_model
from syntagma.errors import ConfigError
from syntagma.runtime.base import score_texts
from syntagma.runtime.torch import TorchRuntime
from syntagma.search import Generator, SearchOptions
from syntagma.search.steering import Steering
from syntagma.text import Subwords, split
from syntagma.text.subwords import END

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
OPTIONS = SearchOptions(beam=4, max_tokens=20)


@pytest.fixture(scope="module")
def generator() -> Generator:
    network = random_model(SUBWORDS, 5, seq2seq_objective=True, output_bias=True, copy=True)
    with torch.no_grad():
        network.output_bias[END] = 12.0  # else an untrained model writes on and on
    return Generator(TorchRuntime(network), SUBWORDS, OPTIONS)


def test_scores_are_those_of_whole_texts(generator: Generator) -> None:
    writer = generator._seq2seq
    for text in TEXTS:
        (request,) = writer.scheduler().run([writer.request(0, text, Steering(), OPTIONS)])
        ended = [hypothesis for hypothesis in request.beam if len(hypothesis.ids) < OPTIONS.max_tokens - 1]
        scores = score_texts(generator.runtime, [(request.source, hypothesis.ids) for hypothesis in ended])
        assert ended
        assert [hypothesis.score for hypothesis in ended] == pytest.approx(scores, abs=1e-4)


def test_texts_have_no_tree_and_come_best_first(generator: Generator) -> None:
    outputs = generator(TEXTS[0], nbest=4, seq2seq=True)
    assert outputs
    assert all(output.tree is None for output in outputs)
    assert [output.score for output in outputs] == sorted((output.score for output in outputs), reverse=True)


def test_the_levels_of_the_same_generator_stay(generator: Generator) -> None:
    before = generator(TEXTS[0], max_depth=4)
    generator(TEXTS[0], seq2seq=True)
    after = generator(TEXTS[0], max_depth=4)
    assert [output.text for output in before] == [output.text for output in after]
    assert after[0].tree is not None


def test_a_model_without_whole_texts_refuses(generator: Generator) -> None:
    with pytest.raises(ConfigError, match="has not learnt to write whole texts"):
        random_generator(SUBWORDS)(TEXTS[0], seq2seq=True)
    with pytest.raises(ConfigError, match="cannot be watched, explained or served"):
        generator.grow(TEXTS[0], seq2seq=True)
    with pytest.raises(ConfigError, match="cannot be steered"):
        generator(TEXTS[0], seq2seq=True, template="(S (NP) (VP))")
