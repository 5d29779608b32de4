"""ONNX graphs give what torch gives, whatever the rows around a row do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from runtime.networks import KINDS, LABELS, contexts_of, export, follow, make_network
from syntagma.network.config import ModelConfig
from syntagma.network.network import Network
from syntagma.runtime.base import Draw, Mask, WordSet, score_texts
from syntagma.runtime.onnx import OnnxRuntime

SOURCES = [[20, 21, 22, 20], [30, 31], [40, 41, 42, 43, 44, 45]]
CLOSE = {"abs": 1e-4}
Made = tuple[Network, OnnxRuntime]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Made]:
    made: dict[str, Made] = {}

    def build(kind: str) -> Made:
        if kind not in made:
            network = make_network(**KINDS[kind])
            made[kind] = network, export(network, tmp_path_factory.mktemp("model"))
        return made[kind]

    return build


def everything(config: ModelConfig, rows: int, **more: object) -> Mask:
    return Mask(np.ones((rows, len(config.controls)), np.bool_), [None] * rows, **more)  # type: ignore[arg-type]


def allowed(config: ModelConfig) -> list[int]:
    never = {config.pad, config.start, config.sep, *config.context_marks} - set(config.controls)
    return [v for v in range(config.outputs or config.vocabulary) if v not in never]


def check(step_tokens: np.ndarray, step_scores: np.ndarray, expected: np.ndarray, config: ModelConfig) -> None:
    """Candidates [K] of one row against all log-probabilities [V]."""
    ids = allowed(config)
    order = sorted(ids, key=lambda v: -expected[v])[: len(step_tokens)]
    assert step_scores == pytest.approx(expected[order], **CLOSE)
    assert expected[step_tokens] == pytest.approx(step_scores, **CLOSE)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_equal_torch_whatever_the_batch(make: Callable[[str], Made], kind: str) -> None:
    network, runtime = make(kind)
    config = network.config
    contexts = contexts_of(config) if config.guided else None
    handles = runtime.encode(SOURCES)
    rows = [0, 1, 2, 0]
    of_rows = [None] * 4 if contexts is None else [contexts[r] for r in (0, 1, 2, 2)]
    state = runtime.open([handles[r] for r in rows], of_rows if contexts else None)  # type: ignore[arg-type]
    written = [[2, 4], [2, 4], [2, 4], [2, 4]]
    step = runtime.step(state, np.arange(4), np.array(written), everything(config, 4), 6)

    def compare() -> None:
        for number, (row, context) in enumerate(zip(rows, of_rows, strict=True)):
            expected = follow(network, SOURCES[row], context, written[number])
            check(step.tokens[number], step.scores[number], expected[-1], config)

    compare()
    first = follow(network, SOURCES[0], of_rows[0], [2])
    assert step.fed[0, 0] == pytest.approx(first[0, 4], **CLOSE)

    parents = [2, 0, 0, 3, 3, 1]
    rows, of_rows = [rows[p] for p in parents], [of_rows[p] for p in parents]
    written = [[*written[p], token] for p, token in zip(parents, (20, 21, 6, 41, 4, 9), strict=True)]
    step = runtime.step(step.state, np.array(parents), np.array([[w[-1]] for w in written]), everything(config, 6), 6)
    compare()

    other = runtime.open([handles[1]], None if contexts is None else [contexts[0]])
    fresh = runtime.step(other, np.array([0]), np.array([[2]]), everything(config, 1), 6)
    state = runtime.join([step.state, fresh.state, runtime.open([handles[2]], contexts and [contexts[1]])])
    parents = [6, 3, 5, 7]  # some sources and contexts leave, and rows of three lengths go on together
    rows = [rows[p] if p < 6 else [1, 2][p - 6] for p in parents]
    of_rows = [of_rows[p] if p < 6 else contexts and contexts[p - 6] for p in parents]
    written = [[2, 4], [*written[3], 42], [*written[5], 4], [2]]
    step = runtime.step(state, np.array(parents), np.array([[w[-1]] for w in written]), everything(config, 4), 6)
    compare()
    for tokens in ([23, 24, 25, 26], [6, 7, 30, 4]):
        written = [[*w, token] for w, token in zip(written, tokens, strict=True)]
        step = runtime.step(step.state, np.arange(4), np.array(tokens)[:, None], everything(config, 4), 6)
    compare()


@pytest.mark.parametrize("kind", ["seq2seq", "copy seq2seq", "everything", "copy concat"])
def test_whole_texts(make: Callable[[str], Made], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network, runtime = make(kind)
    config = network.config
    pairs = [(SOURCES[0], [20, 21]), (SOURCES[1], [31, 20, 33, 30, 31]), (SOURCES[0], [22])]
    from syntagma.network.contexts import AnnotatedContext

    context = AnnotatedContext.plain([config.end], config) if config.guided else None
    expected = []
    for source, target in pairs:
        scores = follow(network, source, context, [config.start, *target])
        expected.append(sum(scores[place, token] for place, token in enumerate([*target, config.end])))
    assert score_texts(runtime, pairs) == pytest.approx(expected, abs=1e-3)
    monkeypatch.setattr("syntagma.runtime.onnx._SCORES_AT_ONCE", 1)
    assert score_texts(runtime, pairs) == pytest.approx(expected, abs=1e-3)


def test_padding_ends_a_row(make: Callable[[str], Made]) -> None:
    network, runtime = make("seq2seq")
    state = runtime.open(runtime.encode(SOURCES[:2]), None)
    step = runtime.step(state, np.arange(2), np.array([[2, 20, 21], [2, 30, 0]]), everything(network.config, 2), 3)
    assert np.isneginf(step.scores[1]).all()
    assert step.fed[1, 1] == 0
    step = runtime.step(step.state, np.array([1]), np.array([[31]]), everything(network.config, 1), 3)
    check(step.tokens[0], step.scores[0], follow(network, SOURCES[1], None, [2, 30, 31])[-1], network.config)


def test_masks_and_what_is_asked(make: Callable[[str], Made]) -> None:
    network, runtime = make("everything")
    config = network.config
    contexts = contexts_of(config)
    handle = runtime.encode(SOURCES[:1])[0]
    controls = np.zeros((4, len(config.controls)), np.bool_)
    controls[1, config.controls.index(6)] = controls[2, -1] = True
    few, none = WordSet(np.array([20, 33, 50])), WordSet(np.zeros(0, np.int64))
    asked = np.array([[0, 20], [0, 21], [1, 6], [1, 5], [3, 0]])
    mask = Mask(controls, [few, few, none, None], np.array([[1, 33], [3, 30]]), asked)
    step = runtime.step(runtime.open([handle] * 4, [contexts[0]] * 4), np.arange(4), np.full((4, 1), 2), mask, 5)
    expected = follow(network, SOURCES[0], contexts[0], [2])[-1]
    sets = [{20, 33, 50}, {20, 50, 6}, {config.end}, set(range(9, 60)) - {30}]
    for row, ids in enumerate(sets):
        order = sorted(ids, key=lambda v: -expected[v])[:5]
        possible = np.isfinite(step.scores[row])
        assert step.tokens[row][possible].tolist() == order
        assert step.scores[row][possible] == pytest.approx(expected[order], **CLOSE)
    heard = [expected[20], -np.inf, expected[6], -np.inf, -np.inf]
    assert step.asked == pytest.approx(heard, **CLOSE)


def test_draws(make: Callable[[str], Made]) -> None:
    network, runtime = make("copy seq2seq")
    config = network.config
    uniforms = np.array([0.0, 0.3, 0.7, 0.999])
    state = runtime.open(runtime.encode(SOURCES[:1]) * 4, None)
    draw = Draw(uniforms, temperature=0.8, top_p=0.6)
    step = runtime.step(state, np.arange(4), np.full((4, 1), 2), everything(config, 4), 1, draw)
    expected = follow(network, SOURCES[0], None, [2])[-1]
    ids = np.array(sorted(allowed(config), key=lambda v: -expected[v]))
    shares = torch.softmax(torch.tensor(expected[ids]).double() / 0.8, 0).numpy()
    inside = shares[np.cumsum(shares) - shares < 0.6]
    for row, uniform in enumerate(uniforms):
        token = ids[np.searchsorted(np.cumsum(inside) / inside.sum(), uniform, side="right")]
        assert step.tokens[row].tolist() == [token]
        assert step.scores[row, 0] == pytest.approx(expected[token], **CLOSE)


def test_ties_go_to_the_lower_id(make: Callable[[str], Made], tmp_path: Path) -> None:
    network = make_network(architecture="seq2seq")
    with torch.no_grad():
        network.embedding.weight.zero_()
    runtime = export(network, tmp_path / "flat")
    step = runtime.step(
        runtime.open(runtime.encode(SOURCES[:1]), None),
        np.array([0]), np.array([[2]]), everything(network.config, 1), 4,
    )  # fmt: skip
    assert step.tokens.tolist() == [[1, 4, 5, 6]]
    assert LABELS[0] in step.tokens


def test_half_precision(tmp_path: Path) -> None:
    network = make_network(**KINDS["everything"])
    runtime = export(network, tmp_path / "half", torch.float16)
    network = network.half().float()
    contexts = contexts_of(network.config)
    state = runtime.open(runtime.encode(SOURCES[:1]), contexts[1:2])
    step = runtime.step(state, np.array([0]), np.array([[2, 4]]), everything(network.config, 1), 5)
    check(step.tokens[0], step.scores[0], follow(network, SOURCES[0], contexts[1], [2, 4])[-1], network.config)


@pytest.mark.parametrize("architecture", ["extra-encoder", "seq2seq"])
def test_a_source_may_hold_what_cannot_be_written(architecture: str, tmp_path: Path) -> None:
    """A copy head points at ids beyond `outputs` too: as where all can be written, but these never are."""
    whole = make_network(architecture=architecture, copy=True, output_bias=True)
    part = make_network(architecture=architecture, copy=True, output_bias=True, outputs=50)
    weights = dict(whole.state_dict())
    weights["output_bias"][50:] = -1e9
    part.load_state_dict(weights | {"output_bias": weights["output_bias"][:50]})
    config, runtime = part.config, export(part, tmp_path)
    source, tokens = [20, 55, 21, 59, 20], [config.start, *[config.part] * config.guided, 20, 21, 30]
    contexts = contexts_of(config)[:1] if config.guided else None
    expected = follow(whole, source, contexts and contexts[0], tokens)
    assert follow(part, source, contexts and contexts[0], tokens) == pytest.approx(expected[:, :50], **CLOSE)
    fed = runtime.step(runtime.open(runtime.encode([source]), contexts), np.arange(1), np.array([tokens]), None, 0).fed
    assert fed[0] == pytest.approx(expected[range(len(tokens) - 1), tokens[1:]], **CLOSE)
    state = runtime.open(runtime.encode([source]), contexts)
    mask = everything(config, 1, asked=np.array([(0, token) for token in range(50)]))
    for token, scores in zip(tokens, expected, strict=True):
        step = runtime.step(state, np.arange(1), np.array([[token]]), mask, 1)
        state = step.state
        known = step.asked > -np.inf
        assert known.sum() > 40
        assert step.asked[known] == pytest.approx(scores[:50][known], **CLOSE)
