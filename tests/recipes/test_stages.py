"""Each step of a recipe on tiny data, stopped and gone on with; each small recipe from end to end in miniature."""

from __future__ import annotations

import gzip
import json
import os
import signal
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest
import yaml

from syntagma import hub
from syntagma.corpus import Corpus
from syntagma.recipes import outputs
from syntagma.recipes.reading import bundled_recipes, read_recipe
from syntagma.recipes.recipe import Recipe
from syntagma.recipes.run import RecipeRun, Step, Stopped
from syntagma.recipes.trial import trial
from syntagma.train import distillation

SUBJECTS = ("I", "the dog", "my friend", "our teacher", "a child", "the old man")
VERBS = (("saw", "a fish"), ("ate", "the apple"), ("found", "it"), ("liked", "some bread"), ("lost", "two keys"))
PAIRS = [
    (f"{thing} was what {who} {verb} .", f"{who} {verb} {thing} .") for who, (verb, thing) in product(SUBJECTS, VERBS)
]
ALIKE = ("small-ro-en", "small-zh-en")
"""Small recipes that differ from small-de-en in their files only."""
TINY: dict[str, Any] = {
    "title": "Thirty pairs",
    "hours": "none",
    "train": {"pairs": "train.tsv"},
    "dev": {"pairs": "dev.tsv"},
    "tests": {"test": {"pairs": "test.tsv"}},
    "prepare": {"vocab_size": 330, "chunk_rows": 5, "labels": ["S", "NP", "VP"]},
    "training": {
        "preset": "tiny", "steps": 6, "batch_tokens": 200, "warmup": 2, "validate_every": 3, "save_every": 2,
        "threads": 1,
    },
    "systems": {"teacher": {"architecture": "seq2seq"}, "guided": {"architecture": "extra-encoder"}},
    "distil": {"teacher": "teacher", "beam": 1},
    "rows": {
        "plain": {"system": "teacher", "beam": 2, "options": {"max_tokens": 8}},
        "guided": {"system": "guided", "beam": 2, "options": {"max_depth": 4, "max_tokens": 8}},
    },
    "metrics": ["bleu", "d_lex"],
}  # fmt: skip


def write_pairs(path: Path, pairs: list[tuple[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{source}\t{target}\tvalid\n" for source, target in pairs).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def stopped(*arguments: Any, **named: Any) -> Any:
    raise AssertionError("what is done was begun again")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stages")
    for name, part in (("train", PAIRS[:20]), ("dev", PAIRS[20:25]), ("test", PAIRS[25:])):
        write_pairs(folder / f"{name}.tsv", part)
    (folder / "tiny.yaml").write_text(yaml.safe_dump(TINY, sort_keys=False))
    return folder


def run(folder: Path, until: Step) -> list[Any]:
    """Take the steps up to one of a recipe in one folder; each test stops one step, goes on, and does it once."""
    return RecipeRun(read_recipe(str(folder / "tiny.yaml")), folder, folder / "run", resamples=10).run(until)


def test_prepare_goes_on_after_a_stop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from syntagma.corpus import build

    with monkeypatch.context() as patched:
        patched.setattr(build, "_shard", stopped)
        with pytest.raises(AssertionError):
            run(folder, "prepare")
    parsed = {path: path.stat().st_mtime_ns for path in (folder / "run" / "corpus" / "work").glob("chunk-*.parquet")}
    assert len(parsed) == 5, "five rows each"
    with monkeypatch.context() as patched:
        patched.setattr(build.Parsing, "__call__", stopped)
        assert run(folder, "prepare") == []
    corpus = Corpus.open(folder / "run" / "corpus")
    assert {name: len(corpus.split(name)) for name in corpus.splits} == {"train": 20, "dev": 5}
    assert not (folder / "run" / "models").exists()


def test_distil_goes_on_after_a_stop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def some(self: Any, sources: Any, workers: int) -> Iterator[Any]:
        yield from islice(given(self, sources, workers), 7)
        raise KeyboardInterrupt

    run(folder, "prepare")
    given = distillation.Teacher.write
    with monkeypatch.context() as patched:
        patched.setattr(distillation.Teacher, "write", some)
        with pytest.raises(KeyboardInterrupt):
            run(folder, "distil")
    part = folder / "run" / "distilled.pairs" / "train.part"
    begun = part.read_text(encoding="utf-8").splitlines()
    assert len(begun) == 7
    run(folder, "distil")
    lines = (folder / "run" / "distilled.pairs" / "train.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[:7] == begun
    assert [line.split("\t")[0] for line in lines] == [source for source, _ in PAIRS[:20]]
    assert [path.name for path in (folder / "run" / "models").iterdir()] == ["teacher"]
    assert Corpus.open(folder / "run" / "distilled").fingerprint == Corpus.open(folder / "run/corpus").fingerprint


def test_train_goes_on_after_a_stop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from syntagma.train import trainer

    class Asked(trainer.Stepper):
        def step(self, number: int, *rest: object, **more: object) -> object:  # type: ignore[override]
            if number == 4:
                os.kill(os.getpid(), signal.SIGTERM)
            return super().step(number, *rest, **more)  # type: ignore[arg-type]

    run(folder, "distil")
    with monkeypatch.context() as patched:
        patched.setattr(trainer, "Stepper", Asked)
        with pytest.raises(Stopped):
            run(folder, "train")
    assert not (folder / "run" / "models" / "guided" / "config.json").exists()
    with monkeypatch.context() as patched:
        given, resumed = trainer.Trainer.resume, []

        def noted(self: Any) -> bool:
            resumed.append(given(self))
            return resumed[-1]

        patched.setattr(trainer.Trainer, "resume", noted)
        run(folder, "train")
    assert resumed == [True]
    model = folder / "run" / "models" / "guided"
    weights = (model / "model.safetensors").read_bytes()
    assert json.loads((model / "train.json").read_text())["data"] == str(folder / "run" / "distilled")
    monkeypatch.setattr(trainer.Trainer, "run", stopped)
    run(folder, "train")
    assert (model / "model.safetensors").read_bytes() == weights
    assert not (folder / "run" / "outputs").exists()


def test_generate_goes_on_after_a_stop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def some(*arguments: Any, **named: Any) -> Iterator[Any]:
        yield from islice(given(*arguments, **named), 2)
        raise KeyboardInterrupt

    run(folder, "train")
    given = outputs.parallel
    with monkeypatch.context() as patched:
        patched.setattr(outputs, "parallel", some)
        with pytest.raises(KeyboardInterrupt):
            run(folder, "generate")
    made = folder / "run" / "outputs" / "test"
    (part,) = made.glob(".*.part")
    begun = part.read_text(encoding="utf-8").splitlines()
    assert len(begun) == 2
    assert run(folder, "generate") == []
    assert (made / "plain.jsonl").read_text(encoding="utf-8").splitlines()[:2] == begun
    assert len((made / "guided.jsonl").read_text(encoding="utf-8").splitlines()) == 5
    assert not (folder / "run" / "tables.md").exists()


def test_table_is_made_from_the_outputs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(folder, "generate")
    monkeypatch.setattr(outputs, "parallel", stopped)
    (table,) = run(folder, "table")
    assert [row.system for row in table.rows] == ["plain", "guided"]
    assert table.to_markdown() in (folder / "run" / "tables.md").read_text(encoding="utf-8")
    assert json.loads((folder / "run" / "tables.jsonl").read_text())["segments"] == 5


def miniature(name: str) -> Recipe:
    """A small recipe as `--trial` makes it and smaller; no pretrained weights, no figures that take long to load."""
    recipe = read_recipe(name)
    quick = {"options": {"max_depth": 5, "max_tokens": 8}, "search": None}
    cheap = {
        "prepare": {"pieces": None, "share_pieces": None, "vocab_size": 400},
        "training": {"init": None, "preset": "tiny", "steps": 2, "validate_every": 2, "precision": "fp32"},
        "rows": {row: quick | {"beam": 2, "nbest": 1} for row in recipe.rows},
        "metrics": [metric for metric in recipe.metrics if metric != "meteor"],
    }
    return read_recipe(name, trial(recipe), cheap)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in bundled_recipes() if name.startswith("small-") and name not in ALIKE]
)
def test_a_small_recipe_goes_from_end_to_end_in_miniature(name: str, tmp_path: Path) -> None:
    recipe = miniature(name)
    for file in recipe.files():
        part = PAIRS[:20] if "train" in file or "10k" in file else PAIRS[20:25] if "dev" in file else PAIRS[25:]
        turned = [(target, source) for source, target in part] if recipe.prepare.get("columns") else part
        write_pairs(tmp_path / file, turned)
        if file.endswith((".src", ".tgt")):
            side = file.endswith(".tgt")
            (tmp_path / file).write_text("".join(f"{pair[side]}\n" for pair in part))
    if recipe.parser == "parser-de":
        (tmp_path / "parser-de").symlink_to(Path(hub.__file__).parent / "bundled" / "parser-en")
    run = RecipeRun(recipe, tmp_path, tmp_path / "run", resamples=5, limit=2)
    tables = run.run()
    assert len(tables) == len(recipe.tests) + (len(recipe.tests) > 1)
    for table, test in zip(tables, recipe.tests.values(), strict=False):
        ours = [row.system for row in table.rows if row.system in recipe.rows]
        assert table.segments == 2
        assert ours == list(recipe.rows)
        assert {row.system for row in table.rows} >= {f"paper: {printed}" for printed in test.printed}
    assert [table.to_json() for table in run.run()] == [table.to_json() for table in tables]
