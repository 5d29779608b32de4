"""Steering for each line: files of templates and exemplars, JSON lines."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from search_models import TEXTS, random_model
from syntagma.cli.output import target
from syntagma.errors import ConfigError, SyntagmaError
from syntagma.network.storage import save_pretrained
from syntagma.search import Generator
from syntagma.search.steered import SteeredText, Text
from syntagma.search.steering import EXEMPLARS
from syntagma.text import Subwords, split

Run = Callable[..., "subprocess.CompletedProcess[str]"]
LINES = [
    {"source": "I ate an apple.", "start": "<NP> ate ."},
    {"source": "He can't.", "template": "(S (NP) (VP))", "control": "hard"},
    {"source": "I ate.", "must": ["apple"], "start": None},
    {"source": "I ate an apple."},
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("steered") / "model"
    subwords = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
    about = {"search": {"max_depth": 4, "max_tokens": 10, "beam": 3}}
    save_pretrained(folder, random_model(subwords, 4), subwords, "# Random\n", about=about)
    return folder


def _records(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_line_has_what_it_asks_for_alone(syntagma: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LINES))
    together = _records(syntagma("generate", "--model", model, "-i", "in.jsonl", "--json").stdout)
    generator = Generator.from_pretrained(model)
    for line, record in zip(LINES, together, strict=True):
        asked = {name: value for name, value in line.items() if name != "source" and value is not None}
        expected = generator(line["source"], **asked)[0].text  # type: ignore[arg-type]
        assert record["source"] == line["source"]
        assert record["hypotheses"][0]["text"] == expected  # type: ignore[index]
    assert together[0]["hypotheses"][0]["text"].endswith(" ate.")  # type: ignore[index]
    assert [sorted(record.get("steering", ())) for record in together] == [  # type: ignore[call-overload]
        ["start"], ["control", "template"], ["must"], [],
    ]  # fmt: skip


def test_bad_lines_are_one_sentence_each_and_others_go_on(syntagma: Run, model: Path) -> None:
    lines = [
        '{"source": "I ate.", "tempalte": "(S)"}',
        "[1, 2]",
        "{",
        '{"source": "I ate.", "template": "(S (NP)"}',
        '{"source": "I ate.", "template": "(S)", "start": "<NP>"}',
        '{"source": "I ate.", "control": "firm"}',
        '{"source": "I ate.", "must": "apple"}',
    ]
    done = syntagma("generate", "--model", model, "jsonl=true", "--json", stdin="\n".join(lines), check=1)
    said = done.stderr.splitlines()
    assert [line.split(": ")[1] for line in said] == [f"line {number}" for number in range(1, 7)]
    assert "did you mean 'template'?" in said[0]
    assert "this line has no text" in said[1]
    assert "this is not JSON" in said[2]
    assert "never closed" in said[3]
    assert "both given" in said[4]
    assert "soft, hard or none" in said[5]
    records = _records(done.stdout)
    assert [len(record["hypotheses"]) for record in records] == [0] * 6 + [1]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["template", "exemplar"])
def test_a_file_of_steering_is_aligned_with_the_texts(syntagma: Run, model: Path, tmp_path: Path, name: str) -> None:
    asked = {"template": ["(S (NP) (VP))", "", "(NP (NP) (PP))"], "exemplar": ["He left.", "", "The end of it."]}[name]
    sources = ["I ate an apple.", "He can't.", "I ate."]
    (tmp_path / "in.txt").write_text("\n".join(sources) + "\n")
    (tmp_path / "shapes.txt").write_text("\n".join(asked) + "\n")
    common = ("generate", "--model", model, "-i", "in.txt", f"{name}s=shapes.txt", "--control", "hard", "--json")
    records = _records(syntagma(*common).stdout)
    spread = _records(syntagma(*common, "workers=2").stdout)
    generator = Generator.from_pretrained(model)
    for source, shape, record, other in zip(sources, asked, records, spread, strict=True):
        steering = {name: shape, "control": "hard"} if shape else {}
        expected = generator(source, **steering)[0].text  # type: ignore[arg-type]
        assert record["hypotheses"][0]["text"] == expected  # type: ignore[index]
        assert other["hypotheses"][0]["text"] == expected  # type: ignore[index]
    (tmp_path / "shapes.txt").write_text(asked[0] + "\n")
    assert "it has 1 lines and there are more texts" in syntagma(*common, check=1).stderr
    (tmp_path / "shapes.txt").write_text("\n" * 4)
    assert "there are fewer texts" in syntagma(*common, check=1).stderr
    both = syntagma(*common, "jsonl=true", check=1).stderr
    assert both.endswith("each say how a line is steered; give one of them\n")


def test_resumed_only_with_the_same_steering(tmp_path: Path) -> None:
    texts = [SteeredText("a", start="<NP>"), SteeredText("b", must=("c",)), SteeredText("d")]
    out = tmp_path / "out"

    def run(texts: list[SteeredText], stop: int = 3) -> None:
        with target(out, {}, True, False) as records:
            for number, text in enumerate(records.rest(texts)):
                if number == stop:
                    raise KeyboardInterrupt
                if isinstance(text, SteeredText):
                    records.write(text, f"{text}\n", False)

    with pytest.raises(KeyboardInterrupt):
        run(texts, 2)
    with pytest.raises(ConfigError, match="line 2 of the input is not the one"):
        run([texts[0], SteeredText("b", must=("e",)), texts[2]])
    run(texts)
    assert out.read_text() == "".join(f"{text}\n" for text in texts)


def test_exemplars_are_parsed_together(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from syntagma.search import steering as module

    parser, batches = module.exemplar_parser(), []

    class Counting:
        def parse(self, sentences: list[list[str]]) -> object:
            batches.append(len(sentences))
            return parser.parse(sentences)

    monkeypatch.setattr(module, "exemplar_parser", Counting)
    generator = Generator.from_pretrained(model)
    texts: list[Text] = [SteeredText("I ate.", exemplar="He left.", exemplar_depth=1) for _ in range(EXEMPLARS + 3)]
    assert all(isinstance(found, list) for found in generator.stream(texts))
    assert batches == [EXEMPLARS, 3]
    texts[1], texts[2] = SteeredText("I ate.", exemplar=" "), "I ate."
    results = list(generator.stream(texts))
    assert [number for number, found in enumerate(results) if isinstance(found, SyntagmaError)] == [1]
