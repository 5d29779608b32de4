from __future__ import annotations

import gzip
import json
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from search_models import TEXTS, random_generator
from syntagma.errors import InputError
from syntagma.experiment.outputs import System, read_outputs, stored, write_outputs
from syntagma.experiment.studies import STUDIES, Study
from syntagma.experiment.table import make_table
from syntagma.experiment.tasks import TASKS, task
from syntagma.metrics.report import title
from syntagma.search.parallel import Found
from syntagma.text import Subwords, split

Run = Callable[..., subprocess.CompletedProcess[str]]
ROOT = Path(__file__).parents[2]
SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
PAIRS = [("I ate an apple.", "An apple was eaten."), ("He can go.", "He is able to go."), ("Stop it!", "Stop that!")]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with three pairs in each file."""
    for path in (
        "paraphrase/tatoeba/test", "paraphrase/tatoeba/dev", "translation/tatoeba-de-en/test",
        "translation/multi30k-de-en/test_2016_flickr",
    ):  # fmt: skip
        file = tmp_path / "data" / f"{path}.tsv.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(file, "wt") as stream:
            stream.writelines(f"{source}\t{target}\tmore\n" for source, target in PAIRS)
    folder = tmp_path / "data" / "paraphrase" / "paranmt-small-test"
    folder.mkdir()
    (folder / "test.src").write_text("".join(f"{source} \n" for source, _ in PAIRS))
    (folder / "test.tgt").write_text("".join(f"{target} \n" for _, target in PAIRS))
    return tmp_path / "data"


def store(folder: Path, name: str, texts: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(text + "\n" for text in texts))


class TestTable:
    def test_copying_and_the_reference_frame_the_systems(self, data: Path, tmp_path: Path) -> None:
        paraphrase = task("paraphrase")
        tested = paraphrase.sets[1]
        pairs = tested.pairs(data)
        store(tmp_path / "out", "good.beam5.txt", [target for _, target in pairs])
        store(tmp_path / "out", "lazy.beam5.txt", [source for source, _ in pairs])
        table = make_table(
            paraphrase, tested, pairs, tmp_path / "out", against=lambda name: "lazy, beam 5", resamples=50
        )
        rows = {row.system: row for row in table.rows}
        assert rows["source copied"].figures["self_bleu"] == pytest.approx(100)
        assert rows["reference"].figures["bleu"] == pytest.approx(100)
        assert rows["good, beam 5"].figures == pytest.approx(rows["reference"].figures)
        assert rows["lazy, beam 5"].figures == pytest.approx(rows["source copied"].figures)
        assert rows["good, beam 5"].p["bleu"] < 0.1
        assert not rows["lazy, beam 5"].p
        assert rows["paper: guided, beam 5"].figures["ibleu"] == 8.6
        assert "| good, beam 5 | 100.0" in table.to_markdown()
        assert json.loads(table.to_json())["segments"] == 3
        plain = make_table(
            paraphrase, tested, pairs, tmp_path / "out", against=lambda name: "lazy, beam 5", resamples=0
        )
        assert plain.rows[1].figures == table.rows[1].figures
        assert not any(row.intervals or row.p for row in plain.rows)

    def test_tatoeba_serves_both_ways(self, data: Path) -> None:
        assert len(TASKS["paraphrase"].sets[0].pairs(data)) == 6
        assert len(TASKS["translate"].sets[0].pairs(data)) == 3

    def test_outputs_are_made_once_and_counted(self, tmp_path: Path) -> None:
        generator = random_generator(SUBWORDS, beam=2, max_depth=3, max_tokens=8)
        system = System("random", "nowhere", 2)
        path = write_outputs(system, PAIRS, tmp_path, generator.stream)
        before = path.read_text()
        path.write_text(before.upper())
        assert write_outputs(system, PAIRS, tmp_path, generator.stream).read_text() == before.upper()
        assert [name for name, _ in stored(tmp_path)] == ["random, beam 2"]
        with pytest.raises(InputError, match="3 lines for 2 sources"):
            read_outputs(path, PAIRS[:2])

    def test_interrupted_outputs_are_gone_on_with(self, tmp_path: Path) -> None:
        generator = random_generator(SUBWORDS, beam=2, max_depth=3, max_tokens=8)
        whole = write_outputs(System("whole", "nowhere", 2), PAIRS, tmp_path, generator.stream).read_text()
        asked: list[int] = []

        def stopping(sources: Iterable[str], after: int) -> Iterator[Found]:
            texts = list(sources)
            asked.append(len(texts))
            yield from generator.stream(texts[:after])
            if after < len(texts):
                raise KeyboardInterrupt

        system = System("random", "nowhere", 2, "v1")
        for after in (1, 1):
            with pytest.raises(KeyboardInterrupt):
                write_outputs(system, PAIRS, tmp_path, partial(stopping, after=after))
        assert not list(stored(tmp_path))[1:], "what is not whole has no name"
        part = tmp_path / ".random.beam2.txt.v1.part"
        part.write_bytes(part.read_bytes()[:-1])
        assert write_outputs(system, PAIRS, tmp_path, partial(stopping, after=9)).read_text() == whole
        assert asked == [3, 2, 2], "the line that was cut is made again"
        assert not part.exists()
        part.write_text("something old\n")
        (tmp_path / "random.beam2.txt").unlink()
        write_outputs(system._replace(version="v2"), PAIRS, tmp_path, partial(stopping, after=9))
        assert asked[-1] == 3, "another model begins anew"
        assert not part.exists()


class TestStudies:
    @pytest.mark.parametrize("name", list(STUDIES))
    def test_every_study_gives_figures_for_each_setting(self, name: str) -> None:
        generator = random_generator(SUBWORDS, beam=2, max_depth=4, max_tokens=8)
        found = list(STUDIES[name](Study(generator, [(text, text) for text in TEXTS[:3]], "none")))
        assert len(found) >= 2
        for figures in found:
            assert figures["study"] == name
            assert figures["segments"] == 3
        if name == "control":
            assert found[-1]["template_match"] == pytest.approx(100)
            assert all(0 <= figures["template_match_parsed"] <= 100 for figures in found)


def test_the_command_makes_outputs_and_a_table(data: Path, tmp_path: Path, syntagma: Run) -> None:
    from syntagma.network.storage import save_pretrained

    generator = random_generator(SUBWORDS, beam=2, max_depth=3, max_tokens=8)
    save_pretrained(tmp_path / "model", generator.runtime.network, generator.vocabulary, "card")
    made = syntagma("reproduce", "translate", "--data", data, "--system", f"random={tmp_path / 'model'}", "--json")
    tables = [json.loads(line) for line in made.stdout.splitlines()]
    assert [table["test"] for table in tables] == ["Tatoeba test", "Multi30k test 2016"]
    assert [row["system"] for row in tables[0]["systems"]] == ["random, beam 1", "random, beam 5"]
    again = syntagma("reproduce", "translate", "--data", data, "--resamples", "0")
    assert "| random, beam 5 |" in again.stdout
    short = ("--test", "tatoeba", "--limit", "2", "--beam", "3", "--system", f"other={tmp_path / 'model'}", "--json")
    (part,) = map(json.loads, syntagma("reproduce", "translate", "--data", data, *short).stdout.splitlines())
    assert part["segments"] == 2
    assert [row["system"] for row in part["systems"]] == ["random, beam 1", "other, beam 3", "random, beam 5"]
    whole = syntagma("reproduce", "translate", "--data", data, check=1)
    assert "it has 2 lines for 3 sources" in whole.stderr
    unknown = syntagma("reproduce", "translate", "--data", data, "--test", "wmt", check=1)
    assert "translate has no test set 'wmt'; choose from tatoeba, multi30k" in unknown.stderr
    missing = syntagma("reproduce", "paraphrase", "--data", data, check=1)
    assert "there are no stored outputs" in missing.stderr
    wrong = syntagma("reproduce", "translate", "--data", data, "--system", "nothing", check=1)
    assert "write NAME=MODEL" in wrong.stderr
    drawn = syntagma("reproduce", "trees", "--data", data, "--model", tmp_path / "model", "--plot", "x.svg", check=1)
    assert "there is no drawing of 'trees'" in drawn.stderr


def test_damaged_data_are_said(data: Path) -> None:
    paranmt = data / "paraphrase" / "paranmt-small-test"
    (paranmt / "test.tgt").write_text("one\n")
    with pytest.raises(InputError, match=r"it has 3 lines, test.tgt has 1"):
        TASKS["paraphrase"].sets[1].pairs(data)
    with gzip.open(data / "paraphrase" / "tatoeba" / "test.tsv.gz", "wt") as stream:
        stream.write("a\tb\nno tab here\n")
    with pytest.raises(InputError, match="this line has no tab"):
        TASKS["paraphrase"].sets[0].pairs(data)


@pytest.mark.parametrize("name", TASKS)
def test_the_results_show_what_the_stored_outputs_give(name: str, shared: Path) -> None:
    quick = {"bleu", "self_bleu", "ibleu", "chrf", "rouge1", "rougeL", "length_ratio", "copy_rate"}
    asked = replace(task(name), figures=tuple(figure for figure in task(name).figures if figure in quick))
    shown = _tables((ROOT / "docs" / "results.md").read_text(encoding="utf-8"))
    for tested in asked.sets:
        folder = ROOT / "results" / name / tested.name
        table = make_table(asked, tested, tested.pairs(shared), folder, resamples=0)
        own = [row for row in table.rows if row.system not in (tested.printed or {})]
        figures = {(row.system, title(figure)): f"{row.figures[figure]:.1f}" for row in own for figure in table.names}
        assert any(figures.items() <= one.items() for one in shown[tested.title])


def _tables(text: str) -> dict[str, list[dict[tuple[str, str], str]]]:
    """The result tables of a Markdown text by title: figures by row and column, without intervals and stars."""
    found: dict[str, list[dict[tuple[str, str], str]]] = {}
    for heading, table in re.findall(r"^\*\*(.+)\*\*, \d+ sentences\n\n((?:\|.*\n)+)", text, re.MULTILINE):
        columns, _, *rows = [line.strip("| ").split(" | ") for line in table.splitlines()]
        cells = {(row[0], column): cell for row in rows for column, cell in zip(columns, row, strict=False)}
        found.setdefault(heading, []).append({at: cell.split(" ")[0] for at, cell in cells.items()})
    return found
