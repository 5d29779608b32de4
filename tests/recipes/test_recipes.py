from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml

from syntagma.corpus import Corpus
from syntagma.errors import ConfigError
from syntagma.recipes import outputs as module
from syntagma.recipes.data import check_data, read_test
from syntagma.recipes.reading import RecipeError, bundled_recipes, read_recipe
from syntagma.recipes.recipe import Texts
from syntagma.recipes.run import RecipeRun
from syntagma.recipes.trial import trial
from syntagma.search import SteeredText
from syntagma.tree import Tree

Run = Callable[..., "subprocess.CompletedProcess[str]"]
PAIRS = [
    (f"{thing} was what {who} {verb} .", f"{who} {verb} {thing} .")
    for who in ("I", "the dog", "my friend")
    for verb, thing in (("saw", "a fish"), ("ate", "the apple"), ("found", "it"), ("liked", "some bread"))
]
RECIPE: dict[str, Any] = {
    "title": "A dozen pairs",
    "hours": "none",
    "train": {"pairs": "train.tsv"},
    "dev": {"sources": "dev.src", "references": ["dev.tgt"]},
    "tests": {
        "test": {
            "pairs": "test.tsv",
            "exemplars": "test.exemplars",
            "printed": {"guided": {"bleu": 19.3}},
        },
        "plain": {"sources": "dev.src", "references": ["dev.tgt", "dev.tgt"]},
    },
    "same_language": True,
    "prepare": {"vocab_size": 330, "keep_overlap": True, "labels": ["S", "NP", "VP"]},
    "training": {
        "preset": "tiny", "steps": 16, "batch_tokens": 300, "lr": 0.01, "warmup": 2, "validate_every": 8,
        "save_every": 2, "threads": 1,
    },
    "systems": {"teacher": {"architecture": "seq2seq"}, "guided": {"architecture": "extra-encoder"}},
    "distil": {"teacher": "teacher", "beam": 2},
    "rows": {
        "plain": {"system": "teacher", "beam": 2},
        "guided, beam 2": {"system": "guided", "search": "paper", "beam": 2, "nbest": 2, "against": "plain"},
        "guided, exemplars": {"system": "guided", "beam": 2, "follow": "exemplars", "control": "hard"},
        "guided, ref-1": {"system": "guided", "beam": 2, "follow": "references:1", "exemplar_depth": 2},
    },
    "metrics": ["bleu", "ibleu", "d_lex"],
}  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "train.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    (folder / "test.tsv").write_text("".join(f"{source}\t{target}\tmore\n" for source, target in PAIRS[:5]))
    (folder / "test.exemplars").write_text("He left .\n\nShe saw a house .\nStop it .\nWe like fish .\n")
    (folder / "dev.src").write_text("".join(f"{source}\n" for source, _ in PAIRS[3:7]))
    (folder / "dev.tgt").write_text("".join(f"{target}\n" for _, target in PAIRS[3:7]))
    return folder


def write(folder: Path, **changes: Any) -> str:
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump(RECIPE | changes, sort_keys=False))
    return str(path)


@pytest.mark.slow
def test_a_killed_recipe_goes_on_to_the_same_tables(
    syntagma: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = write(tmp_path)
    command = ("reproduce", recipe, "--data", "data", "--resamples", "20", "--out")
    shown = syntagma(*command, "whole").stdout
    tables = [json.loads(line) for line in (tmp_path / "whole" / "tables.jsonl").read_text().splitlines()]
    assert [table["test"] for table in tables] == ["test", "plain", "average"]
    systems = [[row["system"] for row in table["systems"]] for table in tables]
    assert systems[0] == [
        "source copied", "plain", "guided, beam 2", "guided, exemplars", "reference", "paper: guided"
    ]  # fmt: skip
    assert systems[1] == ["source copied", "plain", "guided, beam 2", "guided, ref-1", "reference"]
    assert systems[2] == ["source copied", "plain", "guided, beam 2", "reference"]
    assert set(tables[0]["systems"][2]["p"]) == {"bleu", "ibleu", "d_lex"}
    records = (tmp_path / "whole" / "outputs" / "test" / "guided-beam-2.jsonl").read_text().splitlines()
    assert [len(json.loads(line)["hypotheses"]) for line in records] == [2] * 5
    assert "**average**" in shown

    # killed as soon as training has left something to go on with
    environment = os.environ | {"NO_COLOR": "1"}
    arguments = [sys.executable, "-m", "syntagma", *command, "killed"]
    with subprocess.Popen(
        arguments, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        checkpoints = tmp_path / "killed" / "models" / "guided" / "checkpoints"
        while process.poll() is None and not (checkpoints.is_dir() and any(checkpoints.iterdir())):
            time.sleep(0.01)
        process.kill()
    assert not (tmp_path / "killed" / "tables.md").exists()

    # and stopped in the middle of a row
    def stopping(*arguments: Any, **named: Any) -> Iterator[Any]:
        yield from islice(given(*arguments, **named), 2)
        raise KeyboardInterrupt

    given = module.parallel
    run = RecipeRun(read_recipe(recipe), data, tmp_path / "killed", resamples=20)
    with monkeypatch.context() as patched:
        patched.setattr(module, "parallel", stopping)
        with pytest.raises(KeyboardInterrupt):
            run.run()
    (part,) = (tmp_path / "killed" / "outputs" / "test").glob(".*.part")
    assert len(part.read_text().splitlines()) == 2
    run.run()
    for name in ("tables.md", "tables.jsonl"):
        assert (tmp_path / "killed" / name).read_text() == (tmp_path / "whole" / name).read_text()

    # nothing is made again
    def nothing(*arguments: Any, **named: Any) -> Iterator[Any]:
        raise AssertionError

    monkeypatch.setattr(module, "parallel", nothing)
    assert "".join(table.to_markdown() + "\n\n" for table in run.run()) == shown
    rows = RECIPE["rows"] | {"plain": {"system": "teacher", "beam": 3}}
    with pytest.raises(AssertionError):  # but for a row that is searched otherwise now
        RecipeRun(read_recipe(write(tmp_path, rows=rows)), data, tmp_path / "killed").run()
    other = read_recipe(write(tmp_path, training=RECIPE["training"] | {"lr": 0.02}))
    with pytest.raises(ConfigError, match="it differs in training"):
        RecipeRun(other, data, tmp_path / "killed").run()


def test_everything_wrong_is_listed_at_once(syntagma: Run, data: Path, tmp_path: Path) -> None:
    wrong = write(
        tmp_path,
        sistems={},
        metrics=["blue", "bleu"],
        prepare={"label_noise": 2.0, "vocab_size": -5},
        training={"preset": "tiny", "lr": -1, "schedule": "liner"},
        systems={"guided": {"widht": 3, "heads": 0}, "plain": {"architecture": "seq2seq"}},
        figure={"figures": ["bleu"], "x": "alhpa"},
        distil={"teacher": "nobody"},
        rows={
            "a": {"system": "gided"},
            "b": {"system": "plain", "beam": 0, "against": "c"},
            "d": {"sistem": "plain"},
            "e": {"system": "plain", "follow": "exemplars"},
            "f": {"system": "plain", "beam": 2, "nbest": 3},
        },
    )
    (data / "train.tsv").unlink()
    said = syntagma("reproduce", wrong, "--data", "data", "--out", "run", check=1).stderr
    for part in (
        "train.tsv: there is no such file",
        "'sistems' is no part of a recipe; did you mean 'systems'?",
        "there is no metric 'blue'",
        "prepare: 'label_noise' cannot be 2.0",
        "prepare: 'vocab_size' cannot be -5",
        "training: 'lr' cannot be -1",
        "training: 'schedule' cannot be 'liner'",
        "systems, guided: 'widht' is not a setting",
        "systems, guided: 'heads' cannot be 0",
        "figure: 'alhpa' is no setting that rows may differ in",
        "rows, f: a beam of 2 has no 3 texts",
        "distil: there is no system 'nobody'",
        "rows, a: there is no system 'gided'",
        "rows, b: there is no row 'c'",
        "rows, b: 'beam' cannot be 0",
        "rows, d: 'sistem' is not a setting",
        "rows, e: plain writes its target in one go",
    ):
        assert part in said
    assert not (tmp_path / "run").exists()


def test_everything_wrong_with_data_and_machine_is_listed_at_once(data: Path, tmp_path: Path) -> None:
    (data / "train.tsv").unlink()
    (data / "test.exemplars").write_text("one line\n")
    (data / "dev.tgt").write_text("too few\n")
    changes = {"training": RECIPE["training"] | {"init": "no-such-folder"}, "parser": "no-such-parser"}
    recipe = read_recipe(write(tmp_path, **changes, metrics=["d_syn"]))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recipe.json").write_text("{}")
    with pytest.raises(RecipeError) as caught:
        RecipeRun(recipe, data, tmp_path / "run", device="cuda:99").run()
    for part in (
        "train.tsv: there is no such file",
        "no-such-folder: there is no such folder",
        "1 lines (test.exem",
        "dev: the files have 4 lines (dev.src), 1 lines (dev.tgt)",
        "parser no-such-parser: ",
        "the device 'cuda:99' is not here",
        "another recipe was begun here (it differs in ",
    ):
        assert part in str(caught.value)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["recipe.json"]


@pytest.mark.parametrize("name", bundled_recipes())
def test_the_recipes_of_the_package_are_sound(name: str, tmp_path: Path) -> None:
    recipe = read_recipe(name)
    with pytest.raises(RecipeError) as caught:
        check_data(recipe, tmp_path)
    for file in recipe.files():
        assert f"{tmp_path / file}: there is no such file" in str(caught.value)


def test_the_guide_shows_a_sound_recipe_and_sound_lines(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")
    (tmp_path / "guide.yaml").write_text(guide.split("```yaml\n")[1].split("```")[0])
    assert set(read_recipe(str(tmp_path / "guide.yaml")).systems) == {"seq2seq", "guided"}
    lines = guide.split("```json\n")[1].split("```")[0].splitlines()
    assert len([SteeredText.parse(line) for line in lines]) == 3


def test_the_list_says_what_each_recipe_needs(syntagma: Run) -> None:
    listed = [json.loads(line) for line in syntagma("reproduce", "--list", "--json").stdout.splitlines()]
    assert {one["recipe"] for one in listed} == set(bundled_recipes())
    by_name = {one["recipe"]: one for one in listed}
    assert by_name["paranmt-small"]["files"][:2] == ["train.src", "train.tgt"]
    assert by_name["paranmt-bart"]["models"] == ["facebook/bart-base"]
    assert by_name["paraphrase-small"]["models"] == ["Helsinki-NLP/opus-mt-fr-en"]
    assert "paranmt-small" in syntagma("reproduce", "--list").stdout
    assert (
        "did you mean 'paranmt-small'?"
        in syntagma("reproduce", "paranmt-smal", "--data", ".", "--out", "x", check=1).stderr
    )


def test_systems_may_have_corpora_of_their_own(data: Path, tmp_path: Path) -> None:
    free = {"options": {"valid_brackets": False, "max_tokens": 60}}
    recipe = read_recipe(
        write(
            tmp_path,
            training=RECIPE["training"] | {"steps": 3},
            distil=None,
            systems={
                "noisy": {"architecture": "extra-encoder", "prepare": {"label_noise": 1.0}},
                "linearised": {"architecture": "linearised", "prepare": {"labels": ["*"], "vocab_size": 400}},
            },
            rows={
                "noisy": {"system": "noisy", "beam": 1, "options": {"max_depth": 3, "max_tokens": 8}},
                "free": {"system": "linearised", "beam": 2} | free,
                "valid": {"system": "linearised", "beam": 2, "options": {"max_tokens": 60}},
            },
            metrics=["bleu"],
            facts=["params", "output_tokens"],
            tests={"test": {"pairs": "test.tsv"}},
        )
    )
    (table,) = RecipeRun(recipe, data, tmp_path / "run", resamples=0).run()
    plain, noisy, linearised = (
        Corpus.open(tmp_path / "run" / name) for name in ("corpus", "corpus-noisy", "corpus-linearised")
    )
    assert noisy.fingerprint == plain.fingerprint
    assert [pair.full for pair in noisy.split("dev")] == [pair.full for pair in plain.split("dev")]
    assert all(a.tree != b.tree for a, b in zip(noisy.split("train"), plain.split("train"), strict=True))
    assert {"SQ", "PRP", "DT", "."} <= set(linearised.labels)
    full, words = linearised.split("train").examples.lengths(), plain.split("train").examples.lengths()
    assert full.linear.sum() > 3 * words.target.sum(), "all labels and parts of speech are written"
    by_name = {row.system: row.figures for row in table.rows}
    assert by_name["free"]["params"] == by_name["valid"]["params"] > 0
    for line in (tmp_path / "run" / "outputs" / "test" / "valid.jsonl").read_text().splitlines():
        assert Tree.read(json.loads(line)["hypotheses"][0]["tree"]).label


def test_pairs_may_be_selected_turned_and_grouped(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("s1\tt1\ttest\ns2\tt2\tvalid\ns1\tt3\ttest\n")
    (tmp_path / "b.tsv").write_text("s4\tt4\ttest\n")

    def read(**settings: Any) -> tuple[list[str], list[tuple[str, ...]]]:
        texts = read_test(Texts.from_dict(settings), tmp_path)
        return texts.sources, texts.references

    both = ["a.tsv", "b.tsv"]
    assert read(pairs=both, where="2=test", group=True) == (["s1", "s4"], [("t1", "t3"), ("t4",)])
    assert read(pairs="a.tsv", swapped=True, where="2=valid,tune") == (["t2"], [("s2",)])
    assert read(pairs="b.tsv", columns=[2, 0]) == (["test"], [("s4",)])
    assert read(pairs="b.tsv", both_ways=True) == (["s4", "t4"], [("t4",), ("s4",)])


def test_a_recipe_may_extend_another(tmp_path: Path) -> None:
    write(tmp_path)
    child = tmp_path / "child.yaml"
    child.write_text(yaml.safe_dump({"extends": "tiny.yaml", "title": "Child", "rows": {"guided, ref-1": None}}))
    recipe = read_recipe(str(child))
    assert (recipe.name, recipe.title) == ("child", "Child")
    assert list(recipe.rows) == ["plain", "guided, beam 2", "guided, exemplars"]
    child.write_text("extends: child.yaml\n")
    with pytest.raises(ConfigError, match="the recipe extends itself"):
        read_recipe(str(child))


@pytest.mark.parametrize("name", bundled_recipes())
def test_a_trial_of_each_recipe_is_sound_and_small(name: str) -> None:
    recipe = read_recipe(name)
    small = read_recipe(name, trial(recipe))
    assert (small.rows, small.tests, small.metrics) == (recipe.rows, recipe.tests, recipe.metrics)
    for system in small.trained():
        config = small.train_config(system, Path(), Path())
        assert (config.minutes, config.accumulate) == (None, 1)
        assert config.steps is not None
        assert config.steps <= 4
        assert config.preset == "tiny" or config.init or config.backbone
        assert small.corpus_options(Path()).max_rows == 100
