from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from syntagma.cli import evaluate
from syntagma.errors import SyntagmaError

QUICK = "bleu,self_bleu,ibleu,rouge,d_lex"


@pytest.fixture
def run(tmp_path: Path):
    app = typer.Typer()
    evaluate.register(app)

    @app.callback()
    def root() -> None: ...

    def run(*arguments: str, **files: str) -> typer.testing.Result:
        for name, text in files.items():
            (tmp_path / name).write_text(text, "utf-8")
        filled = [str(tmp_path / argument[1:]) if argument.startswith("@") else argument for argument in arguments]
        result = CliRunner().invoke(app, ["evaluate", *filled])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


FILES = {
    "hyp": "a b c d e\nf g h i\n",
    "ref": "a b c d f\nf g h i\n",
    "src": "a b c d e\nh i f g\n",
    "base": "a b\nf g\n",
}
TEXT = ("--hyp", "@hyp", "--ref", "@ref", "--src", "@src")


def test_json_is_numbers_by_name_and_signatures(run) -> None:
    made = json.loads(run(*TEXT, "--metrics", QUICK, "--json", **FILES).stdout)
    assert list(made)[:7] == ["bleu", "self_bleu", "ibleu", "rouge1", "rouge2", "rougeL", "d_lex"]
    assert made["ibleu"] == pytest.approx(0.7 * made["bleu"] - 0.3 * made["self_bleu"])
    assert made["segments"] == 2
    assert made["intervals"]["bleu"][0] <= made["bleu"] <= made["intervals"]["bleu"][1]
    assert made["signatures"]["ibleu"].startswith("iBLEU|r:0.7|")
    assert "against" not in made


def test_what_needs_an_absent_file_is_absent(run) -> None:
    made = json.loads(
        run("--hyp", "@hyp", "--src", "@src", "--parser", "none", "--json", "--resamples", "0", **FILES).stdout
    )
    assert set(made) == {"self_bleu", "d_lex", "copy_rate", "segments", "signatures"}


def test_against_a_baseline(run) -> None:
    made = json.loads(
        run(*TEXT, "--against", "@base", "--metrics", "bleu,d_lex", "--json", "--resamples", "200", **FILES).stdout
    )
    found = made["against"]["bleu"]
    assert found["delta"] == pytest.approx(made["bleu"] - found["baseline"])
    assert found["interval"][0] <= found["delta"] <= found["interval"][1]
    assert 0 < found["p"] <= 1


def test_the_same_seed_gives_the_same_intervals(run) -> None:
    lines = {"hyp": "".join(f"a b {n % 9}\n" for n in range(50)), "ref": "a b 3\n" * 50}
    first, again, other = (
        json.loads(run(*TEXT[:4], "--metrics", "chrf", "--json", "--resamples", "50", "--seed", seed, **lines).stdout)
        for seed in "112"
    )
    assert first == again
    assert first["intervals"] != other["intervals"]
    assert first["resampling"] == {"resamples": 50, "seed": 1}


def test_tables(run) -> None:
    plain = run(*TEXT, "--metrics", "bleu,d_lex", **FILES).stdout
    assert [line.split()[0] for line in plain.splitlines() if "|" not in line and line.strip(" ─")][:3] == [
        "metric",
        "BLEU",
        "D_lex",
    ]
    assert "BLEU|level:corpus" in plain
    assert "copy rate ↓" in run(*TEXT, "--metrics", "copy_rate", **FILES).stdout
    markdown = run(*TEXT, "--metrics", "bleu", "--markdown", "--against", "@base", **FILES).stdout.splitlines()
    assert markdown[0] == "| metric | score | 95% interval | baseline | difference | 95% interval | p |"
    assert markdown[1] == "|:---|---:|---:|---:|---:|---:|---:|"
    latex = run(*TEXT, "--metrics", "d_lex", "--latex", "--resamples", "0", **FILES).stdout
    assert r"D\_lex & 0.0 \\" in latex


@pytest.mark.parametrize("name", ["segments.tsv", "segments.jsonl"])
def test_segments_file(run, tmp_path: Path, name: str) -> None:
    run(*TEXT, "--metrics", "d_lex,bleu", "--segments", f"@{name}", **FILES)
    lines = (tmp_path / name).read_text("utf-8").splitlines()
    if name.endswith("tsv"):
        assert lines == ["segment\tbleu\td_lex", "1\t66.8740\t0.0000", "2\t100.0000\t0.0000"]
    else:
        assert [json.loads(line)["segment"] for line in lines] == [1, 2]
        assert json.loads(lines[1])["bleu"] == pytest.approx(100.0)


def test_several_references_together_and_alone(run) -> None:
    arguments = ("--hyp", "@hyp", "--ref", "@ref", "--ref", "@src", "--metrics", "bleu", "--each-ref", "--json")
    made = json.loads(run(*arguments, **FILES).stdout)
    assert made["bleu"] == pytest.approx(100.0)
    assert made["bleu[ref-0]"] < 100 > made["bleu[ref-1]"]


def test_trees_from_files(run) -> None:
    trees = {"ht": "(TOP (NP (DT a) (NN b)))\n", "st": "(TOP (NP (NN b)))\n"}
    arguments = (
        "--hyp",
        "@h",
        "--src",
        "@s",
        "--hyp-trees",
        "@ht",
        "--src-trees",
        "@st",
        "--metrics",
        "d_syn",
        "--json",
    )
    made = json.loads(run(*arguments, h="a b\n", s="b\n", **trees).stdout)
    assert made["d_syn"] == pytest.approx(20.0)
    assert json.loads(run(*arguments, "--depth", "0", h="a b\n", s="b\n", **trees).stdout)["d_syn"] == 0.0
    assert "trees:given" in made["signatures"]["d_syn"]


def test_nbest(run) -> None:
    line = {
        "source": "a b",
        "hypotheses": [
            {"text": "b a", "score": -1.0, "tree": "(TOP (NP b a))"},
            {"text": "b b", "score": -2.0, "tree": "(TOP (NP (NP b) b))"},
        ],
    }
    arguments = (
        "--nbest",
        "@n",
        "--ref",
        "@r",
        "--parser",
        "none",
        "--metrics",
        "d_lex_beam,d_syn_beam,beam_bleu,d_lex",
        "--json",
    )
    made = json.loads(run(*arguments, n=json.dumps(line) + "\n", r="b a\n").stdout)
    assert made["d_lex_beam"] == pytest.approx(100 / 3)
    assert made["d_syn_beam"] == pytest.approx(100 / 3)
    assert made["d_lex"] == 0.0
    assert made["beam_bleu"] == 0.0
    assert "beam:5" in made["signatures"]["beam_bleu"]


def test_interpretability_from_files(run) -> None:
    files = {"h": "a b\n", "i": "(TOP (NP a b))\n", "t": "(TOP (NP (DT a) (NN b)))\n"}
    made = json.loads(run("--hyp", "@h", "--induced-trees", "@i", "--hyp-trees", "@t", "--json", **files).stdout)
    assert (made["tree_precision"], made["tree_recall"], made["tree_f1"]) == (100.0, 100.0, 100.0)


def test_empty_hypotheses_are_said_on_stderr(run) -> None:
    result = run("--hyp", "@h", "--ref", "@r", "--metrics", "bleu", "--json", h="a\n \n\n", r="a\nb\nc\n")
    assert "2 of 3 hypotheses are empty" in result.stderr
    assert json.loads(result.stdout)["segments"] == 3


def test_without_a_parser_the_rest_is_scored(run, monkeypatch: pytest.MonkeyPatch) -> None:
    from syntagma.metrics import parsing

    def none(name: str, *where: str | None) -> None:
        raise parsing.NoParserError("there is no parser in this installation", remedy="give trees with --hyp-trees")

    monkeypatch.setattr(parsing, "load", none)
    monkeypatch.setattr("syntagma.metrics.meteor.find_spec", lambda name: None)
    result = run(*TEXT, "--json", **FILES)
    made = json.loads(result.stdout)
    assert "bleu" in made
    assert not {"d_syn", "meteor"} & set(made)
    assert result.stderr.splitlines()[0].startswith("syntagma: nothing is parsed: there is no parser")
    assert "meteor left out: METEOR needs the package pycocoevalcap" in result.stderr


def test_with_a_parser_its_name_is_signed(run, monkeypatch: pytest.MonkeyPatch) -> None:
    from syntagma.metrics import parsing
    from syntagma.tree import Tree

    class Flat:
        def parse(self, sentences: list[list[str]]) -> list[Tree]:
            return [Tree("TOP", [Tree("NP", [Tree("NN", [word]) for word in words])]) for words in sentences]

    monkeypatch.setattr(parsing, "load", lambda name, *where: Flat())
    made = json.loads(run(*TEXT, "--metrics", "d_syn,d_syn_ref", "--parser", "flat", "--json", **FILES).stdout)
    assert (made["d_syn"], made["d_syn_ref"]) == (0.0, 0.0)
    assert "trees:parsed by flat" in made["signatures"]["d_syn"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "there are no hypotheses"),
        (("--hyp", "@hyp"), "no metric can be computed"),
        ((*TEXT, "--json", "--latex"), "more than one kind of output"),
        ((*TEXT, "--against", "@base", "--resamples", "0"), "--against needs resamples"),
        ((*TEXT, "--tokenize", "moses"), "'tokenize' cannot be 'moses'"),
        ((*TEXT, "resamples=-1"), "'resamples' cannot be -1; give a number of at least 0"),
        ((*TEXT, "r=2"), "'r' cannot be 2.0; give a number from 0 to 1"),
        ((*TEXT, "--beam", "0"), "'beam' cannot be 0; give a number of at least 1"),
        ((*TEXT, "rr=1"), "'rr' is not a setting of EvaluateSettings; did you mean 'r'"),
        ((*TEXT, "--metrics", "blue"), "no metric 'blue'"),
        (("--hyp", "@hyp", "--metrics", "bleu"), "bleu needs --ref"),
        (("--hyp", "@hyp", "--ref", "@one", "--metrics", "bleu"), "different numbers of lines"),
        (("--hyp", "@open", "--ref", "@ref", "--metrics", "bleu"), "open label <VP>"),
        (("--hyp", "@none", "--ref", "@none", "--metrics", "bleu"), "there are no segments"),
        ((*TEXT, "--metrics", "d_syn", "--parser", "none"), "d_syn needs hyp_trees= or --parser"),
    ],
)
def test_errors_are_one_clear_sentence(run, arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(SyntagmaError, match=message):
        run(*arguments, **FILES, one="a\n", open="a\n<VP> b\n", none="")


@pytest.mark.parametrize("arguments", [("--unknown",), ("--metrics",)])
def test_wrong_usage_is_code_2(run, arguments: tuple[str, ...]) -> None:
    assert run(*TEXT, *arguments, **FILES).exit_code == 2


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        ("syntagma.cli.evaluate, syntagma.metrics", "numpy torch rich.table"),
        ("syntagma.metrics.registry", "torch sacrebleu"),
    ],
)
def test_nothing_heavy_is_imported_before_it_is_used(modules: str, heavy: str) -> None:
    code = f"import sys, {modules}; print([name for name in {heavy.split()} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
