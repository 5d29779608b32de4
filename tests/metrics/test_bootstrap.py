from __future__ import annotations

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from syntagma.metrics import Bleu, DLex, IBleu, Segment, evaluate
from syntagma.metrics.bootstrap import draws, p_value, percentile_intervals, resample


def test_draws_keep_the_size_and_the_seed_fixes_them() -> None:
    first = np.concatenate(list(draws(7, 50, seed=3)))
    assert first.shape == (50, 7)
    assert (first.sum(axis=1) == 7).all()
    np.testing.assert_array_equal(first, np.concatenate(list(draws(7, 50, seed=3))))
    assert (first != np.concatenate(list(draws(7, 50, seed=4)))).any()


def test_draws_come_in_batches_of_bounded_size() -> None:
    shapes = [batch.shape for batch in draws(3_000_000, 3, seed=1)]
    assert shapes == [(1, 3_000_000)] * 3


def test_a_resampled_figure_is_the_figure_of_the_drawn_segments(pairs: tuple[list[str], list[str]]) -> None:
    segments = [Segment(a, (b,), a) for a, b in zip(*(side[:40] for side in pairs), strict=True)]
    metrics = [Bleu(), IBleu(), DLex()]
    figures = resample(metrics, [[metric.statistics(segments) for metric in metrics]], 5, seed=2)[0]
    for counts, row in zip(np.concatenate(list(draws(40, 5, seed=2))), figures, strict=True):
        drawn = [segment for segment, count in zip(segments, counts, strict=True) for _ in range(int(count))]
        assert row.tolist() == pytest.approx([metric.corpus(drawn)[0].value for metric in metrics])


@pytest.mark.parametrize(("delta", "expected"), [(0.0, 1.0), (1.0, 0.75), (-1.0, 0.75), (1.5, 0.25), (9.0, 0.25)])
def test_p_value(delta: float, expected: float) -> None:
    assert p_value(np.array([1.0, 2.0, 3.0]), delta) == expected


def test_intervals_are_percentiles() -> None:
    figures = np.stack([np.arange(1001.0), np.full(1001, 5.0)], axis=1)
    assert percentile_intervals(figures) == [pytest.approx((25.0, 975.0)), (5.0, 5.0)]


def test_comparison_of_a_system_with_itself_finds_nothing() -> None:
    rows = [(Segment(f"a b c d {n}", ("a b c d 0",)),) * 2 for n in range(20)]
    ours, theirs = evaluate([Bleu()], rows)
    [found] = ours.compare(theirs, resamples=100)
    assert (found.delta, found.interval, found.p) == (0.0, (0.0, 0.0), 1.0)


def test_comparison_agrees_with_sacrebleus_paired_bootstrap(
    pairs: tuple[list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    src, tgt = pairs
    worse = [" ".join(line.split()[:-1]) for line in src]
    ours, theirs = evaluate(
        [Bleu()], [(Segment(a, (r,)), Segment(b, (r,))) for a, b, r in zip(src, worse, tgt, strict=True)]
    )
    [found] = ours.compare(theirs, resamples=1000)
    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    systems = [("baseline", worse), ("system", src)]
    metric = BLEU(tokenize="none", force=True, references=[tgt])
    _, scores = PairedTest(systems, {"BLEU": metric}, references=None, test_type="bs", n_samples=1000)()
    baseline, system = scores["BLEU"]
    assert (found.baseline, found.value) == pytest.approx((baseline.score, system.score))
    assert found.p == pytest.approx(system.p_value, abs=0.05)


def test_a_difference_between_systems_shows() -> None:
    good = [Segment("a b c d e", ("a b c d e",)), Segment("f g h i j", ("f g h i k",))] * 20
    bad = [segment._replace(hyp="x y z w v") for segment in good]
    ours, theirs = evaluate([Bleu()], list(zip(good, bad, strict=True)))
    [found] = ours.compare(theirs, resamples=200)
    assert found.p == pytest.approx(1 / 201)
    assert found.interval[0] > 0
