from __future__ import annotations

import gzip
import io
import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from syntagma.corpus.options import CorpusOptions, Input
from syntagma.corpus.readers import InputRow, Rows, Stream, check_inputs, read_input
from syntagma.errors import InputError, SyntagmaError


def rows(path: Path | str, **options: object) -> list[InputRow]:
    target = options.pop("target", None)
    one = Input(str(path), str(target) if target else None)
    return list(Rows(CorpusOptions(inputs=(one,), **options)))  # type: ignore[arg-type]


def pairs(found: list[InputRow]) -> list[tuple[str, str]]:
    return [(row.source, row.target) for row in found]


FORMATS = [
    ("a.tsv", "a\tb\nc\td\n", {}),
    ("a.tsv", "a\tb\r\nc\td", {}),
    ("a.txt", "\ufeffa\tb\nc\td\n", {}),
    ("a.tsv", "b\tx\ta\nd\tx\tc\n", {"columns": ("2", "0")}),
    ("a.tsv", "src\ttgt\na\tb\nc\td\n", {"columns": ("src", "tgt"), "header": True}),
    ("a.csv", "source,target\na,b\nc,d\n", {}),
    ("a.csv", "n,en,de\n1,a,b\n2,c,d\n", {"columns": ("en", "de")}),
    ("a.jsonl", '{"source": "a", "target": "b"}\n{"target": "d", "source": "c"}\n', {}),
    ("a.ndjson", '{"x": "a", "y": "b"}\n{"x": "c", "y": "d"}\n', {"columns": ("x", "y")}),
]


@pytest.mark.parametrize(("name", "text", "options"), FORMATS)
@pytest.mark.parametrize("packed", [False, True])
def test_formats(tmp_path: Path, name: str, text: str, options: dict[str, object], packed: bool) -> None:
    path = tmp_path / (name + ".gz" if packed else name)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert pairs(rows(path, **options)) == [("a", "b"), ("c", "d")]


def test_parallel_files(tmp_path: Path) -> None:
    (tmp_path / "x.de").write_text("a\tb\nc\n")
    (tmp_path / "x.en").write_text("A\nC\n")
    assert pairs(rows(tmp_path / "x.de", target=tmp_path / "x.en")) == [("a\tb", "A"), ("c", "C")]
    (tmp_path / "x.en").write_text("A\n")
    with pytest.raises(InputError, match=r"x\.en: it ends at line 1, before .*x\.de does"):
        rows(tmp_path / "x.de", target=tmp_path / "x.en")


def test_standard_input_is_read_and_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (b"a\tb\n", gzip.compress(b"a\tb\n")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))  # type: ignore[arg-type]
        assert pairs(rows("-")) == [("a", "b")]


BAD = [
    ("a.tsv", b"a\tb\nonly\n", "missing-column", 2),
    ("a.tsv", b"a\tb\na\t \n", "empty-side", 2),
    ("a.tsv", b"a\tb\n\xff\tb\n", "not-utf-8", 2),
    ("a.tsv", b"a\tb\na\0\tb\n", "nul", 2),
    ("a.jsonl", b'{"source": "a", "target": "b"}\n{"source": "a"}\n', "missing-column", 2),
    ("a.jsonl", b'{"source": "a", "target": "b"}\n{"source": \n', "not-json", 2),
    ("a.jsonl", b'{"source": "a", "target": "b"}\n{"source": "\xff", "target": "b"}\n', "not-utf-8", 2),
    ("a.jsonl", b'{"source": "a", "target": "b"}\n[]\n', "not-json", 2),
    ("a.jsonl", b'{"source": "a", "target": "b"}\n{"source": "\\ud800", "target": "b"}\n', "not-utf-8", 2),
    ("a.jsonl", b'{"source": "a", "target": "b"}\n{"source": null, "target": "b"}\n', "missing-column", 2),
    ("a.csv", b"source,target\na,b\nc\n", "missing-column", 3),
    ("a.csv", b'source,target\n"a\nx",b\nc,\n', "empty-side", 4),
]


@pytest.mark.parametrize(("name", "data", "reason", "line"), BAD)
def test_bad_rows_are_handed_on_with_their_line(tmp_path: Path, name: str, data: bytes, reason: str, line: int) -> None:
    (tmp_path / name).write_bytes(data)
    good, bad = rows(tmp_path / name)
    assert good.reason is None
    assert (bad.reason, bad.line) == (reason, line)
    json.dumps([bad.source, bad.detail]).encode()
    (bad.source + bad.target + bad.detail).encode()  # can be written to rejects.jsonl


def test_unknown_column_names_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("src,tgt\na,b\n")
    with pytest.raises(InputError, match=r"there is no column 'source'; the columns are: src, tgt"):
        rows(tmp_path / "a.csv")


def test_missing_and_cut_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.tsv: there is no such file; check the path"):
        check_inputs(CorpusOptions(inputs=(Input(str(tmp_path / "no.tsv")),)))
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(b"a\tb\n" * 5000)[:-12])
    with pytest.raises(InputError, match="cannot be read to its end"):
        rows(tmp_path / "a.tsv.gz")
    with pytest.raises(SyntagmaError, match="not a prepared corpus"):
        rows(tmp_path)


def test_trees_stand_beside_their_rows(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a\tb\nbad\nc\td\n")
    (tmp_path / "a.trees").write_text("(S b)\n(S bad)\n(S d)\n")
    found = rows(tmp_path / "a.tsv", parser=f"brackets:{tmp_path / 'a.trees'}")
    assert [row.tree for row in found] == ["(S b)", "(S bad)", "(S d)"]
    (tmp_path / "a.trees").write_text("(S b)\n(S bad)\n")
    with pytest.raises(InputError, match="it has 2 lines, fewer than there are pairs"):
        rows(tmp_path / "a.tsv", parser=f"brackets:{tmp_path / 'a.trees'}")
    (tmp_path / "a.trees").write_text("(S b)\n" * 4)
    with pytest.raises(InputError, match="more trees than there are pairs"):
        rows(tmp_path / "a.tsv", parser=f"brackets:{tmp_path / 'a.trees'}")


def test_selecting_needs_columns(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    options = CorpusOptions(inputs=(Input("a"),), where=("2=x",))
    with ExitStack() as stack, pytest.raises(InputError, match="no other columns"):
        list(read_input(Input(str(tmp_path / "a"), str(tmp_path / "a")), Stream("a"), options, stack))
