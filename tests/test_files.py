from __future__ import annotations

import errno
import gzip
import io
import pickle
from contextlib import suppress
from pathlib import Path

import pytest

from syntagma import files
from syntagma.errors import InputError, MissingExtra, Place, SyntagmaError
from syntagma.files import (
    atomic_folder,
    atomic_write,
    lines_begun,
    raw_lines,
    read_lines,
    reason,
    remove_parts,
    scan_lines,
    source_name,
)


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "new" / "file"
    with atomic_write(target) as stream:
        stream.write("one\n")
        assert not target.exists()
    assert target.read_text() == "one\n"
    with pytest.raises(UnicodeEncodeError), atomic_write(target) as stream:
        stream.write("two\ud800\n")
    assert target.read_text() == "one\n"
    assert [entry.name for entry in target.parent.iterdir()] == ["file"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"), atomic_write(tmp_path / "file" / "below"):
        pass


def test_lines_that_are_not_text_do_not_end_the_stream(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"a\n\xff\nb")
    first, error, last = scan_lines(path)
    assert (first, last) == ("a", "b")
    assert isinstance(error, InputError)
    with pytest.raises(InputError, match="line 2, column 1"):
        list(read_lines(path))


def test_a_cut_off_gzip_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "lines.gz"
    path.write_bytes(gzip.compress(b"a\n" * 100_000)[:-20])
    with pytest.raises(InputError, match="cannot be read to its end"):
        list(read_lines(path))


def test_errors_cross_processes_whole() -> None:
    for error in (SyntagmaError("x", Place("f", 1, 2), "y"), MissingExtra("p", "e", "this")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.place) == (type(error), str(error), error.place)


def test_a_folder_is_whole_or_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    with suppress(KeyError), atomic_folder(folder) as part:
        (part / "file").write_text("half")
        raise KeyError
    assert not list(folder.parent.iterdir())
    with atomic_folder(folder) as part:
        (part / "file").write_text("whole")
        assert not folder.exists()
    assert [one.name for one in folder.parent.iterdir()] == ["folder"]
    with pytest.raises(InputError, match="it exists already; give a new folder"), atomic_folder(folder):
        pass


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_that_is_too_long_is_passed_over(packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "lines"
    fits = b"a" * ((1 << 20) - 1)
    content = b"\n".join([fits, b"b" * (1 << 20), b"c", b"d" * (3 << 20), b"e", b"f" * (2 << 20)])
    path.write_bytes(gzip.compress(content) if packed else content)
    read = list(scan_lines(path))
    assert [line if isinstance(line, str) and len(line) < 9 else type(line) for line in read] == [
        str, InputError, "c", InputError, "e", InputError,
    ]  # fmt: skip
    assert read[0] == fits.decode()
    told = f"{path}, line 2: the line is longer than 1 MiB; give a file with one text a line"
    assert str(read[1]) == told
    with pytest.raises(InputError) as caught:
        list(read_lines(path))
    assert str(caught.value) == told


@pytest.mark.parametrize("content", [b"", b"a", b"\x1f", b"\n", b"\xef\xbb\xbfa\r\nb\r\n\n"])
def test_short_streams(content: bytes) -> None:
    lines = [line.removesuffix("\r") for line in content.decode("utf-8-sig").split("\n")]
    expected = [line.encode() for line in (lines[:-1] if lines[-1] == "" else lines)]
    assert list(raw_lines(io.BytesIO(content), "it")) == expected


def test_a_stream_that_only_begins_like_gzip() -> None:
    with pytest.raises(InputError, match="it: it cannot be read to its end"):
        list(raw_lines(io.BytesIO(b"\x1f\x8bnot gzip"), "it"))


def test_lines_that_a_killed_run_left(tmp_path: Path) -> None:
    part = tmp_path / "part"
    assert lines_begun(part) == 0
    part.write_bytes(b"one\ntwo\nhal")
    assert lines_begun(part) == 2
    assert part.read_bytes() == b"one\ntwo\n"
    part.write_bytes(b"hal")
    assert lines_begun(part) == 0
    assert part.read_bytes() == b""


def test_parts_that_a_killed_run_left(tmp_path: Path) -> None:
    for name in (".out.tsv.123.part", "out.part", ".hidden", "out.tsv"):
        (tmp_path / name).touch()
    remove_parts(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"out.part", ".hidden", "out.tsv"}
    remove_parts(tmp_path / "not there")


def test_names_and_reasons(tmp_path: Path) -> None:
    assert (source_name("-"), source_name("a"), source_name(Path("b"))) == ("standard input", "a", "b")
    assert reason(OSError(errno.ENOSPC, "No space left on device")) == "no space left on device"
    assert reason(EOFError("Ended")) == "ended"


def test_a_reader_that_has_gone_is_not_this_files_fault(tmp_path: Path) -> None:
    with pytest.raises(BrokenPipeError), atomic_write(tmp_path / "file"):
        raise BrokenPipeError
    assert not list(tmp_path.iterdir())


def test_binary_files(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "file", "wb") as stream:
        stream.write(b"\r\n")
    assert (tmp_path / "file").read_bytes() == b"\r\n"
