from __future__ import annotations

import json
from pathlib import Path

import pytest

from syntagma.errors import SyntagmaError
from syntagma.metrics import Candidate, Inputs, Segment, read_segments
from syntagma.tree import Tree


@pytest.fixture
def put(tmp_path: Path):
    def put(name: str, *lines: str) -> str:
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), "utf-8")
        return str(tmp_path / name)

    return put


def test_files_side_by_side(put) -> None:
    inputs = Inputs(
        put("h", "a b", " c "), (put("r0", "a", "c"), put("r1", "b", "d")), put("s", "x", "y"),
        hyp_trees=put("t", "(TOP (NP a b))", ""), ref_trees=(put("u", "(NP a)", ""), put("v", "(NP b)", "(NP d)")),
    )  # fmt: skip
    (first,), (second,) = read_segments(inputs)
    np = [Tree.read(text) for text in ("(NP a b)", "(NP a)", "(NP b)", "(NP d)")]
    assert first == Segment("a b", ("a", "b"), "x", np[0], (np[1], np[2]))
    assert second == Segment("c", ("c", "d"), "y", None, (None, np[3]))
    assert inputs.fields() == {"hyp", "refs", "src", "hyp_tree", "ref_trees"}


def test_a_line_of_only_space_is_an_empty_text(put) -> None:
    segments = [systems[0] for systems in read_segments(Inputs(put("h", "", "  \t ", "a"), (put("r", "a", " ", "a"),)))]
    assert [(segment.hyp, segment.refs) for segment in segments] == [("", ("a",)), ("", ("",)), ("a", ("a",))]


def test_a_baseline_shares_all_but_its_hypotheses(put) -> None:
    inputs = Inputs(put("h", "a"), (put("r", "b"),), against=put("g", "c"), nbest=None)
    [(system, baseline)] = read_segments(inputs)
    assert (system.hyp, baseline.hyp, system.refs) == ("a", "c", baseline.refs)


def test_nbest_stands_in(put) -> None:
    line = {
        "source": "s t",
        "hypotheses": [{"text": "t s ", "tree": "(TOP (NP t s))"}, {"text": "s", "score": -2.0}, {"text": "q"}],
    }
    inputs = Inputs(
        refs=(put("r", "t", "u"),), nbest=put("n", json.dumps(line), '{"source": "", "hypotheses": []}'), beam=2
    )
    (first,), (second,) = read_segments(inputs)
    tree = Tree.read("(NP t s)")
    assert (first.hyp, first.src, first.induced) == ("t s", "s t", tree)
    assert first.nbest == (Candidate("t s", tree), Candidate("s"))
    assert second == Segment("", ("u",))
    assert inputs.fields() == {"hyp", "refs", "src", "induced", "nbest"}


@pytest.mark.parametrize(("hyp", "ref"), [(3, 2), (2, 3), (0, 1), (1, 0)])
def test_unequal_lengths_are_counted(put, hyp: int, ref: int) -> None:
    inputs = Inputs(put("hyp", *"a" * hyp), (put("ref", *"a" * ref),))
    with pytest.raises(SyntagmaError, match=rf"different numbers of lines: .*hyp has {hyp}, .*ref has {ref}; give"):
        list(read_segments(inputs))


@pytest.mark.parametrize("text", ["<NP>", "i ate <NP> .", "<T>", "<c> i", "a <SBAR>"])
def test_a_hypothesis_with_an_open_label_is_unfinished(put, text: str) -> None:
    path = put("h", "fine", text)
    with pytest.raises(SyntagmaError, match=r"h, line 2: the hypothesis holds the open label <\w+>; .*allow_labels"):
        list(read_segments(Inputs(path)))
    assert [systems[0].hyp for systems in read_segments(Inputs(path, allow_labels=True))] == ["fine", text]


@pytest.mark.parametrize("text", ["a < b > c", "<unk>", "<br>", "x<NP>y", "< NP >"])
def test_other_angle_brackets_are_text(put, text: str) -> None:
    assert [systems[0].hyp for systems in read_segments(Inputs(put("h", text)))] == [text]


def test_a_baselines_open_label_names_its_file(put) -> None:
    with pytest.raises(SyntagmaError, match=r"base, line 1"):
        list(read_segments(Inputs(put("h", "a"), against=put("base", "<S>"))))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "there are no hypotheses"),
        ({"hyp": "h", "refs": ("a", "b"), "ref_trees": ("t",)}, "2 reference files and 1 files of their trees"),
        ({"hyp": "h", "against_trees": "t"}, "against_trees is given without --against"),
        ({"hyp": "h", "hyp_trees": "t", "against": "b"}, "the baseline's are not"),
        ({"hyp": "-", "refs": ("-",)}, "more than one file"),
        ({"hyp": "/no/such/file"}, "cannot be opened"),
    ],
)
def test_inputs_that_make_no_sense(given: dict[str, object], message: str) -> None:
    with pytest.raises(SyntagmaError, match=message):
        list(read_segments(Inputs(**given)))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nothing", "line 1: this is not JSON"),
        ("[1]", "line 1: this is not an object"),
        ('{"source": "a"}', "a list of hypotheses"),
        ('{"source": "a", "hypotheses": [{}]}', "has no text"),
        ('{"source": "a", "hypotheses": [{"text": "a", "tree": "(NP"}]}', "never closed"),
    ],
)
def test_bad_nbest_lines(put, line: str, message: str) -> None:
    with pytest.raises(SyntagmaError, match=message):
        list(read_segments(Inputs(nbest=put("n", line))))


def test_templates(put) -> None:
    [(segment,)] = read_segments(Inputs(put("h", "a"), templates=put("t", " (S (NP) (VP)) ")))
    assert segment.template == "(S (NP) (VP))"
    with pytest.raises(SyntagmaError, match=r"bad, line 2"):
        list(read_segments(Inputs(put("h", "a", "b"), templates=put("bad", "(S (NP))", "(S (NP)"))))


def test_a_bad_tree_names_its_file_and_line(put) -> None:
    with pytest.raises(SyntagmaError, match=r"trees, line 2, column 1"):
        list(read_segments(Inputs(put("h", "a", "b"), hyp_trees=put("trees", "(NP a)", "(NP b"))))
