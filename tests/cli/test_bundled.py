"""The models in the package, as a newcomer meets them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from syntagma.hub import find_folder
from syntagma.search import Generator
from syntagma.template import Template
from syntagma.tree import Tree

Run = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[2]
SENTENCE = "It seems like he has made a mistake."


def test_paraphrase(syntagma: Run) -> None:
    lines = syntagma("paraphrase", "--nbest", "5", SENTENCE).stdout.split("\n")
    found = [line for line in lines if line]
    assert len(set(found)) == 5
    assert SENTENCE not in found
    assert all(line[0].isupper() and line[-1] in ".!?" for line in found)
    (record,) = map(json.loads, syntagma("paraphrase", "--json", "--trace", SENTENCE).stdout.splitlines())
    best = record["hypotheses"][0]
    assert best["levels"][0] == "<T>"
    assert "".join(Tree.read(best["tree"]).words()) == best["text"].replace(" ", "")


def test_paraphrases_can_be_steered(syntagma: Run) -> None:
    asked = syntagma("paraphrase", "--start", "<NP> <VP> , right ?", SENTENCE).stdout
    assert asked.endswith(", right?\n")
    with_word = syntagma("paraphrase", "--must", "error", SENTENCE).stdout
    assert "error" in with_word
    generator = Generator.from_pretrained("paraphrase-en")
    template = Template.parse("(S (NP) (VP *) ...)", generator.vocabulary.labels)
    best = generator(SENTENCE, template=template, control="hard")[0]
    assert best.levels[2].startswith("<NP> <VP>")


def test_translate(syntagma: Run) -> None:
    found = syntagma("translate", "Ich habe keine Zeit.", "Das ist mein Buch.").stdout.splitlines()
    assert found == ["I don't have time.", "This is my book."]


@pytest.mark.parametrize("name", ["paraphrase-en", "translate-de-en"])
def test_models_are_small_and_described(name: str) -> None:
    folder = find_folder(name, "model", "model")
    assert sum(file.stat().st_size for file in folder.iterdir()) < 60_000_000
    card = (folder / "README.md").read_text(encoding="utf-8")
    for heading in ("## Data and licences", "## Figures", "## How it was trained", "## Examples", "## Limits"):
        assert heading in card


def test_the_demo(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "syntagma.demo"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert all(f"\n{number}. " in shown.stdout for number in range(1, 6))
    assert "<T>" in shown.stdout


@pytest.mark.parametrize(
    ("system", "model"), [("guided", "translate-de-en"), ("seq2seq", str(ROOT / "baselines" / "seq2seq-de-en"))]
)
def test_the_models_of_a_table_write_what_is_stored(system: str, model: str) -> None:
    if system == "seq2seq":
        pytest.importorskip("torch")  # its folder has no graphs
    outputs = ROOT / "results" / "translate" / "outputs" / "tatoeba"
    stored = (outputs / f"{system}-beam-5.txt").read_text(encoding="utf-8").split("\n")
    file = ROOT / "tests" / "data" / "tatoeba" / "de-en.tsv"
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    outputs = Generator.from_pretrained(model).stream([source for _, source, _ in rows])
    assert [output[0].text for output in outputs if isinstance(output, list)] == [stored[int(n)] for n, _, _ in rows]
