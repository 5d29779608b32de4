"""Model folders that somebody has tampered with: one sentence, soon, and without asking for all memory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from search_models import TEXTS, random_model
from syntagma.errors import SyntagmaError
from syntagma.network.storage import save_pretrained
from syntagma.parse import load_parser
from syntagma.search import Generator
from syntagma.text import Subwords, split


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "model"
    subwords = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
    save_pretrained(folder, random_model(subwords), subwords, "# Random\n", about={"search": {"beam": 2}})
    return folder


def model(key: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    def change(values: dict[str, Any]) -> Any:
        values["model"][key] = value
        return values

    return change


def top(**entries: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda values: values | entries


CHANGES = {
    "no mapping": lambda values: [values],
    "no model": lambda values: {"format": 1, "tokenizer": values["tokenizer"]},
    "a list for the model": top(model=[1, 2]),
    "text for about": top(about="x"),
    "a number for the search": top(about={"search": 3}),
    "no graphs": top(graphs=None),
    "a list for the graphs": top(graphs=["x"]),
    "an unknown search": top(about={"search": {"bream": 3}}),
    "a beam without end": top(about={"search": {"beam": 10**30}}),
    "text for a number": model("width", "32"),
    "no heads": model("heads", 0),
    "negative layers": model("source_layers", -1),
    "layers without end": model("source_layers", 10**12),
    "a huge width": model("width", 2**40),
    "a huge vocabulary": model("vocabulary", 2**50),
    "huge positions": model("max_positions", 2**50),
    "a huge share": model("dropout", 10**400),
    "not a number": model("dropout", float("nan")),
    "a list for the labels": model("labels", [[1]]),
    "a mapping for the tokenizer": top(tokenizer={}),
    "another format": top(format=[1]),
}


def refuses(folder: Path) -> str:
    with pytest.raises(SyntagmaError) as caught:
        Generator.from_pretrained(folder)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 600
    return sentence


@pytest.mark.parametrize("name", CHANGES)
def test_hostile_settings(name: str, good: Path, tmp_path: Path) -> None:
    shutil.copytree(good, tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    path.write_text(json.dumps(CHANGES[name](json.loads(path.read_text()))))
    refuses(tmp_path / "model")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"{" * 100_000,
        b'{"format": ' + b"[" * 100_000,
        b'{"format": 1' + b"0" * 10_000 + b"}",
        b"null",
    ],
)
def test_files_that_are_no_settings(content: bytes, good: Path, tmp_path: Path) -> None:
    shutil.copytree(good, tmp_path / "model")
    (tmp_path / "model" / "config.json").write_bytes(content)
    assert "config.json" in refuses(tmp_path / "model")
    parser = tmp_path / "parser"
    parser.mkdir()
    (parser / "config.json").write_bytes(content)
    with pytest.raises(SyntagmaError):
        load_parser(str(parser))


def test_changed_weights_are_seen(good: Path, tmp_path: Path) -> None:
    """One bit, anywhere in the numbers, leaves a file of the right shape; the checksum tells."""
    shutil.copytree(good, tmp_path / "model")
    path = tmp_path / "model" / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[len(content) * 2 // 3] ^= 1
    path.write_bytes(content)
    told = "it is not the file that config.json has the checksum of; restore or download it again"
    assert refuses(tmp_path / "model") == f"{path}: {told}"
    settings = tmp_path / "model" / "config.json"
    values = json.loads(settings.read_text())
    del values["weights_sha256"]
    settings.write_text(json.dumps(values))
    Generator.from_pretrained(tmp_path / "model")  # an older folder has none
