"""The core runs where neither torch nor anything else that training needs can be imported."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

BLOCKED = ("torch", "transformers", "tokenizers", "huggingface_hub", "pyarrow", "onnx", "lightning_fabric", "datasets")
BLOCK = f"""
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
"""
PROGRAM = f"""{BLOCK}
sys.argv[0] = "syntagma"
from syntagma.cli import main
main()
"""
new_search = pytest.mark.skipif(
    find_spec("syntagma.search.scheduler") is None, reason="this search still computes with torch"
)


def core(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done


def test_parse() -> None:
    tree = core("parse", "I ate an apple.").stdout
    assert tree == "(TOP (S (NP (PRP I)) (VP (VBD ate) (NP (DT an) (NN apple))) (. .)))\n"


def test_levels(tmp_path: Path) -> None:
    (tmp_path / "trees").write_text("(TOP (S (NP I) (VP ate (NP an apple)) .))\n")
    assert "<c> I <c> ate <NP>" in core("levels", "-i", str(tmp_path / "trees")).stdout


def test_evaluate(tmp_path: Path) -> None:
    for name in ("hypotheses", "references", "sources"):
        (tmp_path / name).write_text("The cat sat on the mat .\n")
    files = [str(tmp_path / name) for name in ("hypotheses", "references", "sources")]
    scores = json.loads(core("evaluate", "--hyp", files[0], "--ref", files[1], "--src", files[2], "--json").stdout)
    assert scores["bleu"] == pytest.approx(100)
    assert scores["d_syn"] == 0  # which needs the parser


@new_search
def test_paraphrase_and_translate() -> None:
    made = json.loads(core("paraphrase", "--beam", "2", "--json", "It seems like he has made a mistake.").stdout)
    assert made["hypotheses"][0]["tree"].startswith("(TOP")
    assert core("translate", "--beam", "2", "Er hat einen Fehler gemacht.").stdout.strip()
    assert core("generate", "--model", "paraphrase-en", "--exemplar", "Did he do it?", "He made a mistake.").stdout


@new_search
@pytest.mark.parametrize("module", ["syntagma.search", "syntagma.search.generator", "syntagma.serve.run"])
def test_modules_of_the_core(module: str) -> None:
    code = f"{BLOCK}\nimport {module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""


@new_search
@pytest.mark.skipif(find_spec("fastapi") is None, reason="the extra serve is not installed")
def test_a_service_answers() -> None:
    command = [sys.executable, "-c", PROGRAM, "serve", "--port", "0", "--model", "translate-de-en"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            assert "serving translate-de-en at http://" in line, line
            address = line.strip().rsplit(" ", 1)[1].rstrip("/")
            assert ask(f"{address}/healthz")["status"] == "ok"
            found = ask(f"{address}/v1/generate", {"text": "Ich habe keine Zeit.", "beam": 2})
            (best, *_) = found["results"][0]["hypotheses"]
            assert best["text"] == "I don't have time."
            assert best["tree"].startswith("(TOP")
        finally:
            process.terminate()


def ask(address: str, body: Any = None) -> Any:
    """What a service answers; to a body, where there is one."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_the_hub_needs_its_package() -> None:
    done = core("generate", "--model", "some/model", "I nod.", check=False)
    assert done.returncode == 1
    assert "'some/model' is no folder here, and fetching it from the hub needs the package" in done.stderr


@pytest.mark.parametrize("command", ["parse", "generate"])
@pytest.mark.parametrize("more", [["--device", "cuda"], ["--precision", "bf16"]])
def test_devices_need_torch(command: str, more: list[str]) -> None:
    assert core(command, "--device", "cpu", "I nod.").stdout
    done = core(command, *more, "I nod.", check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("syntagma: a network that is no graph on the CPU needs the package torch, which is")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", [["train"], ["prepare"], ["export"]])
def test_what_needs_more_says_so(words: list[str], tmp_path: Path) -> None:
    more = {
        "train": ["--data", str(tmp_path), "--out", str(tmp_path / "out")],
        "prepare": [str(tmp_path / "pairs.tsv"), "--out", str(tmp_path / "out")],
        "export": ["--model", "paraphrase-en", "--out", str(tmp_path / "out")],
    }[words[0]]
    (tmp_path / "pairs.tsv").write_text("a b\tb a\n")
    done = core(*words, *more, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("which is not installed; install it with: pip install 'syntagma[train]'\n")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()
