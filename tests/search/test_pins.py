"""Steering and bounds, pinned by numbers that are computed apart from the search."""

from __future__ import annotations

import pytest
import torch

from search_models import TEXTS, random_model
from syntagma.levels import levels
from syntagma.runtime.folder import torch_runtime
from syntagma.search import Generator, Output, SearchOptions
from syntagma.template import Template
from syntagma.text import Subwords, split

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
SEEDS = range(6)


def found(generator: Generator, text: str, **options: object) -> list[tuple[str, float]]:
    return [(output.text, round(output.score, 3)) for output in generator(text, nbest=4, beam=4, **options)]  # type: ignore[arg-type]


def rewarded_depths(output: Output) -> list[int]:
    """The depths of the contexts that were rewarded; the first level leads to the context at depth 2."""
    return [depth for depth, level in enumerate(output.trace, 2) if level.rewarded]


def labelling(seed: int) -> Generator:
    """A random model that likes labels, so that its beams hold several shapes."""
    network = random_model(SUBWORDS, seed)
    with torch.no_grad():
        for label in SUBWORDS.labels:
            network.embedding.weight[SUBWORDS.label_id(label)] *= 3.0
    return Generator(torch_runtime(network), SUBWORDS, SearchOptions(max_depth=5, max_tokens=14, beam=4))


def shapes(generator: Generator, text: str) -> list[Template]:
    """The shapes of a wide beam: all can be followed, and a narrow beam loses some."""
    trees = [output.tree for output in generator(text, beam=8)]
    return [Template.parse(shape) for shape in sorted({str(Template.from_tree(tree)) for tree in trees if tree})]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_soft_template_rewards_every_depth_down_to_its_last(seed: int) -> None:
    """The last depth is that of a closed template's words."""
    generator = labelling(seed)
    best = generator(TEXTS[0])[0]
    assert best.tree is not None
    output = generator(TEXTS[0], template=Template.from_tree(best.tree), reward=50.0)[0]
    assert output.tree is not None
    assert rewarded_depths(output) == list(range(2, best.tree.depth + 1))


def test_rewards_fall_where_the_template_matches_and_nowhere_else() -> None:
    like = unlike = 0
    for seed in SEEDS:
        generator = labelling(seed)
        for template in shapes(generator, TEXTS[1]):
            for output in generator(TEXTS[1], template=template, reward=0.3):
                assert output.tree is not None
                contexts = [level.context for level in levels(output.tree)] + [()]
                matching = [d for d, context in enumerate(contexts, 1) if d > 1 and template.matches(context, d)]
                assert rewarded_depths(output) == [depth for depth in matching if depth <= template.depth]
                like, unlike = like + len(matching), unlike + len(contexts) - 1 - len(matching)
    assert like > 0
    assert unlike > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_match_gains_the_whole_reward(seed: int) -> None:
    generator = labelling(seed)
    alpha = generator.defaults.alpha
    for template in shapes(generator, TEXTS[0]):
        for output in generator(TEXTS[0], template=template, reward=7.0):
            before = 0.0
            for level in output.trace:
                gain = level.score - (alpha * before + (1 - alpha) * level.infill_score)
                assert gain == pytest.approx(7.0 if level.rewarded else 0.0, abs=1e-4)
                before = level.score


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("reward", [0.32, 3.0])
def test_bounds_know_of_the_reward(reward: float, text: str) -> None:
    """What may still gain a reward is not ruled out: with bounds the beam is that without."""
    for seed in SEEDS:
        generator = labelling(seed)
        for template in shapes(generator, text):
            bounded, free = (
                found(generator, text, template=template, reward=reward, bounds=bounds) for bounds in (True, False)
            )
            assert bounded == free


def test_pruning_knows_of_the_reward() -> None:
    """A reward beyond every score makes up for any lag, so nothing is pruned."""
    differ = 0
    for seed in SEEDS:
        generator = labelling(seed)
        exact, pruned = (
            found(generator, TEXTS[0], template="(S (NP) (VP))", reward=1000.0, prune=prune) for prune in (0.0, 0.1)
        )
        assert pruned == exact
        differ += found(generator, TEXTS[0], prune=0.1) != found(generator, TEXTS[0], prune=0.0)
    assert differ  # without a template it does prune
