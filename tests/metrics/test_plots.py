from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

from syntagma.errors import InputError, MissingExtra
from syntagma.metrics.plots import Bar, Point, plot, plot_bars

needs_matplotlib = pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed")
POINTS = [
    Point(series, alpha, {"ibleu": 8 + alpha, "d_syn": 25 - alpha}, {"ibleu": (8, 9)})
    for series in ("beam 5", "beam 1")
    for alpha in (0.9, 0.5, 0.7)
]
BARS = [Bar("ours", {"bleu": 20.0, "d_syn": 18.0}, {"bleu": (19, 21)}), Bar("paper", {"bleu": 24.9}, {}, printed=True)]


def texts(svg: Path) -> set[str]:
    return {element.text for element in ElementTree.parse(svg).iter() if element.tag.endswith("}text") and element.text}


@needs_matplotlib
def test_curves_and_bars_are_drawn_as_svg_and_png(tmp_path: Path) -> None:
    written = plot(POINTS, "accumulation weight α", ("ibleu", "d_syn"), tmp_path / "figures" / "alpha.svg")
    assert [path.name for path in written] == ["alpha.svg", "alpha.png"]
    assert written[1].read_bytes().startswith(b"\x89PNG")
    assert {"accumulation weight α", "iBLEU", "beam 5", "beam 1"} <= texts(written[0])
    written = plot_bars(BARS, ("bleu", "d_syn"), tmp_path / "bars")
    assert [path.name for path in written] == ["bars.svg", "bars.png"]
    assert {"ours", "paper", "BLEU"} <= texts(written[0])


@needs_matplotlib
def test_the_same_points_give_the_same_file(tmp_path: Path) -> None:
    first, again = (plot(POINTS, "α", ("ibleu",), tmp_path / name)[0].read_bytes() for name in ("a", "b"))
    assert first == again


def test_a_figure_that_no_point_has(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="figure meteor"):
        plot(POINTS, "α", ("meteor",), tmp_path / "x")


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"syntagma\[plots\]"):
        plot(POINTS, "α", ("ibleu",), tmp_path / "x")
