from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

from syntagma.errors import InputError, MissingExtra
from syntagma.metrics.plots import plot_accumulation, plot_reward, read_points

needs_matplotlib = pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    rows = [
        {"series": series, "alpha": alpha, "ibleu": 8 + alpha, "d_syn": 25 - alpha, "intervals": {"ibleu": [8, 9]}}
        for series in ("beam 5", "beam 1")
        for alpha in (0.9, 0.5, 0.7)
    ]
    rows += [{"reward": reward, "bleu": 20 + reward, "d_syn_ref": 18.0} for reward in (0.0, 0.32)]
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "\n", "utf-8")
    return path


def texts(svg: Path) -> set[str]:
    return {element.text for element in ElementTree.parse(svg).iter() if element.tag.endswith("}text") and element.text}


@needs_matplotlib
def test_the_two_curves_are_drawn_as_svg_and_png(results: Path, tmp_path: Path) -> None:
    written = plot_accumulation(results, tmp_path / "figures" / "alpha.svg")
    assert [path.name for path in written] == ["alpha.svg", "alpha.png"]
    assert written[1].read_bytes().startswith(b"\x89PNG")
    assert {"accumulation weight α", "iBLEU", "beam 5", "beam 1"} <= texts(written[0])
    written = plot_reward(results, tmp_path / "reward")
    assert [path.name for path in written] == ["reward.svg", "reward.png"]
    assert {"template reward γ", "BLEU"} <= texts(written[0])


@needs_matplotlib
def test_the_same_results_give_the_same_file(results: Path, tmp_path: Path) -> None:
    first, again = (plot_accumulation(results, tmp_path / name)[0].read_bytes() for name in ("a", "b"))
    assert first == again


def test_points_know_their_series_and_intervals(results: Path) -> None:
    points = read_points(results, "alpha")
    assert len(points) == 6
    assert (points[0].series, points[0].x, points[0].figures["d_syn"]) == ("beam 5", 0.9, 24.1)
    assert points[0].intervals == {"ibleu": (8.0, 9.0)}
    assert [point.x for point in read_points(results, "reward")] == [0.0, 0.32]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x", "line 1: this is not JSON"),
        ("[]", "not a JSON object"),
        ('{"alpha": "low"}', "alpha is 'low'"),
        ("{}", "no line has alpha"),
    ],
)
def test_bad_results(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(line + "\n", "utf-8")
    with pytest.raises(InputError, match=message):
        read_points(path, "alpha")


def test_a_figure_that_no_line_has(results: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="figure meteor"):
        plot_accumulation(results, tmp_path / "x", figures=("meteor",))


def test_without_matplotlib(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"syntagma\[plots\]"):
        plot_accumulation(results, tmp_path / "x")
