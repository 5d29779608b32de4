from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from search_models import random_model
from syntagma.corpus import Corpus, CorpusOptions, prepare
from syntagma.corpus.options import Input
from syntagma.errors import SyntagmaError
from syntagma.network.storage import save_pretrained
from syntagma.train.distillation import Teacher, distill

Run = Callable[..., "subprocess.CompletedProcess[str]"]
SENTENCES = ["I ate an apple", "He can not go", "She made a mistake", "We like it", "They saw a dog", "You read books"]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """A corpus with trees from a file, so that no parser is needed to make it."""
    rows, trees = [], []
    for number in range(24):
        words = [*SENTENCES[number % 6].split(), f"x{number}"]
        rows.append(f"{' '.join(reversed(words))}\t{' '.join(words)}\n")
        trees.append(f"(TOP (S (NP (PRP {words[0]})) (VP {' '.join(f'(X {word})' for word in words[1:])})))\n")
    (tmp_path / "pairs.tsv").write_text("".join(rows))
    (tmp_path / "trees").write_text("".join(trees))
    options = CorpusOptions(
        inputs=(Input(str(tmp_path / "pairs.tsv")),), parser=f"brackets:{tmp_path / 'trees'}", vocab_size=320, dev=4
    )
    return prepare(options, tmp_path / "corpus", workers=1)


@pytest.fixture
def teacher(tmp_path: Path, corpus: Corpus) -> Path:
    network = random_model(corpus.subwords, 2, "seq2seq")
    about = {"search": {"beam": 2, "max_tokens": 8, "score": "mean"}}
    save_pretrained(tmp_path / "teacher", network, corpus.subwords, "# A teacher\n", about=about)
    return tmp_path / "teacher"


def test_the_teachers_outputs_become_a_corpus_and_a_stop_costs_nothing(
    syntagma: Run, corpus: Corpus, teacher: Path, tmp_path: Path
) -> None:
    syntagma("distill", corpus.folder, "--teacher", teacher, "--out", "student", "--workers", "1")
    made = Corpus.open(tmp_path / "student")
    assert made.fingerprint == corpus.fingerprint
    assert [pair.target for pair in made.split("dev")] == [pair.target for pair in corpus.split("dev")]
    loaded = Teacher.load(str(teacher))
    sources = [pair.source for pair in corpus.split("train")]
    expected = [found[0].text for found in loaded.generator.stream(sources) if isinstance(found, list)]
    lines = (tmp_path / "student.pairs" / "train.tsv").read_text().splitlines()
    assert [line.split("\t")[1] for line in lines] == [" ".join(text.split()) for text in expected]

    again = tmp_path / "again.pairs"
    again.mkdir()
    (again / "run.txt").write_text((tmp_path / "student.pairs" / "run.txt").read_text())
    (again / "train.part").write_text("\n".join(lines[:7]) + "\n" + lines[7][:3])
    distill(loaded, corpus, tmp_path / "again", workers=2)
    assert (again / "train.tsv").read_text() == "\n".join(lines) + "\n"


def test_a_source_with_several_targets_is_written_once(teacher: Path, corpus: Corpus, tmp_path: Path) -> None:
    rows = [(f"x{n} apple an", f"{SENTENCES[n % 6]} {m}") for n in range(6) for m in (1, 2)]
    (tmp_path / "twice.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in rows))
    tokenizer = str(corpus.folder / "tokenizer.json")
    options = CorpusOptions(inputs=(Input(str(tmp_path / "twice.tsv")),), tokenizer=tokenizer)
    twice = prepare(options, tmp_path / "twice", workers=1)
    loaded = Teacher.load(str(teacher))

    def lines(name: str, **choices: Any) -> list[list[str]]:
        distill(loaded, twice, tmp_path / name, workers=1, **choices)
        return [line.split("\t") for line in (tmp_path / f"{name}.pairs" / "train.tsv").read_text().splitlines()]

    every = lines("all")
    assert [source for source, _ in every] == [f"x{n} apple an" for n in range(6)]
    some = lines("some", limit=3)
    assert len(some) == 3
    assert all(row in every for row in some)
    with pytest.raises(SyntagmaError, match="another teacher, corpus or search"):
        distill(loaded, twice, tmp_path / "some", limit=4)
    assert lines("rest", limit=3, keep_rest=True) == some
    taken = {source for source, _ in some}
    kept = [pair for pair in Corpus.open(tmp_path / "rest").split("train") if pair.source not in taken]
    assert sorted((pair.source, pair.target) for pair in kept) == sorted(row for row in rows if row[0] not in taken)


def test_nearest_takes_what_is_most_like_a_target(corpus: Corpus, teacher: Path, tmp_path: Path) -> None:
    loaded = Teacher.load(str(teacher))
    sources = [pair.source for pair in corpus.split("train")]
    candidates = {
        source: [" ".join(output.text.split()) for output in found]
        for source, found in zip(sources, loaded.generator.stream(sources), strict=True)
        if isinstance(found, list)
    }
    # The corpus's targets become the teacher's last candidates, which it would not choose itself.
    wanted = {source: texts[-1] for source, texts in candidates.items() if len(set(texts)) > 1 and all(texts)}
    assert wanted
    (tmp_path / "last.tsv").write_text("".join(f"{source}\t{text}\n" for source, text in wanted.items()))
    options = CorpusOptions(
        inputs=(Input(str(tmp_path / "last.tsv")),),
        tokenizer=str(corpus.folder / "tokenizer.json"),
        keep_identical=True,
    )
    last = prepare(options, tmp_path / "last", workers=1)
    held = {pair.source: pair.target for pair in last.split("train")}
    distill(loaded, last, tmp_path / "near", nearest=0, workers=1)
    rows = [line.split("\t") for line in (tmp_path / "near.pairs" / "train.tsv").read_text().splitlines()]
    assert rows
    assert dict(rows) == held


def test_two_teachers_do_not_mix(corpus: Corpus, teacher: Path, tmp_path: Path) -> None:
    distill(Teacher.load(str(teacher)), corpus, tmp_path / "out", workers=1)
    about = {"search": Teacher.load(str(teacher)).generator.defaults.to_dict()}
    network = random_model(corpus.subwords, 3, "seq2seq")
    save_pretrained(tmp_path / "other", network, corpus.subwords, "# Another\n", about=about)
    for mixed in (Teacher.load(str(tmp_path / "other")), Teacher.load(str(teacher), beam=3)):
        with pytest.raises(SyntagmaError, match="another teacher, corpus or search"):
            distill(mixed, corpus, tmp_path / "out")


def test_a_teachers_card_does_not_count(teacher: Path, tmp_path: Path) -> None:
    shutil.copytree(teacher, tmp_path / "other")
    (tmp_path / "other" / "README.md").write_text("changed")
    plain, other = (Teacher.load(str(folder)) for folder in (teacher, tmp_path / "other"))
    assert plain.fingerprint == other.fingerprint
