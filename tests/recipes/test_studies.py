from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from search_models import TEXTS, random_model
from syntagma.errors import ConfigError
from syntagma.metrics.base import Segment
from syntagma.metrics.edits import EditFollowed
from syntagma.recipes import outputs
from syntagma.recipes.edits import KINDS, edit
from syntagma.recipes.reading import bundled_recipes, read_recipe
from syntagma.recipes.run import RecipeRun
from syntagma.recipes.shapes import ShapeReader
from syntagma.text import Subwords, split
from syntagma.tree import Tree

Run = Callable[..., "subprocess.CompletedProcess[str]"]
SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
PAIRS = [
    ("I ate an apple.", "An apple was eaten."),
    ("He can go.", "The man is able to go."),
    ("Stop it!", "Stop that!"),
]
STUDIES = [name for name in bundled_recipes() if not read_recipe(name).trained()]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from syntagma.network.storage import save_pretrained

    folder = tmp_path_factory.mktemp("models") / "random"
    save_pretrained(folder, random_model(SUBWORDS, seq2seq_objective=True), SUBWORDS, "card")
    return folder


def study(name: str, model: Path, folder: Path, **changes: Any) -> RecipeRun:
    """A study of the package with a small model and three pairs; its searches are cut short."""
    (folder / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    recipe = read_recipe(name)
    quick = {"options": {"max_depth": 9, "max_tokens": 12}, "beam": 2, "search": None}
    test = {"pairs": "pairs.tsv", "exemplar_pool": "pairs.tsv"}
    slow = ("similarity", "similarity_src", "meteor")
    values = {
        "systems": {system: {"model": str(model)} for system in recipe.systems},
        "tests": dict.fromkeys(recipe.tests) | {"three": test},
        "rows": {row: quick | {"nbest": min(2, one.nbest)} for row, one in recipe.rows.items()},
        "metrics": [metric for metric in recipe.metrics if metric not in slow],
    }
    return RecipeRun(read_recipe(name, values | changes), folder, folder / "run", resamples=10)


@pytest.mark.parametrize("name", [name for name in STUDIES if name != "partial-control"])
def test_every_study_gives_its_rows_and_its_figure(name: str, model: Path, tmp_path: Path) -> None:
    """But for partial control: an untrained model makes no contexts that can be edited."""
    run = study(name, model, tmp_path)
    (table,) = run.run()
    assert table.segments == 3
    ours = [row for row in table.rows if row.system in run.recipe.rows]
    assert [row.system for row in ours] == list(run.recipe.rows)
    assert all(row.figures.keys() >= set(run.recipe.facts) for row in ours)
    drawn = run.recipe.figure.figures if run.recipe.figure else run.recipe.metrics
    assert all(any(figure in row.figures for row in ours) for figure in drawn)
    if run.recipe.figure is not None and find_spec("matplotlib") is not None:
        assert {path.name for path in (tmp_path / "run").glob("three.*")} == {"three.svg", "three.png"}
    if name == "control":
        assert ours[-1].figures["template_match"] == pytest.approx(100)


def test_a_study_is_stored_and_can_be_made_again_without_its_model(
    model: Path, tmp_path: Path, syntagma: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    command = ("reproduce", "trees", "--pairs", "pairs.tsv", "--out", "run", "--json", "--resamples", "0")
    made = syntagma(*command, "--model", f"guided={model}", "--search", "model")
    (table,) = map(json.loads, made.stdout.splitlines())
    assert [row["system"] for row in table["systems"]][:3] == ["beam 1", "beam 5", "paper: ParaNMT-small"]
    assert syntagma(*command, "--stored", "--model", "guided=gone").stdout == made.stdout
    assert len(list((tmp_path / "run" / "outputs" / "yours").glob("*.jsonl"))) == 2
    few = syntagma(*command, "--model", f"guided={model}", "--search", "model", "--limit", "2")
    assert json.loads(few.stdout)["segments"] == 2
    assert len((tmp_path / "run" / "outputs" / "yours" / "beam-1.jsonl").read_text().splitlines()) == 3

    def nothing(*arguments: Any, **named: Any) -> Iterator[Any]:
        raise AssertionError("what is there was made again")

    monkeypatch.setattr(outputs, "parallel", nothing)
    assert syntagma(*command, "--model", f"guided={model}", "--search", "model").stdout == made.stdout


def test_options_that_fit_no_recipe_are_refused(syntagma: Run, tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    said = syntagma("reproduce", "trees", "--pairs", "pairs.tsv", "--model", "seq2seq=x", check=1).stderr
    assert "'seq2seq=x' names no system; write SYSTEM=MODEL for one of guided" in said
    said = syntagma("reproduce", "trees", "--data", ".", "--test", "wmt", check=1).stderr
    assert "trees has no test set 'wmt'; choose from paranmt" in said
    said = syntagma("reproduce", "speed", "--pairs", "pairs.tsv", check=1).stderr
    assert "seq2seq-de-en: there is no such folder" in said


def test_stored_texts_may_be_plain_lines(tmp_path: Path) -> None:
    (tmp_path / "row.txt").write_text("He left.\nStop.\n")
    records = outputs.read_outputs(tmp_path / "row.jsonl", 2)
    assert [record["hypotheses"][0]["text"] for record in records] == ["He left.", "Stop."]


def test_rows_that_differ_in_their_reference_share_outputs(model: Path, tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / f"ref{number}").write_text("".join(f"{target}{' too' * number}\n" for _, target in PAIRS))
    (tmp_path / "src").write_text("".join(f"{source}\n" for source, _ in PAIRS))
    quick = {"system": "guided", "beam": 2, "options": {"max_depth": 4, "max_tokens": 8}}
    rows = {f"ref-{number}": quick | {"scored_by": number} for number in range(2)}
    run = study("trees", model, tmp_path, rows=dict.fromkeys(("beam 1", "beam 5")) | rows, metrics=["length_ratio"],
                tests={"paranmt": None, "two": {"sources": "src", "references": ["ref0", "ref1"]}},
                figure=None)  # fmt: skip
    (table,) = run.run()
    first, second = (run.outputs("two", f"ref-{number}").read_text() for number in range(2))
    assert first == second
    assert table.rows[0].figures["length_ratio"] > table.rows[1].figures["length_ratio"]


class TestEdits:
    LEVELS = ("<T>", "<S>", "<NP> <VP> .", "He <VP> .")
    REFERENCE = Tree.read("(TOP (S (NP (DT the) (NN man)) (VP (VBD went) (NP (NN home))) (. .)))")

    def test_each_kind_edits_the_first_context_that_it_suits(self) -> None:
        made = {kind: edit(kind, self.LEVELS, "He left .", self.REFERENCE) for kind in KINDS}
        assert {kind: one.start for kind, one in made.items() if one} == {
            "pin": "the man <VP> .",
            "pp": "<NP> <VP> <PP> .",
            "question": "did <NP> <VP> ?",
        }

    def test_what_would_change_nothing_is_no_edit(self) -> None:
        assert edit("pin", self.LEVELS, "So the man went .", self.REFERENCE) is None
        assert edit("pin", self.LEVELS, "He left .", None) is None
        assert edit("question", ["<T>", "<VP> ."]) is None

    @pytest.mark.parametrize(
        ("parsed", "followed"),
        [
            ("(TOP (S (NP (DT the) (NN man)) (VP (VBD went)) (. .)))", 100.0),
            ("(TOP (S (NP (DT the)) (NN man) (VP (VBD went)) (. .)))", 0.0),
            ("(TOP (S (NP (DT the) (NN man) (VBD went)) (. .)))", 0.0),
        ],
    )
    def test_a_parser_says_whether_a_pin_is_a_constituent(self, parsed: str, followed: float) -> None:
        made = edit("pin", self.LEVELS, "He left .", self.REFERENCE)
        assert made is not None
        grown = Tree.read("(T the man (VP went) .)")
        segment = Segment("the man went .", induced=grown, hyp_tree=Tree.read(parsed), edit=made.to_json())
        unedited = Segment("he went .", induced=grown, hyp_tree=Tree.read(parsed))
        assert EditFollowed().corpus([segment, unedited])[0].value == followed

    def test_a_question_must_be_one_as_a_whole(self) -> None:
        made = edit("question", self.LEVELS)
        assert made is not None
        grown = Tree.read("(T did (NP he) (VP go) ?)")
        for label, value in (("SQ", 100.0), ("S", 0.0)):
            parsed = Tree.read(f"(TOP ({label} (VBD did) (NP (PRP he)) (VP (VB go)) (. ?)))")
            segment = Segment("did he go ?", induced=grown, hyp_tree=parsed, edit=made.to_json())
            assert EditFollowed().corpus([segment])[0].value == value


def test_partial_control_scores_the_sources_that_every_edit_suits(tmp_path: Path, model: Path) -> None:
    run = study("partial-control", model, tmp_path, figure=None)
    best = {"text": "he can go .", "tree": "(T (S (NP he) (VP can (VP go)) .))", "levels": ["<T>", "<NP> <VP> ."]}
    for name in run.recipe.rows:
        path = run.outputs("three", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        made = best if name == "unedited" else best | {"tree": "(T (NP he) (VP can (VP go)) .)"}
        records = [{"hypotheses": [one]} for one in (made, made, made | {"levels": ["<T>", "<VP> ."]})]
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    (table,) = run.tables()
    assert table.segments == 2, "the last has no subject to ask about"
    assert "edit_followed" not in table.rows[0].figures
    assert all("edit_followed" in row.figures for row in table.rows[1:4])
    bad = json.dumps({"hypotheses": [best | {"levels": ["<T>"]}]}) + "\n"
    run.outputs("three", "unedited").write_text(bad * 3)
    with pytest.raises(ConfigError, match="three: none of 3 sources suits all the edits; take more of them"):
        run.tables()


def test_the_nearest_shape_of_a_pool_is_neither_the_reference_nor_the_source() -> None:
    shapes = ShapeReader("neural")
    pool = ["He ate an apple.", "Is it true?", "She read the book.", "Stop!"]
    assert shapes.nearest(["He ate an apple."], ["An apple was eaten."], pool) == ["She read the book."]
    assert shapes.templates(["He left.", " "], 2, ("S", "NP", "VP")) == ["(S *)", ""]
